#!/usr/bin/env bash
# The recording of coll_lfc_channels record:FILE, the plan that perf/tailor makes from it, a run with this plan, and
# jobs in which nothing can be recorded, or the plan is another program's, but nothing fails.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

file=$scratch/messages
record=(--mca btl lfc --mca coll_lfc_channels "record:$file")
tailor() { # tailor WANTED-CODE ARGUMENTS...
  local code=0
  "$tree/perf/tailor" "$file" "${@:2}" >"$scratch/judged" 2>&1 || code=$?
  ((code == $1)) || fail "perf/tailor ends with $code: $(cat "$scratch/judged")"
}

run_job 100 2 "${record[@]}" mpi_persistent
job_is_ok "persistent requests"
grep -q '^lfc-recording version=1 ranks=2 program=mpi_persistent digest=[0-9a-f]*$' "$file" || fail "no title: $(head -n 1 "$file")"
(($(grep -c '^process rank=[01] node=0$' "$file") == 2)) || fail "the recording does not have two processes"
for mode in standard synchronous buffered ready; do
  grep -q "^send .* mode=$mode persistent=yes" "$file" || fail "no send of mode $mode"
done
tailor 0 --plan "$scratch/plan"
grep -q '^open comm=[0-9]*/2 from=0 to=1 tag=0 ' "$scratch/plan" || fail "no channel is opened: $(cat "$scratch/judged")"
run_job 100 2 "${record[@]}" mpi_persistent_channels --programs 2
job_is_ok "random programs"
tailor 0
grep -q 'with a wildcard' "$scratch/judged" || fail "no key is refused for its wildcards: $(cat "$scratch/judged")"

# Ordinary messages of a program that is recorded travel by the channels of its plan.
here() { # prints the messages that rank RANK got by channels; nothing if it has none
  sed -n "s/^lfc-channels rank=$1 .*\\bhere=\\([0-9]*\\).*/\\1/p" "$output"
}
app() { echo "$LFC_BUILD/default/perf/apps/$1"; }
with_plan=(--mca btl lfc --mca coll_lfc_stats 1 --mca coll_lfc_channels "plan:$scratch/plan")
run_job 100 2 "${record[@]}" "$(app md)" --quick --ways ordinary
job_is_ok "ordinary messages"
! grep -q 'persistent=yes' "$file" || fail "ordinary messages are recorded as persistent ones"
messages=$(sed -n 's/^receive .* messages=\([0-9]*\) .*/\1/p' "$file" | awk '{ sum += $1 } END { print sum }')
tailor 0 --plan "$scratch/plan"
(($(grep -c '^open ' "$scratch/plan") == 4)) || fail "not two keys each way are opened: $(cat "$scratch/judged")"
run_job 100 2 "${with_plan[@]}" "$(app md)" --quick --ways ordinary
job_is_ok "ordinary messages with a plan"
(($(here 0) + $(here 1) > messages / 2)) || fail "most of $messages messages went without channels"
not_for() { # not_for WHY RANKS PROGRAM: the plan is refused with one line, and the job is an ordinary one
  run_job 100 "$2" "${with_plan[@]}" "$(app "$3")" --quick --ways ordinary
  job_is_ok "$1"
  (($(grep -c "coll_lfc_channels plan:.*$1" "$output") == 1)) || fail "the number of lines with this text is not 1: $1"
  [[ -z $(here 0) ]] || fail "there are channels by a plan that does not fit: $1"
}
not_for 'the plan is for 2 ranks, and the job has 4' 4 md
not_for 'made from another program' 2 eigen

run_job 100 4 "${record[@]}" mpi_ring
job_is_ok "a ring of four"
(($(grep -c '^process ' "$file") == 4)) || fail "the recording does not have four processes"
rm "$file"
run_job 100 2 "${record[@]}" mpi_threads
job_is_ok "several threads"
(($(grep -c 'nothing is recorded' "$output") == 1)) || fail "the number of lines about the missing recording is not 1"
[[ ! -e $file ]] || fail "a program of several threads was recorded"
run_job 100 2 --mca btl lfc --mca coll_lfc_channels "record:$scratch/no/such" mpi_ring
job_is_ok "a file that cannot be written"
(($(grep -c 'cannot be written' "$output") == 1)) || fail "the unwritable file is not reported"
nothing_left
echo ok
