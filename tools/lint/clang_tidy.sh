#!/usr/bin/env bash
# bazel run //tools/lint:clang_tidy [-- FILE.cc ...]     paths from the root of the checkout; default: all C++ sources
# Fails on any finding of the checks in .clang-tidy.
set -euo pipefail

commands=$PWD/tools/lint/compile_commands.py
cd "${BUILD_WORKSPACE_DIRECTORY:?run this with: bazel run //tools/lint:clang_tidy}"
if ! command -v clang-tidy >/dev/null; then
  echo "clang-tidy not found: install clang and clang-tidy (third_party/install.sh ci)" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$commands" "$work/compile_commands.json"

/usr/bin/python3 - "$work/compile_commands.json" "$@" >"$work/files" <<'END'
import json, sys
known = {entry["file"] for entry in json.load(open(sys.argv[1]))}
wanted = sys.argv[2:] or sorted(known)
unknown = [file for file in wanted if file not in known]
if unknown:
    sys.exit("no target compiles " + " ".join(unknown))
print("\n".join(wanted))
END

rc=0
xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$work" <"$work/files" 2>"$work/stderr" || rc=$?
if [[ $rc -ne 0 ]]; then
  grep -v -E '^[0-9]+ warnings? (generated|treated as error)' "$work/stderr" >&2 || true
  echo "clang-tidy: findings, see above" >&2
  exit 1
fi
echo "clang-tidy: $(wc -l <"$work/files") files, no findings"
