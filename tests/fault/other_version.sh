#!/usr/bin/env bash
# A plugin built for another Open MPI than the running one: one line reports that, and the job goes on without it.
# LFC_OTHER_COMPONENTS_DIR holds that plugin.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

other=${LFC_OTHER_COMPONENTS_DIR-}
if [[ ! -f $other/mca_btl_lfc.so ]]; then
  echo "needs a plugin built for another Open MPI in LFC_OTHER_COMPONENTS_DIR"
  exit 77
fi
export OMPI_MCA_mca_base_component_path=$other:SYS_DEFAULT
run_job 60 2 --mca btl vader,self mpi_ring
job_is_ok "the other version's plugin at hand, not asked for"
! grep -aq "btl lfc" "$output" || fail "the other version's plugin prints a line although it is not selected"

run_job 60 2 --mca btl lfc,vader,self mpi_ring
if grep -aq 'unable to open mca_btl_lfc' "$output"; then
  # A plugin built for a newer system: the dynamic linker refuses it. Open MPI, which was to use it by name, prints
  # that and ends.
  ((code != 0)) || fail "Open MPI could not load the selected plugin, but went on"
  grep -am1 'unable to open mca_btl_lfc' "$output"
  nothing_left
  echo ok
  exit
fi
job_is_ok "--mca btl lfc,vader,self with the other version's plugin"
lines=$(grep -ac 'btl lfc: built for Open MPI' "$output" || true)
((lines >= 1 && lines <= 2)) || fail "$lines lines, not one of each process, about the version"
grep -am1 'btl lfc: built for Open MPI' "$output"

run_job 60 2 --mca btl lfc mpi_ring
((code != 0)) || fail "--mca btl lfc ran with the other version's plugin"
grep -aq 'btl lfc: built for Open MPI' "$output" || fail "the job ended without a word about the version"
nothing_left
echo ok
