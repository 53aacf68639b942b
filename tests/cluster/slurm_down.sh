#!/usr/bin/env bash
# slurm_down.sh [LAB] - stop exactly what slurm_up.sh started in LAB.
#
# Cancels the cluster's jobs, then ends slurmd*, slurmctld and munged by the
# pids noted in LAB/pids ("PID STARTTIME"; a pid whose start time differs was
# reused and is left alone), then any slurmstepd still carrying this cluster's
# SLURM_CONF. Removes LAB unless SLURM_LAB_KEEP=1 (logs stay for CI artifacts).
set -uo pipefail
say() { printf 'slurm_down: %s\n' "$*" >&2; }

lab=${1:-${SLURM_LAB:-}}
[ -n "$lab" ] && [ -d "$lab/pids" ] || { say "no lab folder given or no pids in it"; exit 2; }
lab=$(cd "$lab" && pwd -P)
export SLURM_CONF=$lab/slurm.conf

start_of() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
state_of() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f1; }
same() { # pid start: still that very process, and not a zombie
  [ "$(start_of "$1")" = "$2" ] && [ "$(state_of "$1")" != Z ]
}
end_all() { # "pid start name" lines on stdin: TERM, up to 5 s, then KILL
  local list=() line pid start name alive
  while read -r line; do [ -n "$line" ] && list+=("$line"); done
  [ ${#list[@]} -gt 0 ] || return 0
  for line in "${list[@]}"; do
    read -r pid start name <<<"$line"
    same "$pid" "$start" && kill -TERM "$pid" 2>/dev/null
    # a stopped daemon (tests freeze nodes with SIGSTOP) must wake to die
    same "$pid" "$start" && kill -CONT "$pid" 2>/dev/null
  done
  for _ in $(seq 1 100); do
    alive=
    for line in "${list[@]}"; do
      read -r pid start name <<<"$line"
      same "$pid" "$start" && alive=1
    done
    [ -n "$alive" ] || return 0
    sleep 0.05
  done
  for line in "${list[@]}"; do
    read -r pid start name <<<"$line"
    if same "$pid" "$start"; then say "KILL $name ($pid)"; kill -KILL "$pid" 2>/dev/null; fi
  done
}
noted() { # names (globs) of pid files -> lines
  local f
  for f in "$@"; do
    [ -f "$f" ] && printf '%s %s\n' "$(cat "$f")" "$(basename "$f")"
  done
}
stepds() { # slurmstepd processes of this cluster, by their environment
  local d pid
  for d in /proc/[0-9]*; do
    pid=${d#/proc/}
    case "$(readlink "$d/exe" 2>/dev/null)" in */slurmstepd*) ;; *) continue ;; esac
    tr '\0' '\n' 2>/dev/null <"$d/environ" | grep -qxF "SLURM_CONF=$SLURM_CONF" || continue
    printf '%s %s slurmstepd\n' "$pid" "$(start_of "$pid")"
  done
}

# 1. jobs: let Slurm end them, with a limit
if timeout 5 squeue -h >/dev/null 2>&1; then
  timeout 5 squeue -h -o %A 2>/dev/null | sort -u | xargs -r timeout 5 scancel --signal=KILL --full 2>/dev/null
  timeout 5 squeue -h -o %A 2>/dev/null | sort -u | xargs -r timeout 5 scancel 2>/dev/null
  for _ in $(seq 1 50); do
    [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break
    sleep 0.1
  done
fi
# 2. daemons
noted "$lab"/pids/slurmd.* | end_all
noted "$lab"/pids/slurmctld | end_all
stepds | end_all
noted "$lab"/pids/munged | end_all
rm -rf "$lab/pids"
if [ "${SLURM_LAB_KEEP:-0}" = 1 ]; then say "stopped; folder kept: $lab"; else rm -rf "$lab"; say "stopped"; fi
