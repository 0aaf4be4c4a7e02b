#!/usr/bin/env bash
# buffers.sh LINKS: buffers in the memory of an accelerator of the tests. Messages go over LFC, collectives and windows do
# not.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place host
need_program device buffers
export OMPI_MCA_mca_base_component_path=/build/default/tests/device:$OMPI_MCA_mca_base_component_path
says_ok "${launcher[@]}" -n 3 --mca btl lfc --mca btl_lfc_links "$1" --mca coll_lfc_verbose 1 \
  "$(executable device buffers)" 2>&1 | tee "$output"
[[ $(grep -ac 'coll lfc: declines: Open MPI serves the memory of accelerators' "$output") == 3 ]]
