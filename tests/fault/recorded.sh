#!/usr/bin/env bash
# The recording of coll_lfc_persistent record:FILE, the plan that perf/tailor makes from it, and jobs in which
# nothing can be recorded but nothing fails.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

file=$scratch/messages
record=(--mca btl lfc --mca coll_lfc_persistent "record:$file")
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
grep -q '^open comm=0/2 from=0 to=1 tag=0 ' "$scratch/plan" || fail "no channel is opened: $(cat "$scratch/judged")"
run_job 100 2 "${record[@]}" mpi_persistent_channels --programs 2
job_is_ok "random programs"
tailor 1
grep -q 'with a wildcard' "$scratch/judged" || fail "no key is refused for its wildcards: $(cat "$scratch/judged")"

run_job 100 4 "${record[@]}" mpi_ring
job_is_ok "a ring of four"
(($(grep -c '^process ' "$file") == 4)) || fail "the recording does not have four processes"
rm "$file"
run_job 100 2 "${record[@]}" mpi_threads
job_is_ok "several threads"
(($(grep -c 'nothing is recorded' "$output") == 1)) || fail "no line, or several, tell that nothing is recorded"
[[ ! -e $file ]] || fail "a program of several threads was recorded"
run_job 100 2 --mca btl lfc --mca coll_lfc_persistent "record:$scratch/no/such" mpi_ring
job_is_ok "a file that cannot be written"
(($(grep -c 'cannot be written' "$output") == 1)) || fail "no line tells that the file cannot be written"
nothing_left
echo ok
