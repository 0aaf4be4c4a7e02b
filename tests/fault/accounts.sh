#!/usr/bin/env bash
# The counters are correct: they count every byte that the program sent, on every link and path. The bytes that one
# side has sent, the other has received.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

# accounted MESSAGES SIZE MPIRUN-ARGS...: rank 1 sends so many messages of this size to rank 0
accounted() {
  local messages=$1 size=$2 payload=$(($1 * $2)) sent fetched received
  shift 2
  run_job 60 2 --mca btl lfc --mca btl_lfc_stats 1 "$@" mpi_flood --messages "$messages" --size "$size" --sleep 0
  job_is_ok "$messages messages of $size bytes, $*"
  sent=$(stat_of 1 bytes_sent)
  received=$(stat_of 0 bytes_received)
  fetched=$(stat_of 0 get_native_bytes)
  ((sent + fetched >= payload)) || fail "$payload bytes were sent, the counters know of $sent + $fetched ($*)"
  # Headers and control frames come on top, but not as much again.
  ((sent + fetched <= payload + payload / 4 + messages * 256 + 100000)) ||
    fail "$payload bytes were sent, the counters have $sent + $fetched ($*)"
  # Bytes that rank 0 fetched itself (a get that needs no help of rank 1) count as its bytes_received, and in no
  # bytes_sent.
  ((received >= payload)) || fail "$payload bytes came, the counters know of $received ($*)"
  ((received <= sent + fetched)) || fail "rank 0 received $received bytes, rank 1 sent $sent, $fetched were fetched ($*)"
  (($(stat_of 0 messages_received) <= $(stat_of 1 messages_sent))) || fail "more messages received than sent ($*)"
  (($(stat_of 0 frames_dropped) + $(stat_of 1 frames_dropped) == 0)) || fail "frames were dropped ($*)"
  (($(stat_of 0 peers_broken) + $(stat_of 1 peers_broken) == 0)) || fail "a peer was lost ($*)"
  echo "$messages x $size, $*: sent $sent, received $received, fetched $fetched"
}

for links in loop,shm loop,tcp loop,ofi; do
  accounted 20000 1000 --mca btl_lfc_links "$links"
  accounted 200 1000000 --mca btl_lfc_links "$links"
done
# The paths of a large message on one node, whichever of them was measured to be the best.
accounted 200 1000000 --mca btl_lfc_cma 0
accounted 200 1000000 --mca btl_lfc_single_copy_from 2000000
(($(stat_of 0 get_native_bytes) == 0)) || fail "a message below btl_lfc_single_copy_from was fetched"
accounted 200 1000000 --mca btl_lfc_single_copy_from 1000000
(($(stat_of 0 get_native_bytes) == 200 * 1000000)) || [[ $(stat_of 0 get_frames_bytes) != 0 ]] ||
  fail "a message from btl_lfc_single_copy_from on was not fetched"
nothing_left
echo ok
