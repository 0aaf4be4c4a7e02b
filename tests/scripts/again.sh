#!/usr/bin/env bash
# scripts/test and failed tests: each runs again, and one that passes then is excused, within limits.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

cat >"$scratch/kinds.sh" <<C
#!/usr/bin/env bash
set -euo pipefail
passes() { echo passes >>"$scratch/order"; }
# wobbles NAME TIMES STATUS TEXT: fails so many times with this status and text, and passes then
wobbles() {
  echo "\$1" >>"$scratch/order"
  ((\$(grep -cx "\$1" "$scratch/order") > \$2)) || { echo "\$4"; echo "and more"; exit "\$3"; }
}
fails_but_again() { [[ \${LFC_TEST_AGAIN-} ]]; }
leaves() { if [[ ! -e $scratch/left ]]; then touch "$scratch/left"; setsid sleep 1000 & fi; }
# The first time it stops the runner for longer than the time that excuses a test.
stands_still() {
  [[ ! -e $scratch/stood ]] || return 0
  touch "$scratch/stood"
  kill -STOP \$PPID
  sleep 7
  kill -CONT \$PPID
  echo "too late"
  return 1
}
"\$@"
C
chmod +x "$scratch/kinds.sh"
cat >"$scratch/suite.table" <<'T'
level  seconds  cores  name         kind     arguments
quick  60       all    wobbly       wobbles  wobbly 1 1 'FAILED: no answer'
quick  60       all    passes       passes
quick  60       all    twice        wobbles  twice 2 1 'FAILED: no answer'
quick  60       all    always       wobbles  always 99 1 'FAILED: no answer'
quick  60       all    other        wobbles  other 1 1 'FAILED: no answer'
quick  60       all    third        wobbles  third 1 1 'FAILED: no answer'
quick  60       all    late/1       wobbles  late/1 1 76 'late: a put took 0.2 s, bound 0.1 s'
quick  60       all    late/2       wobbles  late/2 1 76 'late: a put took 0.2 s, bound 0.1 s'
quick  60       all    late/3       wobbles  late/3 1 76 'late: a put took 0.2 s, bound 0.1 s'
quick  60       all    late/4       wobbles  late/4 1 76 'late: a put took 0.2 s, bound 0.1 s'
quick  60       all    sanitizer    wobbles  sanitizer 1 1 '==7==ERROR: AddressSanitizer: heap-use-after-free'
quick  60       all    byte         wobbles  byte 1 1 'FAIL mpi_x rank 0 of 2 (seed 1): byte 7 is 00, not 01'
quick  60       all    signal       wobbles  signal 1 139 'nothing'
quick  60       all    fuzz/1       wobbles  fuzz/1 1 1 'FAILED: no answer'
quick  60       all    leaves       leaves
quick  60       all    fails_but    fails_but_again
quick  60       all    stands       stands_still
level  seconds  cores  name         kind     which  arguments
quick  60       all    many/{which} wobbles  a|b|c|d|e|f|g|h|i|j|k  9 1 'FAILED: no answer'
T
run() {
  rm -f "$scratch/order"
  LFC_SUITE=$scratch LFC_BUILD=$scratch/build "$tree/scripts/test" --no-setup "$@"
}
has() { grep -qE -- "$1" <<<"$output" || fail "no '$1' in: $output"; }
lacks() { ! grep -qE -- "$1" <<<"$output" || fail "'$1' in: $output"; }
ends_with() { [[ $(tail -n 1 <<<"$output") == "$1" ]] || fail "the last line is not '$1': $output"; }
order_is() { [[ $(paste -sd ' ' "$scratch/order") == "$1" ]] || fail "not in the order '$1': $(paste -sd ' ' "$scratch/order")"; }
readonly logs=$scratch/build/test-logs

# Fails once: it runs again behind all others, and is excused.
expect 0 '^failed wobbly [0-9.]+s, runs again when all others are through$' run --keep-going --only wobbly passes
order_is 'wobbly passes wobbly wobbly'
has "^unsteady wobbly: FAILED: no answer \(log: $logs/wobbly.first.log\)$"
has '^unsteady: 1 \(wobbly\)$'
has '^wobbly  20[0-9][0-9]-[01][0-9]-[0-3][0-9]  FAILED: no answer$'
has '^the machine stood still: '
ends_with '2 passed, 0 failed'
[[ $(<"$logs/wobbly.first.log") == $'FAILED: no answer\nand more' ]] || fail "the first log: $(<"$logs/wobbly.first.log")"
[[ -e $logs/wobbly.third.log && ! -e $logs/passes.first.log ]] || fail "these logs are there: $(ls "$logs")"

# Without --keep-going it runs again at once, and then the others.
expect 0 '^failed wobbly [0-9.]+s, runs again now$' run --only wobbly passes
order_is 'wobbly wobbly wobbly passes'
ends_with '2 passed, 0 failed'
expect 1 '^stopped at the first failure, 1 not run' run --only always 'late/1'
order_is 'always always always'
ends_with '0 passed, 1 failed'

expect 1 '^FAILED wobbly [0-9.]+s \(log: .*/wobbly.log\)$' run --once --only wobbly
lacks 'again'
[[ ! -e $logs/wobbly.first.log ]] || fail "the log of an earlier run is left"

# Fails again: one failure of two runs is enough.
expect 1 '^FAILED always \(fails 3 of 3; FAILED: no answer; log: ' run --keep-going --only always twice
has '^FAILED twice \(fails 2 of 3; FAILED: no answer; log: '
lacks '^unsteady'
ends_with '0 passed, 2 failed'

# A failed build is tried once more only by a test that runs again.
expect 0 '^unsteady fails_but: ' run --only fails_but

# Not many of them: two, and three more that were late.
expect 1 '^too many are unsteady: 3, of them 0 only late$' run --keep-going --only wobbly other third
has '^unsteady: 3 \(wobbly, other, third\)$'
ends_with '0 passed, 3 failed'
expect 0 '^unsteady: 5 \(wobbly, other, late/1, late/2, late/3\)$' run --keep-going --only wobbly other 'late/[123]'
has '^unsteady late/2: late: a put took 0.2 s, bound 0.1 s \(log: '
ends_with '5 passed, 0 failed'
expect 1 '^too many are unsteady: 6, of them 4 only late$' run --keep-going --only wobbly other 'late/*'
ends_with '0 passed, 6 failed'
expect 1 '^too many are unsteady: 3, of them 0 only late$' run --only wobbly other third
ends_with '2 passed, 1 failed'
# If very many fail, it was not chance.
expect 1 '^11 tests have failed, more than 10: none runs again$' run --keep-going --only 'many/*'
order_is "$(printf '%s ' {a..k} | sed 's/ $//')"
has "^FAILED many/k \(FAILED: no answer; log: "
ends_with '0 passed, 11 failed'

# Never excused: by the reason, by the exit code, by the name, by remaining processes.
expect 1 "^FAILED sanitizer \(fails 1 of 3; never excused: a sanitizer's report: " run --only sanitizer
ends_with '0 passed, 1 failed'
expect 1 '^FAILED byte \(fails 1 of 3; never excused: a wrong result: FAIL mpi_x ' run --only byte
expect 1 '^FAILED signal \(fails 1 of 3; never excused: exit code 139: a signal; ' run --only signal
expect 1 '^FAILED fuzz/1 \(fails 1 of 3; never excused: no test of this kind ' run --only fuzz/1
expect 1 '^FAILED leaves \(fails 1 of 3; never excused: LEFT RUNNING; ' run --only leaves

# The machine stood still, as far as the runner can detect.
expect 0 '^ok stands \(again: the machine stood still for [0-9]+ s\)$' run --only stands
has '^the machine stood still: [0-9.]+ s \([0-9]+ times, at most [0-9.]+ s\)$'
lacks unsteady
ends_with '1 passed, 0 failed'

# The rows of tests/unsteady.table.
printf '# A remark.\nwobbly  2026-01-02  no answer\nwobbly 2026-02-03 again\n' >"$scratch/unsteady.table"
expect 0 '^unsteady again wobbly: FAILED: no answer \(in tests/unsteady.table since 2026-01-02; log: ' run --only wobbly
ends_with '1 passed, 0 failed'
wrong_row() { # wrong_row PATTERN ROW
  echo "$2" >"$scratch/unsteady.table"
  expect 1 "^test: .*/unsteady.table:1: $1$" run --only passes
}
wrong_row 'not a name, a date and a reason' 'wobbly 2026-01-02'
wrong_row "there is no test 'nothing'" 'nothing 2026-01-02 no answer'
wrong_row "'yesterday' is no date \(YYYY-MM-DD\)" 'wobbly yesterday no answer'
echo "what failed runs again"
