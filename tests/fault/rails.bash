# shellcheck shell=bash
# Jobs of two hosts with two rails, one of which is delayed, or cut in the middle of a checked stream (mpi_stream,
# neon_stream). Sourced by tests behind job.bash.
#
#   faulted "first rail cut at the host" host 1 mpi_stream --mebibytes 64
#
# By the counters of both ranks, both rails have carried bytes before the cut. Once both ranks have given up the cut
# rail, it carries nothing more, and the other one carries the rest.

# shellcheck disable=SC2154  # the variables of job.bash

[[ $EUID == 0 ]] || { echo "the lab needs root"; exit 77; }
unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || { echo "namespaces are not permitted here"; exit 77; }
export LFC_LAB=rails$$
# eth0 starts the job; the tested traffic runs over eth1 and eth2.
"$tree/scripts/lab" up 2 --rails 3 --rate 300mbit >/dev/null
trap 'leave; "$tree/scripts/lab" down >/dev/null' EXIT

# For start_job: one rank to a host.
mpirun() { "$tree/scripts/lab" mpirun "${@/slot:OVERSUBSCRIBE/node:OVERSUBSCRIBE}"; }

host() { nsenter --net="/run/netns/lfc-$LFC_LAB-$1" "${@:2}"; }
cut_rail() { # cut_rail WHERE RAIL
  case $1 in
    host) host 1 ip link set "eth$2" down ;;
    switch) host switch ip link set "p1r$2" down ;;
  esac
}
restore_rail() { # restore_rail WHERE RAIL: ends cut_rail
  case $1 in
    host) host 1 ip link set "eth$2" up ;;
    switch) host switch ip link set "p1r$2" up ;;
  esac
}
# Whether host 0 reaches host 1 over this rail: no process listens there, and its kernel refuses the connection.
reaches() {
  [[ $(host 0 timeout 5 bash -c "exec 3<>/dev/tcp/10.77.$1.2/9" 2>&1) == *'Connection refused'* ]]
}
# Waits until both rails carry packets again. After a cut a host treats the other one as unreachable for a while
# (ARP), and LFC leaves out a rail over which it cannot connect at the start.
mend_rails() {
  local rail tries
  for rail in 1 2; do
    restore_rail host "$rail"
    restore_rail switch "$rail"
    for ((tries = 0; tries < 600; ++tries)); do
      ! reaches "$rail" || break
      sleep 0.1
    done
    ((tries < 600)) || fail "rail $rail does not come back"
  done
}

# Frames that go over this rail wait, at 20 Mbit/s, while those of the other one pass.
delay_rail() { tc -n "lfc-$LFC_LAB-switch" qdisc replace dev "p1r$1" root tbf rate 20mbit burst 65536 latency 3s; }
undelay_rail() { tc -n "lfc-$LFC_LAB-switch" qdisc replace dev "p1r$1" root tbf rate 300mbit burst 65536 latency 10ms; }

stream=(--mca btl lfc --mca btl_lfc_interfaces "eth1,eth2" --mca btl_lfc_stats 1)

counted() { # counted COUNTER: the sum of both ranks while they run
  echo $(($(counter_of "${pids[0]}" "$1") + $(counter_of "${pids[1]}" "$1")))
}
# await_counted COUNTER LEAST REASON: fails for this reason if that is not reached while the job runs, or in 60 s
await_counted() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    (($(counted "$1") < $2)) || return 0
    kill -0 "$job_pid" 2>/dev/null || break
    sleep 0.1
  done
  fail "$3"
}

# Cuts the rail while the stream runs. Sets cut_at and kept_at: the bytes that had been sent over it, and over the other
# one, when both ranks had given it up.
cut_in_stream() { # cut_in_stream NAME WHERE RAIL
  local pids
  pids=("$(pid_of_rank 0)" "$(pid_of_rank 1)")
  await_counted rail0_bytes 1 "$1: the first rail has carried nothing before the cut"
  await_counted rail1_bytes 1 "$1: the second rail has carried nothing before the cut"
  cut_rail "$2" "$3"
  await_counted rails_lost 2 "$1: the rail is not given up"
  cut_at=$(counted "rail$(($3 - 1))_bytes")
  kept_at=$(counted "rail$((2 - $3))_bytes")
}
sum_of() { echo $(($(stat_of 0 "$1") + $(stat_of 1 "$1"))); }

# faulted NAME WHERE RAIL PROGRAM-ARGS...: a rail is cut in the middle; WHERE `none`: it is not
faulted() {
  local name=$1 where=$2 rail=$3 cut_at kept_at
  shift 3
  rm -f "$scratch/cut"
  start_job 2 "${stream[@]}" "$@" --until "$scratch/cut"
  await_line 'stream: half' || { tail -n 20 "$output"; fail "$name: the stream did not get half way"; }
  [[ $where == none ]] || cut_in_stream "$name" "$where" "$rail"
  touch "$scratch/cut"
  end_job 60
  mend_rails
  job_is_ok "$name"
  if [[ $where == none ]]; then
    (($(sum_of rails_lost) == 0)) || fail "$name: a rail was lost for no reason"
    (($(sum_of rail0_bytes) > 0 && $(sum_of rail1_bytes) > 0)) || fail "$name: a rail has carried nothing"
  else
    (($(stat_of 0 rails_lost) == 1 && $(stat_of 1 rails_lost) == 1)) || fail "$name: no rail was lost"
    (($(sum_of "rail$((rail - 1))_bytes") == cut_at)) || fail "$name: the lost rail has carried more than $cut_at bytes"
    (($(sum_of "rail$((2 - rail))_bytes") > kept_at)) || fail "$name: nothing was sent after the cut"
  fi
  (($(stat_of 1 peers_broken) == 0)) || fail "$name: a peer was lost"
  nothing_left
  echo "$name: $seconds s, bytes over the rails $(sum_of rail0_bytes) $(sum_of rail1_bytes)," \
    "${cut_at+(at the loss $cut_at over the lost one, $kept_at), }sent again $(sum_of rail_frames_again)"
}
