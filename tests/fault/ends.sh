#!/usr/bin/env bash
# The ways in which a process can end, in each phase of MPI: a job over LFC has the exit status that it has over Open
# MPI's own transports, and leaves nothing behind.
#   ends.sh [--all]     --all: each way in each phase
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"
ulimit -c 0
ends=$LFC_BUILD/default/tests/fault/fault_ends
shared_memory=vader
[[ ! $(mpirun --version) =~ \ 5\. ]] || shared_memory=sm
stock=(--mca btl "$shared_memory,self" --mca coll ^lfc --mca osc ^neon)
lfc=(--mca btl lfc --mca osc neon)

inherited() { sed -n 's/.*\<inherited \([0-9]*\)$/\1/p' "$output" | sort -n | tail -n 1; }

# job RANKS MPIRUN-ARGS...: sets code and files (inherited by exec; the most of any rank)
job() {
  run_job 60 "$@"
  files=$(inherited)
  nothing_left
}

# like_stock PHASE END: under both policies
like_stock() {
  local expected policy stock_files
  job 2 "${stock[@]}" "$ends" "$@"
  expected=$code stock_files=$files
  for policy in single floating; do
    job 2 "${lfc[@]}" --mca btl_lfc_policy $policy "$ends" "$@"
    ((code == expected)) || fail "$*, policy $policy: exit status $code, and $expected without LFC"
    ((${files:-0} <= ${stock_files:-0})) || fail "$*, policy $policy: a program inherits $files files, and $stock_files without LFC"
  done
  echo "$*: exit status $expected"
}

# ends_well RANKS MPIRUN-ARGS...: rank 0 prints ok after MPI_Finalize
ends_well() {
  job "$1" "${@:2}"
  job_is_ok "${*:2}"
}

for arguments in "children" "running static" "running atexit"; do
  # shellcheck disable=SC2086  # several words
  {
    ends_well 2 "${stock[@]}" "$ends" $arguments
    for policy in single floating auto; do ends_well 2 "${lfc[@]}" --mca btl_lfc_policy $policy "$ends" $arguments; done
    ends_well 2 "${lfc[@]}" --mca btl_lfc_links loop,tcp "$ends" $arguments
    # Alone, so that a processor is to spare for the helper thread.
    ends_well 1 "${lfc[@]}" --mca btl_lfc_policy fixed "$ends" $arguments
  }
  echo "$arguments: ok"
done

if [[ ${1-} == --all ]]; then
  for phase in before running epoch collective finalized; do
    for end in exit _exit abort throw exec pthread_exit; do like_stock $phase $end; done
  done
else
  like_stock running exit
  like_stock epoch exit
  like_stock collective exit
  like_stock finalized exit
  like_stock epoch _exit
  like_stock running abort
  like_stock collective throw
  like_stock epoch exec
  like_stock running pthread_exit
  like_stock finalized pthread_exit
fi
echo ok
