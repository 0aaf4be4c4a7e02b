#!/usr/bin/env bash
# The plugin is installed but not requested: a job's output, threads and open files are the same as without it.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

# Open MPI's own components alone, without those that are installed beside them.
stock=$(ompi_info --parsable --path pkglibdir)
mkdir "$scratch/stock"
find "${stock##*:}" -name '*.so' ! -name 'mca_*_lfc.so' ! -name mca_osc_neon.so -exec ln -s -t "$scratch/stock" {} +

# same ARGS: whether a job with the plugin at hand has the same footprint as one without it
same() {
  # shellcheck disable=SC2086  # several words
  OMPI_MCA_mca_base_component_path=$scratch/stock run_job 60 2 $1 mpi_footprint
  job_is_ok "without the plugin ($1)"
  sort "$output" >"$scratch/without"
  # The job requests the statistics and sets a wrong parameter, but does not request the transport.
  # shellcheck disable=SC2086
  run_job 60 2 --mca btl_lfc_stats 1 --mca btl_lfc_initial_window 0 $1 mpi_footprint
  job_is_ok "with the plugin at hand ($1)"
  sort "$output" >"$scratch/with"
  diff "$scratch/without" "$scratch/with"
}

for arguments in '--mca btl vader,self' '--mca btl tcp,self --mca osc pt2pt' '--mca btl ^lfc' ''; do
  # Two jobs may differ by a line of mpirun or a connection that is still open. A difference that the plugin makes
  # appears each time.
  for ((tries = 0; tries < 5; ++tries)); do
    ! same "$arguments" || break
  done
  ((tries < 5)) || fail "the plugin changes a job that does not select it ($arguments)"
  grep -aq '^footprint rank=1 threads=[1-9]' "$scratch/with" || fail "mpi_footprint did not print its threads"
  echo "mpirun $arguments: $(grep 'rank=0' "$scratch/with")"
done

# If several are requested, the README defines which one carries the messages.
for btl in lfc,vader,self lfc,tcp,self; do
  run_job 60 2 --mca btl "$btl" --mca coll ^lfc --mca btl_lfc_stats 1 mpi_ring
  job_is_ok "$btl"
  case $btl in
    *vader*) carried='links=none .*frames_sent=0 ' ;;
    *) carried='links=shm:1 .*frames_sent=[1-9]' ;;
  esac
  [[ $(grep -acE "^lfc-stats rank=[01] $carried" "$output") == 2 ]] || fail "$btl: another transport carries than the README says"
done
echo ok
