#!/usr/bin/env bash
# Large messages on one node use both paths, and each is counted once. If a parameter requests one path, only that
# is used.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

counted() { echo $(($(stat_of 0 "$1") + $(stat_of 1 "$1"))); }

ways() { # MPIRUN-ARGS...
  run_job 60 2 --mca btl lfc --mca btl_lfc_links loop,shm --mca btl_lfc_stats 1 "$@" mpi_ways
  job_is_ok "mpi_ways $*"
  copied=$(counted fetches_copied) streamed=$(counted fetches_streamed) tried=$(counted fetches_tried)
  native=$(counted get_native_bytes)
  echo "$*: copied $copied, streamed $streamed, of both tried $tried"
}

ways
if ((native == 0)); then # the kernel does not permit single copies here, so there is no choice
  ((copied + streamed + tried == 0)) || fail "ways were counted where there is one only"
else
  ((copied > 0 && streamed > 0)) || fail "one of the ways was never taken"
  ((tried > 0 && tried < (copied + streamed) / 2)) || fail "$tried tries among $((copied + streamed)) messages"
  (($(counted get_frames_bytes) > 0)) || fail "nothing was streamed"
fi
ways --mca btl_lfc_single_copy_from 1
((copied + streamed + tried == 0)) || fail "the way was chosen, although a parameter fixes it"
ways --mca btl_lfc_cma 0
((copied + streamed + tried + native == 0)) || fail "single copies without btl_lfc_cma"
nothing_left
echo ok
