#!/usr/bin/env bash
# A rank is killed while another one waits for it in a one-sided call. mpirun runs with the option not to end the
# job then, so the others must detect the loss themselves. Each ends with a line that gives the reason, and none
# returns from its wait as if nothing had happened.
#
#   tests/fault/lost_member.sh [--all]      --all: also windows that are not mapped, over shared memory
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

ways=(fence post complete test lock unlock flush fetch rget announcement large-put notification)
# Mapped memory, where no frame may ever have gone to the victim; and frames.
cases=("loop,shm --allocate" "loop,tcp")
[[ ${1-} != --all ]] || cases+=("loop,shm")
reasons='lost process|MPI_ERR_OTHER|MPI_ERR_INTERN'

# mpirun's recovery does not always end when its ranks have ended; that is not tested here.
alone() { # alone LINKS WAY OPTIONS...
  local tries
  start_job 3 --enable-recovery --mca btl lfc --mca osc neon --mca btl_lfc_links "$1" neon_lost --wait "$2" "${@:3}"
  for ((tries = 0; tries < 600; ++tries)); do # it may be over before this loop has seen it
    [[ -z $(rank_pids) ]] || break
    kill -0 "$job_pid" 2>/dev/null || break
    ! grep -aqE "$reasons" "$output" || break
    sleep 0.1
  done
  for ((tries = 0; tries < 600; ++tries)); do
    [[ -n $(rank_pids) ]] || break
    sleep 0.1
  done
  ((tries < 600)) || { marked_show "$LFC_TEST_MARK"; fail "ranks are left waiting: $*"; }
  for ((tries = 0; tries < 20; ++tries)); do
    kill -0 "$job_pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$job_pid" 2>/dev/null || true
  end_job 60
  ! grep -aq -e 'came back' -e '^HANG' "$output" || fail "a rank did not notice: $*"
  grep -aqE "$reasons" "$output" || fail "the reason for the end of the job is not reported: $*"
  nothing_left
  echo "waiting in $*: over after $seconds s: $(grep -aom1 -E "$reasons" "$output")"
}

for case in "${cases[@]}"; do
  read -ra words <<<"$case"
  for way in "${ways[@]}"; do alone "${words[0]}" "$way" "${words[@]:1}"; done
done
# The normal case: mpirun ends the remaining ranks.
start_job 3 --mca btl lfc --mca osc neon neon_lost --wait lock --allocate
end_job 60
((code != 0)) || fail "a rank was killed, but the job ended without an error"
nothing_left
echo ok
