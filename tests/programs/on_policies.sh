#!/usr/bin/env bash
# on_policies.sh ARGS...: drawn programs on 2 to 6 ranks, under both policies.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

for ranks in 2:floating 3:single 4:floating 6:single; do
  (rma host "${ranks%:*}" "${ranks#*:}" programs random "$@")
done
