#!/usr/bin/env bash
# unequal_jobs.sh ARGS...: ranks in circumstances of their own. First the jobs of the table, then those that are drawn.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place host
"$tree/tests/programs/unequal" --table "$tree/tests/programs/unequal.table" "$@" "$LFC_BUILD/default/tests/programs"
