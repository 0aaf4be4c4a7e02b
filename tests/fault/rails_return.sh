#!/usr/bin/env bash
# A network interface that fails in the middle of a checked stream comes back into use: first one, then, once the first
# carries frames again, the other one. So the job survives only because the first one has returned. Also: an interface
# that cannot be used at the start is used once it can.
#
#   tests/fault/rails_return.sh            cut at the host
#   tests/fault/rails_return.sh --all      also at the switch, where no host is notified; one-sided; from the start
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"
. "$(dirname "${BASH_SOURCE[0]}")/rails.bash"

# await_bytes RAIL REASON: until that rail has carried some more bytes
await_bytes() {
  local rail=rail$(($1 - 1))_bytes
  await_counted "$rail" $(($(counted "$rail") + 1000000)) "$2"
}
# cut_and_return NAME WHERE RAIL ROUND
cut_and_return() {
  await_bytes 1 "$1: the first rail carries nothing before round $4"
  await_bytes 2 "$1: the second rail carries nothing before round $4"
  cut_rail "$2" "$3"
  await_counted rails_lost $((2 * $4)) "$1: rail $3 is not given up"
  await_bytes $((3 - $3)) "$1: the other rail does not carry the rest"
  restore_rail "$2" "$3"
  await_counted rails_returned $((2 * $4)) "$1: rail $3 is not used again"
}
# returns NAME WHERE PROGRAM-ARGS...
returns() {
  local name=$1 where=$2 pids
  shift 2
  rm -f "$scratch/cut"
  start_job 2 "${stream[@]}" "$@" --until "$scratch/cut"
  await_line 'stream: half' || { tail -n 20 "$output"; fail "$name: the stream did not get half way"; }
  pids=("$(pid_of_rank 0)" "$(pid_of_rank 1)")
  cut_and_return "$name" "$where" 1 1
  cut_and_return "$name" "$where" 2 2
  await_bytes 1 "$name: the first rail carries nothing after its return"
  await_bytes 2 "$name: the second rail carries nothing after its return"
  touch "$scratch/cut"
  end_job 60
  job_is_ok "$name"
  (($(sum_of rails_lost) == 4 && $(sum_of rails_returned) == 4)) || fail "$name: lost or returned more than once"
  (($(sum_of peers_broken) == 0)) || fail "$name: a peer was lost"
  (($(sum_of frames_dropped) == 0)) || fail "$name: frames were dropped"
  one_line_each "$name" 1 2
  nothing_left
  echo "$name: $seconds s, bytes over the rails $(sum_of rail0_bytes) $(sum_of rail1_bytes)," \
    "sent again $(sum_of rail_frames_again)"
}
# one_line_each NAME RAIL...: each node has printed its loss and its return
one_line_each() {
  local node rail
  for rail in "${@:2}"; do
    for node in 0 1; do
      (($(grep -ac "rail eth$rail to node lfc-$node is left out" "$output") == 1)) || fail "$1: not one line about the loss of rail $rail"
      (($(grep -ac "rail eth$rail to node lfc-$node is used again" "$output") == 1)) || fail "$1: not one line about the return of rail $rail"
    done
  done
}

returns "cut at the host" host mpi_stream --mebibytes 32
if [[ ${1-} == --all ]]; then
  returns "cut at the switch" switch mpi_stream --mebibytes 32
  returns "fragments, cut at the switch" switch --mca btl_lfc_flags 1 mpi_stream --mebibytes 32
  returns "one-sided, cut at the host" host --mca osc rdma --mca osc_rdma_btls lfc mpi_stream --one-sided --mebibytes 32

  name="cut from the start"
  host switch ip link set p1r2 nomaster # a wire that leads nowhere; an interface without a carrier is not opened
  rm -f "$scratch/cut"
  start_job 2 "${stream[@]}" mpi_stream --mebibytes 32 --until "$scratch/cut"
  await_line 'stream: half' || { tail -n 20 "$output"; fail "$name: the stream did not get half way"; }
  pids=("$(pid_of_rank 0)" "$(pid_of_rank 1)")
  (($(counted rail1_bytes) == 0)) || fail "$name: the rail carries bytes"
  host switch ip link set p1r2 master lfcbr2
  await_bytes 2 "$name: the rail is not used"
  cut_rail switch 1
  await_counted rails_lost 3 "$name: rail 1 is not given up"
  await_bytes 2 "$name: the job does not go on over the rail that has returned"
  touch "$scratch/cut"
  end_job 60
  mend_rails
  job_is_ok "$name"
  nothing_left
  echo "$name: $seconds s"
fi
echo ok
