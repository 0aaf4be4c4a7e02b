#!/usr/bin/env bash
# unreached_rank.sh: LFC does not reach one rank of a job. All ranks agree to leave the collectives to Open MPI.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place lab
random=("$(executable mpi coll_random)" --alike --cases 60)
says_ok "${launcher[@]}" -n 3 --mca pml ob1 --mca btl lfc,tcp,self --mca coll_lfc_verbose 1 "${random[@]}" : \
  -n 1 -x OMPI_MCA_btl_lfc_links=loop,shm "${random[@]}" 2>&1 | tee "$output"
[[ $(grep -c 'MPI_COMM_WORLD: not served: some rank cannot reach another' "$output") == 4 ]]
