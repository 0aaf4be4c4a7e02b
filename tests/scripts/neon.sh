#!/usr/bin/env bash
# perf/neon: its short form prints every table of the thesis, with the proof of the path. Times are no verdict.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

ran() { timeout 500 "$tree/perf/neon" --force --out "$scratch/out" "$@"; }
expect 2 "no table '6.1'; there are 5.1, " ran --only 6.1
expect 0 'usage: neon' ran --help
expect 1 'none of the transports works here' ran --only 5.2 nothing="--mca btl nothing"

expect 0 '^lfc: pml ob1; btl lfc; .*frames ' ran --short
for title in 'Table 5.'{1,2,3,4}: 'Figure 5.'{2,3,6}: 'Table C.1 and figure 6.3:' 'Table C.'{2,3,4,5}: 'Figure 6.'{4,5,6,7,8,9}: \
  'Model of 4.2:' 'Model of 4.3.6:' 'Early puts' 'Notification in the put' 'Pipeline of ranks'; do
  grep -qF "$title" <<<"$output" || fail "no '$title': $output"
done
grep -q '^SHORT FORM' <<<"$output" || fail "the short form looks like a result: $output"
grep -q '^  ca --ways isend,pscw,neon .*, lfc: frames_sent [1-9]' <<<"$output" || fail "no counters: $output"
cmp -s <(sed 's/[[:space:]]*$//' <<<"$output" | grep '^Table') <(grep '^Table' "$scratch/out/neon.txt") || fail "neon.txt has other tables"
echo "perf/neon prints every table"
