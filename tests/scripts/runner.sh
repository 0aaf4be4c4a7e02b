#!/usr/bin/env bash
# scripts/test itself: it distinguishes and counts tests that pass, fail, hang, are skipped or leave a process
# running. Its options choose, repeat and divide tests. For tests that have failed: again.sh.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

readonly nap=$((200000 + $$)) # seconds: a sleep that differs from those of other runs
if [[ $EUID == 0 ]]; then boxes=/run/lfc-rdma; else boxes=${XDG_RUNTIME_DIR:-/tmp}/lfc-rdma-$EUID; fi
cat >"$scratch/spin.c" <<'C'
static void wait_for_ever(void) { for (volatile int i = 0;; ++i) {} }
int main(void) { wait_for_ever(); return 0; }
C
cc -g -O0 -o "$scratch/spin" "$scratch/spin.c"
cat >"$scratch/kinds.sh" <<C
#!/usr/bin/env bash
set -euo pipefail
passes() { :; }
says() { echo "says: \$*"; false; }
skips() { echo "no such thing here"; exit 77; }
fails() { echo "what went wrong"; false; echo "not reached"; }
hangs() { bash -c '"$scratch/spin" & wait'; }
leaves() { setsid sleep $nap & }
reads_input() { ! read -r; }
# Each waits for the other, or finds no other.
meets() {
  echo >>"$scratch/met"
  for ((i = 0; i < 80; i++)); do
    [[ \$(wc -l <"$scratch/met") != 2 ]] || return 0
    sleep 0.1
  done
  return 1
}
# Fails each third time.
flickers() {
  echo flickers >>"$scratch/order"
  ((\$(grep -c flickers "$scratch/order") % 3)) || { echo "the third time"; return 1; }
}
notes() { echo notes >>"$scratch/order"; }
# Runs beside so many busy loops.
is_loaded() {
  local pids pid
  mapfile -t pids < <(pgrep -f "getppid\(\) == \$PPID:")
  [[ \${#pids[@]} == "\$1" ]]
  for pid in "\${pids[@]}"; do
    until ((\$(awk '{ print \$14 }' "/proc/\$pid/stat") > 10)); do sleep 0.1; done
  done
}
# A guest of this run, as scripts/rdma-box finds it.
box() { echo "$boxes/\${LFC_LAB}n1"; }
starts_guest() { mkdir -p "\$(box)"; }
has_guest() { [[ -d \$(box) ]]; }
has_no_guest() { [[ ! -e \$(box) ]]; }
# Writes when it starts and ends.
stays() {
  echo "+ \$*" >>"$scratch/beside"
  sleep 0.7
  echo "- \$*" >>"$scratch/beside"
}
is_alone() { mkdir "$scratch/alone" && sleep 0.3 && rmdir "$scratch/alone"; }
"\$@"
C
chmod +x "$scratch/kinds.sh"
cat >"$scratch/suite.table" <<'T'
needs  at/build  at/c at/d
level    seconds  cores  name         kind
# A remark.
quick    10       all    passes       passes
full     10       all    part/passes  reads_input
quick    10       all    skips        skips
quick    10       all    fails        fails
quick    2        all    hangs        hangs
quick    10       all    leaves       leaves
nightly  10       all    later        passes
nightly  10       all    flickers     flickers
nightly  10       all    notes        notes
nightly  10       all    rdma/first   starts_guest
nightly  10       all    rdma/last    has_guest
nightly  10       all    behind       has_no_guest
level    seconds  cores  name         kind       count    which
nightly  60       build  at/build     stays      build    x
nightly  60       1      at/{which}   stays      1        a|b|c
nightly  60       3      at/{which}   stays      3        d|e
nightly  60       9      at/{which}   stays      9        f
nightly  60       waits  at/{which}   stays      waits    g|h
nightly  60       all    at/{which}   stays      all      i
level    seconds  cores  name         kind       which
nightly  300      all    loaded       is_loaded  2
nightly  10       1      meet/{which}   meets      a|b
nightly  10       all    alone/{which}  is_alone   a|b
level    seconds  cores  name                       kind  ranks  program                      arguments
ompi5    10       all    said/{program}.{ranks}     says  2|4    scripts/suite/[mw]a[rt]*.py  'two words' *
ompi5    10       all    said/{program}.{ranks}     says  2      watch                        by itself
T
run() { LFC_SUITE=$scratch LFC_BUILD=$scratch/build "$tree/scripts/test" --no-setup "$@"; }
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

# The tests of a row: each combination of its values, and one for each file, except those that have a separate row.
expect 1 '^    says: 2 marked two words \*$' run --smoke-ompi5 --only 'said/*' --keep-going --once
has '^    says: 4 watch two words \*$'
has '^    says: 2 watch by itself$'
has '^0 passed, 4 failed$'

mkdir "$scratch/wrong"
wrong() { # wrong PATTERN ROW...
  printf '%s\n' 'level seconds cores name kind ranks' "${@:2}" >"$scratch/wrong/suite.table"
  LFC_SUITE=$scratch/wrong expect 1 "$1" "$tree/scripts/test" --list
}
wrong "suite.table:3: there are two tests 'a'" 'quick 1 all a says 2' 'quick 1 all a says 4'
wrong "suite.table:2: 'soon' is not a level" 'soon 1 all a says 2'
wrong 'suite.table:2: not the columns level' 'quick 1 all a says 2 more'
wrong 'suite.table:2: not the columns level' 'quick 1 all a says'
wrong 'suite.table:2: seconds are a number' 'quick 1s all a says 2'
wrong 'suite.table:2: seconds are a number, cores a number' 'quick 1 some a says 2'
wrong 'suite.table:2: .* finds no file' 'quick 1 all a says tests/mpi/nothing*.c'

expect 0 '^1 passed, 0 failed$' run --only passes
has '^ok passes [0-9]+\.[0-9]s$'
expect 0 '^2 passed, 0 failed, 1 skipped$' run --only '*passes' --only skips
has '^skipped skips \(no such thing here\)$'
has '^seconds by part: passes [0-9.]+, '

# Guests are taken down behind the last test that needs one.
expect 0 '^3 passed, 0 failed$' run --nightly --only 'rdma/*' behind

# Many times in turn.
expect 1 '^flickers: 2 of 6 failed$' run --nightly --repeat 6 --only flickers notes
has '^notes: 0 of 6 failed$'
has '^FAILED flickers [0-9.]+s \(3 of 6\): the third time \(log: .*/flickers.3.log\)$'
has '^ok notes [0-9.]+s \(6 of 6\)$'
lacks 'runs again'
[[ $(tail -n 1 <<<"$output") == '10 passed, 2 failed' ]] || fail "that is not the last line: $output"
[[ $(paste -sd ' ' "$scratch/order") == "$(printf 'flickers notes %.0s' {1..6} | sed 's/ $//')" ]] || fail "not in turn"
logs=("$scratch"/build/test-logs/flickers.*)
[[ ${logs[*]##*/} == 'flickers.3.log flickers.6.log' ]] || fail "these logs are kept: ${logs[*]}"
[[ $(<"${logs[1]}") == 'the third time' ]] || fail "in the log: $(<"${logs[1]}")"
expect 0 '^skips: 0 of 2 failed, 2 skipped$' run --repeat 2 --only skips
expect 1 "^test: --repeat must be 1 to 9999, not '-1'" run --repeat -1
expect 1 "^test: .*'often'" run --repeat often

expect 0 '^1 passed, 0 failed$' run --nightly --load 2 --only loaded
expect 1 "^test: --load must be 1 to 99, not '100'" run --load 100

# Parts: each test in one of them, those that share a build in the same, and `build` in each.
mkdir "$scratch/parts"
cat >"$scratch/parts/suite.table" <<'T'
needs  -        build a/build
needs  a/build  a/*
needs  build    *
level  seconds  cores  name        kind
quick  900      build  build       passes
quick  100      all    long        passes
quick  60       build  a/build     passes
quick  60       all    short/1     passes
quick  30       all    a/test      passes
quick  20       all    short/2     passes
T
printf '%s\n' 'build 900' 'long 100' 'a/build 60' 'short/1 60' 'a/test 30' 'short/2 20' >"$scratch/parts/durations.table"
cp "$scratch/kinds.sh" "$scratch/parts"
run_part() { LFC_SUITE=$scratch/parts LFC_BUILD=$scratch/build "$tree/scripts/test" --no-setup "$@"; }
parts() { run_part --list "$@"; }
expect 0 '^build$' parts --part 1/2
[[ $output == $'build\nlong\nshort/2' ]] || fail "part 1 of 2: $output"
expect 0 '^build$' parts --part 2/2
[[ $output == $'build\na/build\nshort/1\na/test' ]] || fail "part 2 of 2: $output"
expect 0 '^long$' parts --part 1/2 --only 'l*' 's*'
[[ $output == 'long' ]] || fail "part 1 of 2 of three tests: $output"
expect 1 '^test: there are too few tests for part 3 of 3' parts --part 3/3 --only long 'short/1'
expect 0 '^parts 2 of 2: 4 passed, 0 failed, 0 skipped, [0-9]+ s; not run: 1$' run_part --part 2/2
expect 0 '^parts 1, 2 of 2: 7 passed, 0 failed, 0 skipped, [0-9]+ s; not run: none$' run_part --part 1/2
for wrong in 0/2 3/2 2 1/100 a/b; do expect 1 "^test: --part must be K/N .* not '$wrong'" parts --part "$wrong"; done

expect 0 '^2 passed, 0 failed$' run --cores 2 --nightly --only 'meet/*'
expect 0 '^2 passed, 0 failed$' run --nightly --only 'alone/*'

# As many at once as fit four processors, a build beside tests that wait, and one that judges time alone.
expect 0 '^10 passed, 0 failed$' run --cores 4 --nightly --only 'at/*'
awk '
  function busy(cores) { return cores == "waits" ? 0.5 : cores == "build" ? 3.5 : cores == "all" || cores > 4 ? 4 : cores }
  { sum += $1 == "+" ? busy($2) : -busy($2); number += $1 == "+" ? 1 : -1 }
  $1 == "-" && $2 == "build" { built = 1 }
  $1 == "+" && $3 ~ /[cd]/ && !built { print $3 " began before its build"; wrong = 1 }
  $1 == "+" && $2 == "all" && number > 1 { print "not alone: " $3; wrong = 1 }
  sum > 4 { print "busy: " sum; wrong = 1 }
  number > most { most = number }
  END { if (most < 3) { print "at most " most " at once"; wrong = 1 } exit wrong }
' "$scratch/beside" || fail "not as planned: $(<"$scratch/beside")"
expect 0 '^plan: 10 tests, 0 min [3-9] s on 4 processors$' run --nightly --only 'at/*' --plan 4
expect 0 '^plan: 10 tests, 0 min [1-6] s on 99 processors$' run --nightly --only 'at/*' --plan 99

expect 1 '^2 passed, 1 failed, 1 skipped$' run
has '^stopped at the first failure, 2 not run'
expect 1 '^2 passed, 3 failed, 1 skipped$' run --keep-going
[[ $(tail -n 1 <<<"$output") == '2 passed, 3 failed, 1 skipped' ]] || fail "that is not the last line: $output"
has '^    what went wrong$'
readonly xml=$scratch/build/test-logs/junit.xml
grep -q '<testsuite name="lfc" tests="6" failures="3" skipped="1" ' "$xml" || fail "in the XML: $(<"$xml")"
grep -A 1 'name="fails"' "$xml" | grep -q '<failure message="what went wrong" />' || fail "in the XML: $(<"$xml")"
grep -qE '^part/passes  [0-9.]+  [0-9.]+$' "${xml%/*}/durations.table" || fail "durations: $(<"${xml%/*}/durations.table")"
lacks 'not reached'
has '^failed fails [0-9.]+s, runs again when all others are through$'
has '^FAILED fails \(fails 3 of 3; what went wrong; log: .*/fails.first.log\)$'
has '^    TIME IS UP: hangs did not end in 2 s$'
has '^FAILED hangs \(fails 2 of 2; TIME IS UP: '
if command -v gdb >/dev/null; then has '^    #[0-9]+ .*wait_for_ever'; fi
has '^    LEFT RUNNING by leaves:$'
has "sleep $nap\$"
has '^FAILED leaves \(fails 3 of 3; never excused: LEFT RUNNING; '
[[ -z $(pgrep -fx "sleep $nap") && -z $(pgrep -f "$scratch/spin") ]] || fail "something was left running"

# Interrupted: running tests are ended, and the last line still reports the counts.
LFC_SUITE=$scratch LFC_BUILD=$scratch/build "$tree/scripts/test" --no-setup --load 1 --patience 99 --only hangs \
  >"$scratch/interrupted" 2>&1 &
for ((i = 0; i < 6000; i++)); do
  ! pgrep -f "^$scratch/spin" >/dev/null || break
  sleep 0.02
done
runner=$!
[[ -n $(pgrep -f "getppid\(\) == $runner:") ]] || fail "there is no load"
kill -TERM "$runner"
status=0
wait "$runner" || status=$?
((status)) || fail "interrupted, and yet a success"
[[ -z $(pgrep -f "getppid\(\) == $runner:") ]] || fail "interrupted, but its load still runs"
[[ $(tail -n 1 "$scratch/interrupted") == '0 passed, 1 failed' ]] || fail "interrupted: $(cat "$scratch/interrupted")"
[[ -z $(pgrep -f "^$scratch/spin") ]] || fail "interrupted, but its test still runs"
echo "told apart and counted"
