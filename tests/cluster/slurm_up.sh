#!/usr/bin/env bash
# slurm_up.sh - start a throw-away multi-node Slurm cluster on loopback.
#
# For tests and CI: run as root on Debian 12, no systemd, no cgroups, no docker.
# Needs the packages slurmctld, slurmd, slurm-client and munge. Writes everything
# (config, state, spool, logs, sockets, pid files) under one lab folder, starts
# one munged, one slurmctld and $SLURM_LAB_NODES slurmd on 127.0.0.1, waits until
# every node is idle, and prints shell exports on stdout (all chatter on stderr):
#
#     eval "$(slurm_up.sh)"        # sets SLURM_CONF and SLURM_LAB
#     srun -N2 hostname
#     slurm_down.sh                # uses $SLURM_LAB (or takes the folder as $1)
#
# Settings (environment):
#   SLURM_LAB            lab folder             (default: a new folder under ${TMPDIR:-/tmp})
#   SLURM_LAB_NODES      number of slurmd       (default 4, at most 64)
#   SLURM_LAB_CPUS       CPUs per node          (default 2)
#   SLURM_LAB_MEM        MB per node            (default 2000)
#   SLURM_LAB_GPUS       fake GPUs per node     (default 2; 0: no GRES)
#   SLURM_LAB_SHARDS     shards per node, to share GPUs (default 0)
#   SLURM_LAB_EXTRA      more lines for slurm.conf, e.g. "JobAcctGatherParams=OverMemoryKill"
#   SLURM_LAB_NODE_DOWN  SlurmdTimeout, seconds (default 10)
#   SLURM_LAB_KILLWAIT   KillWait, seconds      (default 5)
#   SLURM_LAB_CONFINE    none | affinity | cgroup (default none): as real clusters confine steps.
#                        cgroup needs the v1 controllers mounted, writable; then --mem kills
#                        (srun: "Out Of Memory", exit 1) and daemons end with their step
#   SLURM_LAB_WAIT       seconds to wait for the cluster (default 30)
set -euo pipefail
umask 022

say() { printf 'slurm_up: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
nodes=${SLURM_LAB_NODES:-4}
cpus=${SLURM_LAB_CPUS:-2}
mem=${SLURM_LAB_MEM:-2000}
gpus=${SLURM_LAB_GPUS:-2}
shards=${SLURM_LAB_SHARDS:-0}
node_down=${SLURM_LAB_NODE_DOWN:-10}
killwait=${SLURM_LAB_KILLWAIT:-5}
wait_s=${SLURM_LAB_WAIT:-30}

proctrack=proctrack/linuxproc task=task/none
case ${SLURM_LAB_CONFINE:-none} in
  none) ;;
  affinity) task=task/affinity ;;
  cgroup) task=task/cgroup,task/affinity proctrack=proctrack/cgroup
      [ -d /sys/fs/cgroup/memory ] || die "SLURM_LAB_CONFINE=cgroup: no cgroup v1 memory controller" ;;
  *) die "SLURM_LAB_CONFINE must be none, affinity or cgroup" ;;
esac

[ "$(id -u)" = 0 ] || die "must run as root"
[ "$nodes" -ge 1 ] && [ "$nodes" -le 64 ] || die "SLURM_LAB_NODES must be 1..64"

# ---- programs ---------------------------------------------------------------
for program in munged slurmctld slurmd srun; do
  command -v "$program" >/dev/null || die "there is no $program: it needs slurmctld, slurmd, slurm-client and munge"
done

# ---- lab folder -------------------------------------------------------------
lab=${SLURM_LAB:-$(mktemp -d "${TMPDIR:-/tmp}/slurmlab.XXXXXX")}
mkdir -p "$lab"
lab=$(cd "$lab" && pwd -P)
[ ! -e "$lab/pids" ] || die "$lab already holds a cluster; run slurm_down.sh first"
chmod 755 "$lab"
mkdir -p "$lab"/{pids,run,log,state,spool,munge,dev}
chmod 700 "$lab/state" "$lab/munge"
chmod 755 "$lab/run" "$lab/log" "$lab/spool" "$lab/dev"
for n in $(seq 1 "$nodes"); do mkdir -p "$lab/spool/n$n"; done

# A cluster that does not come up is taken down again; its logs stay.
up=
unwind() {
  [ -n "$up" ] && return
  say "taking the half-started cluster down; logs stay in $lab/log"
  SLURM_LAB_KEEP=1 "$here/slurm_down.sh" "$lab" || true
}
trap unwind EXIT

# pid files hold "PID STARTTIME": slurm_down.sh ends a process only if both match
note_pid() { # name pid
  local start
  start=$(sed 's/^.*) //' "/proc/$2/stat" 2>/dev/null | cut -d' ' -f20) || start=
  [ -n "$start" ] || die "$1 ended at once; see $lab/log"
  printf '%s %s\n' "$2" "$start" > "$lab/pids/$1"
}

# ---- address ----------------------------------------------------------------
# With No*InAddrAny every daemon and client binds the address its host name has,
# so that address must be the configured one: 127.0.0.1 where /etc/hosts says so,
# the container's own address in docker. A name without an address: bind all.
host=$(uname -n); host=${host%%.*}
if ! getent ahostsv4 127.0.0.1 >/dev/null; then
  # Only 127.0.0.1 in this network namespace: getaddrinfo(AI_ADDRCONFIG), which
  # Slurm uses, then refuses even 127.0.0.1. A second loopback address cures it.
  ip addr add 127.0.0.2/8 dev lo || die "no IPv4 address but 127.0.0.1, and adding one failed"
fi
addr=$(getent ahostsv4 "$(uname -n)" | awk 'NR==1{print $1}') || addr=
if [ -n "$addr" ]; then
  comm=NoCtldInAddrAny,NoInAddrAny
else
  say "warning: host name $host has no address; the daemons listen on all addresses"
  addr=127.0.0.1 comm=
fi

# ---- free ports -------------------------------------------------------------
# 1 (slurmctld) + nodes consecutive ports, below the ephemeral range.
port_used() { (exec 3<>"/dev/tcp/$addr/$1") 2>/dev/null; }
base=
for _ in $(seq 1 50); do
  cand=$(( 10000 + (RANDOM % 200) * 100 ))
  busy=
  for i in $(seq 0 "$nodes"); do
    if port_used $((cand + i)); then busy=1; break; fi
  done
  [ -n "$busy" ] || { base=$cand; break; }
done
[ -n "$base" ] || die "no free ports"

# ---- munge ------------------------------------------------------------------
( umask 077; head -c 128 /dev/urandom > "$lab/munge/munge.key" )
sock=$lab/run/munge.socket
setsid munged --foreground --force --key-file="$lab/munge/munge.key" \
  --socket="$sock" --origin="$addr" --pid-file="$lab/run/munged.pid" \
  --seed-file="$lab/munge/munged.seed" --log-file="$lab/log/munged.log" \
  </dev/null >"$lab/log/munged.out" 2>&1 &
note_pid munged $!

# ---- config -----------------------------------------------------------------
names=n[1-$nodes]; [ "$nodes" -gt 1 ] || names=n1
gres_node=
{
  if [ "$gpus" -gt 0 ]; then
    for n in $(seq 1 "$nodes"); do
      for g in $(seq 0 $((gpus - 1))); do
        # stand-ins for /dev/nvidiaN: must be character devices (stat, so a
        # link will do) or no CUDA_VISIBLE_DEVICES is set; never opened
        ln -sfn /dev/null "$lab/dev/n$n-gpu$g"
      done
      last=$((gpus - 1)); range="[0-$last]"; [ "$gpus" -gt 1 ] || range=0
      echo "NodeName=n$n Name=gpu Type=fake File=$lab/dev/n$n-gpu$range"
      [ "$shards" -eq 0 ] || echo "NodeName=n$n Name=shard Count=$shards"
    done
  fi
} > "$lab/gres.conf"
gres_types=gpu
[ "$gpus" -eq 0 ] || gres_node="Gres=gpu:fake:$gpus"
if [ "$shards" -gt 0 ]; then
  [ "$gpus" -gt 0 ] || die "shards need GPUs"
  gres_node="$gres_node,shard:$shards" gres_types=gpu,shard
fi

cat > "$lab/slurm.conf" <<CONF
ClusterName=lab
SlurmctldHost=$host($addr)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$base
${comm:+CommunicationParameters=$comm}
AuthType=auth/munge
CredType=cred/munge
# cred_expire is also how long a requeued job must wait (default: 120 s)
AuthInfo=socket=$sock,cred_expire=5
# no systemd, no cgroups
ProctrackType=$proctrack
TaskPlugin=$task
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=5
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$lab/log/jobcomp.log
SwitchType=switch/none
MpiDefault=none
PropagateResourceLimits=NONE
# files
StateSaveLocation=$lab/state
SlurmdSpoolDir=$lab/spool/%n
SlurmctldPidFile=$lab/run/slurmctld.pid
SlurmdPidFile=$lab/run/slurmd.%n.pid
SlurmctldLogFile=$lab/log/slurmctld.log
SlurmdLogFile=$lab/log/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
# scheduling
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=5,bf_interval=5,max_array_tasks=10000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
PriorityType=priority/basic
JobRequeue=1
EnforcePartLimits=ALL
# timers, short for tests
SlurmctldTimeout=10
SlurmdTimeout=$node_down
KillWait=$killwait
MinJobAge=600
InactiveLimit=0
WaitTime=0
MessageTimeout=10
ReturnToService=1
HealthCheckInterval=0
# nodes: configuration is believed, hardware is not
SlurmdParameters=config_overrides
CONF
[ "$proctrack" = proctrack/linuxproc ] || cat > "$lab/cgroup.conf" <<'CONF'
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainCores=yes
ConstrainRAMSpace=yes
ConstrainDevices=no
CONF
[ "$gpus" -eq 0 ] || echo "GresTypes=$gres_types" >> "$lab/slurm.conf"
[ -z "${SLURM_LAB_EXTRA:-}" ] || printf '%s\n' "$SLURM_LAB_EXTRA" >> "$lab/slurm.conf"
for n in $(seq 1 "$nodes"); do
  echo "NodeName=n$n NodeHostname=$host NodeAddr=$addr Port=$((base + n)) CPUs=$cpus Boards=1 SocketsPerBoard=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=$mem $gres_node State=UNKNOWN"
done >> "$lab/slurm.conf"
echo "PartitionName=main Nodes=$names Default=YES MaxTime=INFINITE DefaultTime=60 State=UP OverSubscribe=NO" >> "$lab/slurm.conf"

export SLURM_CONF=$lab/slurm.conf
printf 'SLURM_CONF=%s\nSLURM_LAB=%s\n' "$SLURM_CONF" "$lab" > "$lab/env"

for i in $(seq 1 100); do [ -S "$sock" ] && break; sleep 0.05; done
[ -S "$sock" ] || die "munged made no socket; see $lab/log"

# ---- daemons ----------------------------------------------------------------
setsid slurmctld -D -i </dev/null >"$lab/log/slurmctld.out" 2>&1 &
note_pid slurmctld $!
for n in $(seq 1 "$nodes"); do
  setsid slurmd -D -N "n$n" </dev/null >"$lab/log/slurmd.n$n.out" 2>&1 &
  note_pid "slurmd.n$n" $!
done

# ---- ready? -----------------------------------------------------------------
deadline=$(( SECONDS + wait_s ))
while :; do
  # a node stands there once for each of its partitions
  idle=$(timeout 5 sinfo -h -N -o '%N %t' 2>/dev/null | sort -u | grep -c ' idle$' || true)
  [ "$idle" -eq "$nodes" ] && break
  dead=
  for f in "$lab"/pids/*; do
    read -r pid _ < "$f"
    [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" || dead="$dead $(basename "$f")"
  done
  if [ -n "$dead" ] || [ "$SECONDS" -ge "$deadline" ]; then
    timeout 5 sinfo -N -l >&2 || true
    tail -n 8 "$lab"/log/*.log >&2 || true
    die "only $idle of $nodes nodes are idle after $SECONDS s${dead:+; ended:$dead}"
  fi
  sleep 0.1
done
up=1
say "$nodes nodes idle after ${SECONDS} s; folder $lab"
printf 'export SLURM_CONF=%q\nexport SLURM_LAB=%q\n' "$SLURM_CONF" "$lab"
