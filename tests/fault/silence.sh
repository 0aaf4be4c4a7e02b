#!/usr/bin/env bash
# A host that vanishes while data is on its way is detected within btl_lfc_peer_timeout, and the job ends with a
# line that names both ends. With --long the timeout is 10 s. Before that, a rank that is stopped for 90 s with full
# sockets is not lost. (A unit test of the link tcp also checks a stop beyond the timeout.)
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

[[ $EUID == 0 ]] || { echo "the lab needs root"; exit 77; }
unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || { echo "namespaces are not permitted here"; exit 77; }
timeout=1 stopped=0
[[ ${1-} != --long ]] || timeout=10 stopped=90
export LFC_LAB=silence$$
# eth0 starts the job; the tested traffic runs over eth1.
"$tree/scripts/lab" up 2 --rails 2 --rate 1gbit >/dev/null
trap 'leave; "$tree/scripts/lab" down >/dev/null' EXIT

# For start_job: one rank to a host.
mpirun() { "$tree/scripts/lab" mpirun "${@/slot:OVERSUBSCRIBE/node:OVERSUBSCRIBE}"; }

# A stream that stands half way until `go` exists.
begin_stream() {
  rm -f "$scratch/go"
  start_job 2 --mca btl lfc --mca btl_lfc_interfaces eth1 --mca btl_lfc_peer_timeout "$timeout" \
    mpi_stream --mebibytes 100 --limit $((200 + stopped)) --until "$scratch/go"
  await_line 'stream: half' || fail "the stream did not get half way"
}

if ((stopped > 0)); then
  begin_stream
  pid=$(pid_of_rank 1)
  kill -STOP "$pid" || fail "there is no rank to stop"
  touch "$scratch/go"
  sleep "$stopped"
  kill -0 "$job_pid" 2>/dev/null || fail "the job ended while a rank was stopped"
  kill -CONT "$pid"
  end_job 60
  job_is_ok "with rank 1 stopped for $stopped s"
  nothing_left
  echo "stopped for $stopped s: done after $seconds s"
fi

begin_stream
# The receiver has nothing in flight, so its kernel's keep-alive would detect the loss; the sender depends on the
# link alone.
pid=$(pid_of_rank 1)
nsenter --net="/run/netns/lfc-$LFC_LAB-switch" ip link set p1r1 down
kill -STOP "$pid" || fail "there is no rank to stop"
from=$SECONDS
# The kernel itself gives up after a quarter of an hour.
end_job $((timeout + 120))
((code != 0)) || fail "the job succeeds although the link is cut"
# Only the side that connected knows a port.
grep -aEq 'lost process .*10\.77\.1\.[12](:[0-9]+)? of [^ ]+ from 10\.77\.1\.[12]: .*acknowledged nothing for [0-9.]+ s' "$output" ||
  fail "the node without replies is not reported"
! grep -aE 'lost process .*: Connection timed out' "$output" || fail "a line has only the kernel's error"
nothing_left
echo "cable cut: the job ended $((SECONDS - from)) s later"
echo ok
