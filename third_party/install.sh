#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing.
#
#   third_party/install.sh [build] [test] [ci]     the groups of packages.txt; without arguments: build test
#
# Prints nothing when nothing is missing (and takes some hundredths of a second). Otherwise says on stderr what it
# installs, and uses sudo when the user is not root. TRACEKILN_NO_INSTALL=1 turns it into a check: it names what is
# missing and fails. Exit code: 0 all there, 1 not.
set -euo pipefail

here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ $# -eq 0 ]]; then set -- build test; fi
for group in "$@"; do
  case $group in
    build | test | ci) ;;
    *)
      echo "install.sh: unknown group '$group' (build, test, ci)" >&2
      exit 2
      ;;
  esac
done

say() { printf 'tracekiln: %s\n' "$*" >&2; }

wanted=()
while read -r group package _; do
  if [[ -n $group && $group != '#'* && " $* " == *" $group "* ]]; then wanted+=("$package"); fi
done <"$here/packages.txt"

if ! command -v dpkg-query >/dev/null; then
  say "this system has no dpkg, so it cannot be told whether these Debian packages are there: ${wanted[*]}"
  say "tracekiln is built from Debian's packages; use Debian 12 (a container will do)."
  exit 1
fi

declare -A installed=()
while read -r status package; do
  if [[ $status == ?i ]]; then installed[$package]=1; fi
done < <(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)

missing=()
for package in "${wanted[@]}"; do
  if [[ -z ${installed[$package]:-} ]]; then missing+=("$package"); fi
done
if [[ ${#missing[@]} -eq 0 ]]; then exit 0; fi

by_hand="install them by hand: apt-get install --no-install-recommends ${missing[*]}"
if [[ -n ${TRACEKILN_NO_INSTALL:-} ]]; then
  say "missing packages: ${missing[*]}"
  say "$by_hand"
  exit 1
fi
if ! command -v apt-get >/dev/null; then
  say "missing packages: ${missing[*]}"
  say "there is no apt-get here; $by_hand"
  exit 1
fi
as_root=(env)
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    say "missing packages: ${missing[*]}"
    say "you are not root and there is no sudo; as root, $by_hand"
    exit 1
  fi
  as_root=(sudo env)
fi

say "installing ${#missing[@]} Debian package(s)$([[ ${as_root[0]} == sudo ]] && echo ' with sudo'): ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  # sudo may ask for a password: on the terminal, not on stdin, which belongs to the program that is run later.
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@" </dev/null >>"$log" 2>&1
}
if ! apt update; then say "apt-get update failed (going on with the package lists that are there)"; fi
if ! apt install --no-install-recommends "${missing[@]}"; then
  tail -n 30 "$log" >&2
  say "apt-get install failed, see above; $by_hand"
  exit 1
fi
