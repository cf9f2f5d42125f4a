#!/usr/bin/env bash
# A Slurm cluster of one node on loopback, for tests:
#
#   eval "$(tests/slurm/cluster.sh start DIR)"     # sets SLURM_CONF; DIR must not exist
#   sbatch --wait --wrap hostname
#   tests/slurm/cluster.sh stop DIR                # stops everything and removes DIR
#
# Needs root and Debian's slurmctld, slurmd, slurm-client, munge. All state, logs, sockets and the key are in DIR, the
# ports are free ones: a Slurm of the machine's own is not touched. No cgroups, no systemd, no accounting.
# Exit code: 0, or 1 with the end of the logs on standard error.
set -euo pipefail

fail() {
  echo "cluster.sh: $1" >&2
  for log in "$dir"/*.log; do
    if [[ -s $log ]]; then
      echo "--- $log" >&2
      tail -n 15 "$log" >&2
    fi
  done
  exit 1
}

stop() {
  local file pid
  for file in slurmd slurmctld munged; do
    if [[ -s $dir/$file.pid ]]; then
      pid=$(<"$dir/$file.pid")
      kill "$pid" 2>/dev/null || true
      for _ in $(seq 50); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
      done
      kill -9 "$pid" 2>/dev/null || true
    fi
  done
  rm -rf "$dir"
}

free_port() {
  /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start() {
  if [[ $(id -u) -ne 0 ]]; then fail "needs root"; fi
  for program in munged slurmctld slurmd sbatch sinfo; do
    command -v "$program" >/dev/null || fail "$program is not installed"
  done
  # munged wants every directory above its socket to be writable by its owner only.
  mkdir -p "$dir/state" "$dir/spool"
  chmod 755 "$dir"
  dd if=/dev/urandom of="$dir/munge.key" bs=1 count=1024 status=none
  chmod 600 "$dir/munge.key"
  munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munge.seed" >&2 || fail "munged did not start"

  local host cpus memory
  host=$(hostname -s)
  cpus=$(nproc)
  memory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
  cat >"$dir/slurm.conf" <<CONF
ClusterName=tracekiln
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,default_queue_depth=1000
ReturnToService=2
MinJobAge=300
KillWait=2
MaxArraySize=10001
MaxJobCount=20000
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
  export SLURM_CONF=$dir/slurm.conf
  slurmctld -c >"$dir/slurmctld.out.log" 2>&1 </dev/null || fail "slurmctld did not start"
  slurmd -c >"$dir/slurmd.out.log" 2>&1 </dev/null || fail "slurmd did not start"
  for _ in $(seq 100); do
    if [[ $(sinfo --noheader --format=%t 2>/dev/null) == idle ]]; then
      echo "export SLURM_CONF='$SLURM_CONF'"
      return
    fi
    sleep 0.2
  done
  fail "the node is not idle after 20 s: $(sinfo 2>&1 | tr '\n' ' ')"
}

dir=${2:-}
if [[ -z $dir || $dir != /* ]]; then
  echo "usage: cluster.sh start|stop /ABSOLUTE/DIRECTORY" >&2
  exit 2
fi
case ${1:-} in
  start)
    if [[ -e $dir ]]; then fail "$dir exists"; fi
    start
    ;;
  stop) stop ;;
  *)
    echo "usage: cluster.sh start|stop /ABSOLUTE/DIRECTORY" >&2
    exit 2
    ;;
esac
