#!/usr/bin/env bash
# slurm_netns.sh COMMAND [ARG...] - run COMMAND on the "login node" of a Slurm cluster
# whose nodes w1..wN are network namespaces with their own addresses and host names,
# joined by a bridge; everything ends with COMMAND (own pid namespace). For tests of
# what loopback cannot show: bind addresses, connecting back from another host, a
# network partition, a host that disappears. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN,
# veth and bridge in the kernel, and the packages slurm_up.sh installs.
#
# COMMAND sees SLURM_CONF, and in $SLURM_NETNS/bin, which is on its PATH:
#   node-cut wN    take the node off the network       node-heal wN   put it back
#   node-kill wN   end all its processes (power loss)  node-boot wN   start it again
# Settings: SLURM_NETNS_NODES (default 2), SLURM_LAB_CPUS (2), SLURM_LAB_NODE_DOWN (10)
set -euo pipefail
umask 022
if [ "${1:-}" != --inside ]; then
  [ "$(id -u)" = 0 ] || { echo "slurm_netns: must run as root" >&2; exit 1; }
  [ $# -gt 0 ] || { sed -n '2,14p' "$0" >&2; exit 2; }
  lab=$(mktemp -d "${TMPDIR:-/tmp}/slurmnn.XXXXXX")
  rc=0
  SLURM_NETNS=$lab unshare --net --uts --mount --pid --fork --kill-child --mount-proc \
    "${BASH_SOURCE[0]}" --inside "$@" || rc=$?
  if [ "${SLURM_LAB_KEEP:-0}" = 1 ]; then echo "slurm_netns: folder kept: $lab" >&2; else rm -rf "$lab"; fi
  exit "$rc"
fi
shift
lab=$SLURM_NETNS
nodes=${SLURM_NETNS_NODES:-2}
cpus=${SLURM_LAB_CPUS:-2}
chmod 755 "$lab"
mkdir -p "$lab"/{run,log,state,spool,munge,bin}
chmod 700 "$lab/state" "$lab/munge"

# the login node: 10.77.0.1 on a bridge
hostname login
ip link set lo up
ip link add br0 type bridge
ip addr add 10.77.0.1/24 dev br0
ip link set br0 up
{ echo "127.0.0.1 localhost"; echo "10.77.0.1 login"
  for i in $(seq 1 "$nodes"); do echo "10.77.0.$((10 + i)) w$i"; done; } > "$lab/hosts"
mount --bind "$lab/hosts" /etc/hosts

( umask 077; head -c 128 /dev/urandom > "$lab/munge/munge.key" )
munged --foreground --force --key-file="$lab/munge/munge.key" --socket="$lab/run/munge.socket" \
  --pid-file="$lab/run/munged.pid" --seed-file="$lab/munge/munged.seed" \
  --log-file="$lab/log/munged.log" </dev/null >"$lab/log/munged.out" 2>&1 &
range="w[1-$nodes]"; [ "$nodes" -gt 1 ] || range=w1
cat > "$lab/slurm.conf" <<CONF
ClusterName=netns
SlurmctldHost=login(10.77.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=6817
SlurmdPort=6818
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$lab/run/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
AccountingStorageType=accounting_storage/none
PropagateResourceLimits=NONE
StateSaveLocation=$lab/state
SlurmdSpoolDir=$lab/spool/%n
SlurmctldPidFile=$lab/run/slurmctld.pid
SlurmdPidFile=$lab/run/slurmd.%n.pid
SlurmctldLogFile=$lab/log/slurmctld.log
SlurmdLogFile=$lab/log/slurmd.%n.log
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=5,bf_interval=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
SlurmdTimeout=${SLURM_LAB_NODE_DOWN:-10}
KillWait=5
MinJobAge=600
ReturnToService=1
SlurmdParameters=config_overrides
CONF
for i in $(seq 1 "$nodes"); do
  mkdir -p "$lab/spool/w$i"
  echo "NodeName=w$i NodeAddr=10.77.0.$((10 + i)) CPUs=$cpus Boards=1 SocketsPerBoard=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=2000"
done >> "$lab/slurm.conf"
echo "PartitionName=main Nodes=$range Default=YES MaxTime=INFINITE State=UP" >> "$lab/slurm.conf"
export SLURM_CONF=$lab/slurm.conf PATH=$lab/bin:$PATH

# a node: own network, host name and pid namespace; its first process is the node
cat > "$lab/bin/node-boot" <<'NODE'
#!/usr/bin/env bash
set -eu
n=$1 i=${1#w} lab=$SLURM_NETNS
unshare --net --uts --mount --pid --fork --kill-child --mount-proc bash -c '
    hostname "$0"; ip link set lo up
    for k in $(seq 200); do ip link show eth0 >/dev/null 2>&1 && break; sleep 0.02; done
    ip addr add "10.77.0.$((10 + ${0#w}))/24" dev eth0; ip link set eth0 up
    exec slurmd -D '"${2:-}" "$n" </dev/null >>"$lab/log/$n.out" 2>&1 &
outer=$!
inner=
for k in $(seq 100); do
    inner=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null | tr -d ' ') || true
    [ -n "$inner" ] && [ "$(readlink "/proc/$inner/ns/net")" != "$(readlink /proc/self/ns/net)" ] && break
    sleep 0.02
done
echo "$inner" > "$lab/run/$n.init"
ip link del "v$i" 2>/dev/null || true
ip link add "v$i" type veth peer name eth0 netns "$inner"
ip link set "v$i" master br0
ip link set "v$i" up
NODE
printf '#!/bin/sh\nexec ip link set "v${1#w}" down\n' > "$lab/bin/node-cut"
printf '#!/bin/sh\nexec ip link set "v${1#w}" up\n' > "$lab/bin/node-heal"
printf '#!/bin/sh\nexec kill -KILL "$(cat "$SLURM_NETNS/run/$1.init")"\n' > "$lab/bin/node-kill"
chmod 755 "$lab"/bin/*

for _ in $(seq 100); do [ -S "$lab/run/munge.socket" ] && break; sleep 0.05; done
slurmctld -D -i </dev/null >"$lab/log/slurmctld.out" 2>&1 &
for i in $(seq 1 "$nodes"); do node-boot "w$i"; done
deadline=$(( SECONDS + 30 ))
until [ "$(timeout 5 sinfo -h -N -o %t 2>/dev/null | grep -c '^idle$')" = "$nodes" ]; do
  [ "$SECONDS" -lt "$deadline" ] || { tail -n 5 "$lab"/log/* >&2; echo "slurm_netns: nodes not idle" >&2; exit 1; }
  sleep 0.1
done
rc=0
"$@" || rc=$?
exit "$rc"
