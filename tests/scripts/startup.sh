#!/usr/bin/env bash
# perf/startup: the parts without MPI, and one short run, which must print all phases and prove the path of each
# transport. Times are not checked, because the machine may be busy.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

python3 "$tree/tests/scripts/test_startup.py"

started() { timeout 150 "$tree/perf/startup" --force --timeout 30 --pairs 1 --repeats 2 --out "$scratch/out" "$@"; }
expect 0 '^2 ranks, lfc: ranks with frames 2, communicators [1-9][0-9]*, windows [1-9]' started --ranks 2
for name in stock bare; do
  grep -qE "^2 ranks, $name: ranks with frames none, communicators none, windows none" <<<"$output" ||
    fail "LFC served in $name: $output"
done
for phase in init first_message first_collective {comm,win}_free comm_{dup,split} {dup,split}_barrier \
  win_{create,allocate,allocate_shared} finalize; do
  grep -qE "^ +$phase 2 ( +[0-9.]+ \[[0-9.]+\.\.[0-9.]+\]){3} .*(met|missed)" <<<"$output" || fail "no row of $phase: $output"
done
(($(grep -c '"phase"' "$scratch/out/startup.jsonl") == 13)) || fail "not 13 phases in startup.jsonl"
expect 2 'not a list of numbers' started --ranks 1,2
echo "perf/startup measures all phases"
