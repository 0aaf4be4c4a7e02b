#!/usr/bin/env bash
# Ranks of one node to which the kernel refuses shared memory or copies between processes, from the start or after
# MPI_Init, all of them or one: the job goes on another way, no process is taken for dead, and a line names the reason.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

refuse=$LFC_TESTS_BIN/../refuse
refused=$LFC_TESTS_BIN/../fault/fault_refused
"$refuse" memfd_create true || { (($? == 77)) && echo "this kernel has no seccomp" && exit 77; }

# goes_on RANKS TEXT COMMAND...: the job ends well, and its output contains the text
goes_on() {
  run_job 100 "$1" --mca btl lfc --mca osc neon "${@:3}"
  job_is_ok "${*:3}"
  [[ -z $2 ]] || grep -qF -- "$2" "$output" || fail "'${*:3}' did not print '$2'"
  ! grep -q 'lost process\|has ended\|has lost a rank' "$output" || fail "'${*:3}': a running process was taken for dead"
  echo "${*:3}: ok"
}

copies='may not read each other'
goes_on 2 "$copies" "$refused" hide unshared
goes_on 3 "$copies" "$refused" later process_vm_readv,process_vm_writev shared
goes_on 2 'F_GET_SEALS' "$refuse" --rank 0 F_GET_SEALS "$refused" apart shared
goes_on 3 'MPI_Win_allocate through the link' "$refuse" --rank 0 memfd_create "$refused" apart unshared
goes_on 2 'MPI_Win_allocate through the link' "$refuse" memfd_create "$refused" apart unshared
goes_on 2 '' "$refuse" process_vm_readv,process_vm_writev,pidfd_open "$refused" shared
goes_on 2 'File too large (ulimit -f)' bash -c 'ulimit -f 100; exec "$@"' bash "$refused" apart unshared
# A refusal at the start names no parameter.
run_job 60 2 --mca btl lfc,vader,self --mca btl_lfc_policy floating "$refuse" eventfd2 "$LFC_TESTS_BIN/mpi_ring"
job_is_ok "eventfd2 refused"
grep -aqx 'btl lfc: declines: eventfd: Operation not permitted' "$output" || fail "the line has another reason"
nothing_left
echo ok
