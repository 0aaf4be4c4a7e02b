#!/usr/bin/env bash
# scripts/test itself: what passes, fails, hangs, is skipped or leaves something running is told apart and counted.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

readonly nap=$((200000 + $$)) # seconds: a sleep that can be told from those of other runs
cat >"$scratch/spin.c" <<'C'
static void wait_for_ever(void) { for (volatile int i = 0;; ++i) {} }
int main(void) { wait_for_ever(); return 0; }
C
cc -g -O0 -o "$scratch/spin" "$scratch/spin.c"
cat >"$scratch/suite.sh" <<C
set -euo pipefail
skips() { echo "no such thing here"; exit 77; }
fails() { echo "what went wrong"; false; echo "not reached"; }
hangs() { bash -c '"$scratch/spin" & wait'; }
leaves() { setsid sleep $nap & }
reads_input() { ! read -r; }
# Each waits for the other; or finds nobody else.
meets() {
  echo >>"$scratch/met"
  for ((i = 0; i < 80; i++)); do
    [[ \$(wc -l <"$scratch/met") != 2 ]] || return 0
    sleep 0.1
  done
  return 1
}
is_alone() { mkdir "$scratch/alone" && sleep 0.3 && rmdir "$scratch/alone"; }
suite() {
  entry quick 10 passes true
  entry full 10 part/passes reads_input
  entry quick 10 skips skips
  entry quick 10 fails fails
  entry quick 2 hangs hangs
  entry quick 10 leaves leaves
  entry nightly 10 later true
  side_by_side 'meet/*'
  for name in a b; do entry nightly 10 "meet/\$name" meets; done
  for name in a b; do entry nightly 10 "alone/\$name" is_alone; done
}
[[ \${1-} != run ]] || eval "\$2"
C
run() { LFC_SUITE=$scratch/suite.sh LFC_BUILD=$scratch/build "$tree/scripts/test" --no-setup "$@"; }
has() { grep -qE -- "$1" <<<"$output" || fail "no '$1' in: $output"; }
lacks() { ! grep -qE -- "$1" <<<"$output" || fail "'$1' in: $output"; }

expect 0 '^scripts/test: from a bare' run --help
expect 1 "unknown option '--frob'" run --frob
expect 1 "no test is called 'nothing'" run --only nothing
expect 0 '^part/passes$' run --list
lacks later
expect 0 '^later$' run --list --nightly
expect 0 '^hangs$' run --list --quick
lacks part/passes

expect 0 '^1 passed, 0 failed$' run --only passes
has '^ok passes [0-9]+\.[0-9]s$'
expect 0 '^2 passed, 0 failed, 1 skipped$' run --only '*passes' --only skips
has '^skipped skips \(no such thing here\)$'
has '^seconds by part: passes 0\.[0-9], '

(($(nproc) < 2)) || expect 0 '^2 passed, 0 failed$' run --nightly --only 'meet/*'
expect 0 '^2 passed, 0 failed$' run --nightly --only 'alone/*'

expect 1 '^2 passed, 1 failed, 1 skipped$' run
has '^stopped at the first failure, 2 not run'
expect 1 '^2 passed, 3 failed, 1 skipped$' run --keep-going
[[ $(tail -n 1 <<<"$output") == '2 passed, 3 failed, 1 skipped' ]] || fail "that is not the last line: $output"
has '^    what went wrong$'
lacks 'not reached'
has '^FAILED fails [0-9.]+s \(log: .*/fails.log\)$'
has '^    TIME IS UP: hangs did not end in 2 s$'
has '^FAILED hangs '
if command -v gdb >/dev/null; then has '^    #[0-9]+ .*wait_for_ever'; fi
has '^    LEFT RUNNING by leaves:$'
has "sleep $nap\$"
[[ -z $(pgrep -fx "sleep $nap") && -z $(pgrep -f "$scratch/spin") ]] || fail "something was left running"

# Interrupted: what ran is ended, and the last line still says so.
LFC_SUITE=$scratch/suite.sh LFC_BUILD=$scratch/build "$tree/scripts/test" --no-setup --only hangs >"$scratch/interrupted" 2>&1 &
for ((i = 0; i < 100; i++)); do
  ! pgrep -f "^$scratch/spin" >/dev/null || break
  sleep 0.02
done
kill -TERM $!
status=0
wait $! || status=$?
((status)) || fail "interrupted, and yet a success"
[[ $(tail -n 1 "$scratch/interrupted") == '0 passed, 1 failed' ]] || fail "interrupted: $(cat "$scratch/interrupted")"
[[ -z $(pgrep -f "^$scratch/spin") ]] || fail "interrupted, but its test still runs"
echo "told apart and counted"
