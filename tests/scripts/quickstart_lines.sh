#!/usr/bin/env bash
# quickstart_lines.sh [BUILD]: a new user runs quickstart, and then the commands that it prints at its end. With BUILD
# nothing but its own prerequisites has been built: it works in that folder of the run.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

[[ ! ${1-} ]] || export LFC_BUILD=$LFC_TEST_STATE/$1
allow_mpirun_as_root
"$tree/scripts/quickstart" --no-setup --pairs 1 --seconds 0.05 | tee "$output"
advice=$(sed -n 's/^try it: //p' "$output")
says_ok bash -c "$advice"
advice=$(sed -n 's/^install it [^:]*: //p' "$output")
DESTDIR=$LFC_TEST_STATE/installed bash -c "$advice"
[[ $(find "$LFC_TEST_STATE/installed" -name 'mca_*.so' | wc -l) == 3 ]]
