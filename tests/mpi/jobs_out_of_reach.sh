#!/usr/bin/env bash
# jobs_out_of_reach.sh: LFC does not reach spawned children from one of the parents. All ranks agree to leave their
# collectives to Open MPI.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place lab
says_ok "${launcher[@]}" -n 2 --mca pml ob1 --mca btl lfc,tcp,self --mca coll_lfc_verbose 1 \
  "$(executable mpi jobs)" --child btl_lfc_links=loop,shm 2>&1 | tee "$output"
[[ $(grep -o 'both: not served: some rank cannot reach another' "$output" | wc -l) == 4 ]]
