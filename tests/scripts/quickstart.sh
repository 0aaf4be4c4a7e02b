#!/usr/bin/env bash
# scripts/quickstart: its proof really proves that LFC carried the messages, and bad options are refused. (The test
# `quickstart` checks that it runs at all.)
set -euo pipefail
. "$(dirname "$0")/expect.bash"

expect 1 "unknown option '--frob'" "$tree/scripts/quickstart" --frob
expect 1 'must be a number from 1' "$tree/scripts/quickstart" --pairs 0
expect 1 'must be a number, not' "$tree/scripts/quickstart" --seconds fast
expect 1 'lacks its value' "$tree/scripts/quickstart" --pairs

output_of() { # output_of STATS-OF-RANK-0 STATS-OF-RANK-1
  printf 'payload rank=0 bytes=1000\npayload rank=1 bytes=600\n' >"$scratch/output"
  [[ -z $1 ]] || echo "lfc-stats rank=0 $1" >>"$scratch/output"
  [[ -z $2 ]] || echo "lfc-stats rank=1 $2" >>"$scratch/output"
}
output_of 'bytes_sent=1100 bytes_received=600' 'bytes_sent=600 bytes_received=1000'
expect 0 '^1600$' "$tree/scripts/lib/prove" "$scratch/output"
output_of 'bytes_sent=50 get_native_bytes=500' 'bytes_sent=100 get_native_bytes=950'
expect 0 '^1600$' "$tree/scripts/lib/prove" "$scratch/output"
output_of 'bytes_sent=50 get_native_bytes=500' 'bytes_sent=100 get_native_bytes=900'
expect 1 'LFC carried only 950 of the 1000 bytes that rank 0 sent' "$tree/scripts/lib/prove" "$scratch/output"
output_of 'bytes_sent=1100' 'bytes_sent=0'
expect 1 'only 0 of the 600 bytes that rank 1 sent' "$tree/scripts/lib/prove" "$scratch/output"
output_of 'bytes_sent=1100' ''
expect 1 'rank 1 printed no lfc-stats line' "$tree/scripts/lib/prove" "$scratch/output"
output_of '' ''
expect 1 'rank 0 printed no lfc-stats line' "$tree/scripts/lib/prove" "$scratch/output"
echo >"$scratch/output"
expect 1 'the program did not say' "$tree/scripts/lib/prove" "$scratch/output"
echo "the proof is a proof"
