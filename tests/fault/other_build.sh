#!/usr/bin/env bash
# Ranks of one node with different builds of LFC, whose shared memory is laid out differently, never share any. With
# another transport the job goes on over that; without one it ends with a text that names the cause.
# LFC_OTHER_COMPONENTS_DIR holds the other build's plugin.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

other=${LFC_OTHER_COMPONENTS_DIR-}
[[ -f $other/mca_btl_lfc.so ]] || fail "no plugin in LFC_OTHER_COMPONENTS_DIR=$other"

# Rank 1 has the other build.
mixed() { # mixed BTLS
  # shellcheck disable=SC2016  # expanded by the rank
  run_job 60 2 --mca btl "$1" bash -c '[[ $OMPI_COMM_WORLD_RANK != 1 ]] ||
    export OMPI_MCA_mca_base_component_path=$0:SYS_DEFAULT
    exec "$1"' "$other" "$LFC_TESTS_BIN/mpi_ring"
  grep -aq 'cannot reach process .*another build of LFC' "$output" || fail "the other build is not reported, --mca btl $1"
}

mixed lfc,vader,self
job_is_ok "two builds, and another transport"
mixed lfc
((code != 0)) || fail "two builds talk to each other"
grep -am1 'another build of LFC' "$output"
nothing_left
echo ok
