#!/usr/bin/env bash
# fallback.sh: a rank that must use Open MPI's own partitioned communication. Its partners choose the same component.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place host
need_program partitioned fallback
# shellcheck disable=SC2016 # the ranks' shells are to expand it
says_ok "${launcher[@]}" -n 3 --mca btl lfc --mca part_lfc_verbose 1 \
  sh -c '[ "$OMPI_COMM_WORLD_RANK" != 2 ] || export OMPI_MCA_part=persist; exec "$0"' "$(executable partitioned fallback)" 2>&1 | tee "$output"
[[ $(grep -c 'left to persist: one of the two has no part lfc' "$output") == 4 && $(grep -c ': served' "$output") == 4 ]]
