#!/usr/bin/env bash
# Jobs that hang on purpose, each in another way: lfc-look names the culprit and the missing event.
#   hung.sh [MODE ...]     all, if none is named
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"
look=$LFC_BUILD/default/bin/lfc-look
hung=$LFC_BUILD/default/tests/fault/fault_hung

# explains MODE RANKS PATTERN MPIRUN-ARGS...: a verdict of the job matches the pattern, whole
explains() {
  local mode=$1 ranks=$2 pattern=$3 tries
  shift 3
  start_job "$ranks" --mca btl lfc --mca osc neon "$@" "$hung" "$mode"
  await_line hung || fail "$mode: the job has not begun to hang"
  [[ $mode != cable ]] || nsenter -t "$job_pid" -n ip link set lo down
  for ((tries = 0; tries < 200; ++tries)); do # until all of them are in their final wait
    sleep 0.1
    kill -0 "$job_pid" 2>/dev/null || fail "$mode: the job has ended"
    "$look" "$(pid_of_rank 0)" --wait 0.2 >"$scratch/seen" 2>&1 || true
    ! grep -qxE "verdict: $pattern" "$scratch/seen" || break
  done
  if ! grep -qxE "verdict: $pattern" "$scratch/seen"; then
    cat "$scratch/seen"
    fail "$mode: no verdict '$pattern'"
  fi
  # shellcheck disable=SC2046  # a list of numbers
  kill -KILL $(job_pids) 2>/dev/null || true
  wait "$job_pid" 2>/dev/null || true
  nothing_left
  echo "$mode: $(grep -xE "verdict: $pattern" "$scratch/seen" | sed -n 1p)"
}

away='has not called MPI for (at least )?[0-9.]+ s: it'
asleep="$away sleeps in [a-z_]*nanosleep"
shm=(--mca btl_lfc_links "loop,shm")

# shellcheck disable=SC2317  # each is called by its name
{
  hangs_receive() { explains receive 2 'ranks 0 and 1 wait inside MPI for a message that no rank has sent: a send or a receive is missing in the program'; }
  hangs_credit() {
    explains credit 2 "rank 0 waits for a credit of rank 1( \(.* wait\))?; rank 1 $asleep.*" "${shm[@]}" --mca btl_lfc_policy single \
      --mca btl_lfc_initial_window 4 --mca btl_lfc_max_window 4
  }
  hangs_ring() {
    explains ring 2 "rank 0 waits for room in the ring of rank 1( \(.* wait\))?; rank 1 has not called MPI .*: it computes.*" \
      "${shm[@]}" --mca btl_lfc_policy single --mca btl_lfc_shm_slots 16 --mca btl_lfc_initial_window 1024 --mca btl_lfc_max_window 1024
  }
  hangs_stopped() { explains stopped 2 "rank 0 waits for .* rank 1.*; rank 1 is stopped"; }
  hangs_cable() {
    explains cable 2 "rank 0 waits for an acknowledgement of [0-9]+ bytes from rank 1, .* to no avail: the cable is cut, .*" \
      --mca btl_lfc_links "loop,tcp" --mca btl_lfc_interfaces lfc0
  }
  hangs_outside() { explains outside 2 "rank 1 has not called MPI .*: it computes"; }
  hangs_lock() { explains lock 3 "rank 0 waits for the lock of a window at rank 2, which rank 1 holds; rank 1 $asleep"; }
  hangs_complete() { explains complete 2 "rank 0 waits for rank 1 to end its access to a window \(MPI_Win_complete\); rank 1 $asleep"; }
  hangs_thread() {
    explains thread 2 "rank 0 waits for LFC in rank 1 to answer .*; rank 1 $asleep, and LFC has no thread there \(policy single\)" \
      --mca btl_lfc_links "loop,tcp" --mca btl_lfc_policy single
  }
  hangs_collective() {
    explains collective 3 "ranks 0 and 1 wait for rank 2 to call the allreduce or barrier .*; rank 2 $asleep"
    grep -qE '^  communicator .*, kind allreduce or barrier, ' "$scratch/seen" || fail "the collective is not named: $(cat "$scratch/seen")"
  }
  hangs_buffer() { explains buffer 2 "rank 0 waits for rank 1 to fill the buffer announced to it with tag 7; rank 1 $asleep"; }
  hangs_ordered() { explains ordered 3 "ranks 0 and 1 wait for rank 2 to take ordered broadcasts, of which it has taken [0-9]+; rank 2 $asleep"; }
}
# A separate network in which everything is one node; its `lo` is the wire.
if [[ $EUID == 0 ]] && unshare --net true 2>/dev/null; then
  mpirun() {
    exec unshare --net bash -c 'ip link set lo up && ip link add lfc0 type veth peer name lfc1 &&
      ip addr add 10.81.0.1/24 dev lfc0 && ip link set lfc0 up && ip link set lfc1 up && exec mpirun "$@"' mpirun "$@"
  }
  all=(receive credit ring stopped cable outside lock complete thread collective buffer ordered)
else
  all=(receive credit ring stopped outside lock complete thread collective buffer ordered)
fi

for mode in "${@:-${all[@]}}"; do "hangs_$mode"; done
echo ok
