#!/usr/bin/env bash
# Requests go through channels if the parameters request it, and only where that is permitted. The test
# reads the counters that each rank prints at its end.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

of_channels() { # of_channels RANK KEY: prints a counter of this rank; nothing if it has no channels
  sed -n "s/^lfc-channels rank=$1 .*\\b$2=\\([0-9]*\\).*/\\1/p" "$output"
}

said=(--mca btl lfc --mca coll_lfc_stats 1)
bind=("${said[@]}" --mca coll_lfc_channels bind)
run_job 100 2 "${bind[@]}" mpi_persistent_channels
job_is_ok "random programs on channels"
for rank in 0 1; do
  (($(of_channels "$rank" sent) > 1000)) || fail "rank $rank sent next to nothing on channels"
  (($(of_channels "$rank" here) > 1000)) || fail "the requests of rank $rank took next to nothing from channels"
  (($(of_channels "$rank" given) > 100)) || fail "ob1 was given next to nothing at rank $rank"
  (($(of_channels "$rank" here) + $(of_channels "$rank" given) == $(of_channels $((1 - rank)) sent))) ||
    fail "rank $rank received another number of messages than were sent to it"
done
run_job 100 2 "${said[@]}" mpi_persistent_channels --programs 2
job_is_ok "the same without"
[[ -z $(of_channels 0 sent) ]] || fail "there are channels although none were requested"
run_job 100 2 "${bind[@]}" mpi_threads
job_is_ok "several threads"
[[ -z $(of_channels 0 sent) ]] || fail "there are channels in a program with several threads"
run_job 100 2 "${bind[@]}" --mca btl_lfc_links loop,tcp mpi_persistent_channels --programs 2
job_is_ok "the same over tcp"
[[ $(of_channels 0 sent) == 0 ]] || fail "there is a channel over tcp"
# An MPI that goes on after faults (from Open MPI 5.0 on) ends the requests for ranks that failed.
if mpirun --version | grep -q ' 5\.'; then
  run_job 100 2 "${bind[@]}" --mca coll_lfc_verbose 1 --with-ft ulfm mpi_persistent_channels --programs 2
  job_is_ok "the same, with fault tolerance"
  [[ -z $(of_channels 0 sent) ]] || fail "there are channels with fault tolerance"
  grep -q 'they need ob1, one thread, and mpi_ft_enable 0' "$output" || fail "the reason for no channels is not reported"
fi
# Messages by vader and frames of channels would overtake each other.
run_job 100 2 --mca coll_lfc_stats 1 --mca coll_lfc_channels bind \
  --mca btl lfc,vader,self --mca osc neon mpi_persistent_channels --window --programs 8
job_is_ok "the same over another BTL, among processes whose windows are LFC's"
[[ $(of_channels 0 sent) == 0 ]] || fail "there is a channel beside messages of another BTL"
# Ordinary messages of the keys of a plan.
planned=("${said[@]}" --mca coll_lfc_channels "plan:$tree/tests/mpi/every.plan")
run_job 100 2 "${planned[@]}" mpi_pt2pt_sizes
job_is_ok "ordinary messages on channels"
for rank in 0 1; do
  (($(of_channels "$rank" sent) > 100 && $(of_channels "$rank" here) > 100)) || fail "rank $rank used next to no channel"
done
# A plan for something else changes nothing, and one line has the reason.
printf 'lfc-plan version=2 ranks=7 program=mpi_ring digest=any\nopen every\n' >"$scratch/plan"
for file in "$scratch/plan" "$scratch/none"; do
  run_job 100 2 "${said[@]}" --mca coll_lfc_channels "plan:$file" mpi_ring
  job_is_ok "a plan that is of no use: $file"
  (($(grep -c "coll_lfc_channels plan:$file: " "$output") == 1)) || fail "the number of lines about $file, which is not used, is not 1"
  [[ -z $(of_channels 0 sent) ]] || fail "there are channels without a plan"
done
grep -q 'No such file' "$output" || fail "the line does not report that there is no such file"
nothing_left
echo ok
