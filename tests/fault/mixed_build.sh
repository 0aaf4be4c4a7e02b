#!/usr/bin/env bash
# A component and a liblfc of different builds never work together: the component that does not fit declines with
# one line, and the job goes on without it.
# LFC_OTHER_COMPONENTS_DIR holds the other build's plugin.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

other=${LFC_OTHER_COMPONENTS_DIR-}
[[ -f $other/mca_btl_lfc.so ]] || fail "no plugin in LFC_OTHER_COMPONENTS_DIR=$other"
mixed=$scratch/mixed

with_other() { # with_other COMPONENT: a job that takes this component from the other build
  rm -rf "$mixed"; mkdir "$mixed"
  cp -a "$LFC_COMPONENTS_DIR"/. "$mixed"
  cp "$other/mca_$1.so" "$mixed"
  run_job 60 2 --mca mca_base_component_path "$mixed:SYS_DEFAULT" --mca btl lfc,vader,self --mca osc neon,rdma,sm,pt2pt \
    "$LFC_TESTS_BIN/mpi_ring"
  # This component prints it, or the others do, if it came first and brought its own liblfc.
  grep -aq "the liblfc that was found beside it is of another build" "$output" || fail "$1 is not reported"
  job_is_ok "$1 of another build"
}

with_other coll_lfc
with_other btl_lfc
with_other osc_neon
grep -am1 'of another build' "$output"
nothing_left
echo ok
