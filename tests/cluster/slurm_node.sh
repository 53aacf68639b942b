#!/usr/bin/env bash
# slurm_node.sh kill|stop-daemon|freeze|thaw|up|reboot|pids NODE - play a node failure in
# the cluster of $SLURM_LAB (slurm_up.sh).
#   kill         the node's slurmd, its slurmstepds and their tasks die at once (power loss)
#   stop-daemon  only the slurmd dies; its steps run on as orphans
#   freeze/thaw  SIGSTOP/SIGCONT to all of them (hang, or the far side of a partition)
#   up           start the node's slurmd again
#   reboot       the same, reporting a reboot: the node goes DOWN at once, its jobs end as
#                NODE_FAIL in 0.2 s (else only after SlurmdTimeout); bring it back with
#                scontrol update nodename=NODE state=resume
#   pids         print them
set -uo pipefail
lab=${SLURM_LAB:?set SLURM_LAB}
node=$2
export SLURM_CONF=$lab/slurm.conf
stat_field() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f"$2"; }
read -r daemon start < "$lab/pids/slurmd.$node"
[ "$(stat_field "$daemon" 20)" = "$start" ] && [ "$(stat_field "$daemon" 1)" != Z ] || daemon=
descendants() {
  local c
  for c in $(cat "/proc/$1/task/"*/children 2>/dev/null); do echo "$c"; descendants "$c"; done
}
stepds() { # a slurmstepd listens on a socket NODE_JOB.STEP in the node's spool
  local s
  for s in "$lab/spool/$node/${node}_"*; do
    [ -S "$s" ] && ss -xlpH src "unix:$s" 2>/dev/null | grep -o 'pid=[0-9]*' | cut -d= -f2
  done | sort -u
}
pids() { local s; echo $daemon; for s in $(stepds); do echo "$s"; descendants "$s"; done; }
signal() { local p; p=$(pids | grep .) && kill "-$1" $p; }
case $1 in
  pids) pids ;;
  kill)
    signal KILL
    # Whoever starts it again must find it gone.
    for _ in $(seq 200); do
      [ -n "$daemon" ] && [ "$(stat_field "$daemon" 20)" = "$start" ] &&
        [ "$(stat_field "$daemon" 1)" != Z ] || break
      sleep 0.05
    done ;;
  stop-daemon) [ -z "$daemon" ] || kill -KILL "$daemon" ;;
  freeze) signal STOP ;;
  thaw) signal CONT ;;
  up|reboot)
    [ -z "$daemon" ] || { echo "slurm_node: $node runs" >&2; exit 1; }
    flag=; [ "$1" = up ] || flag=-b
    setsid slurmd -D $flag -N "$node" </dev/null >>"$lab/log/slurmd.$node.out" 2>&1 &
    printf '%s %s\n' "$!" "$(stat_field "$!" 20)" > "$lab/pids/slurmd.$node" ;;
  *) sed -n '2,12p' "$0" >&2; exit 2 ;;
esac
