#!/usr/bin/env bash
# A plugin built for another Open MPI than the running one: one line that says so, and the job goes on without it.
# LFC_OTHER_COMPONENTS_DIR holds that plugin.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

other=${LFC_OTHER_COMPONENTS_DIR-}
if [[ ! -f $other/mca_btl_lfc.so ]]; then
  echo "needs a plugin built for another Open MPI in LFC_OTHER_COMPONENTS_DIR"
  exit 77
fi
export OMPI_MCA_mca_base_component_path=SYS_DEFAULT:$other
for btl in vader,self lfc,vader,self; do
  run_job 60 2 --mca btl $btl mpi_ring
  job_is_ok "--mca btl $btl with the other version's plugin"
  lines=$(grep -ci 'lfc.*Open MPI' "$output" || true)
  ((lines >= 1 && lines <= 3)) || fail "$lines lines, not one of each process, about the version (--mca btl $btl)"
  echo "--mca btl $btl: $(grep -im1 'lfc.*Open MPI' "$output")"
done
run_job 60 2 --mca btl lfc mpi_ring
((code != 0)) || fail "--mca btl lfc ran with the other version's plugin"
nothing_left
echo ok
