#!/usr/bin/env bash
# The guests with RDMA devices: life cycle, environment and result of a command, limits, and error messages.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

box() { "$tree/scripts/rdma-box" "$@"; }
export LFC_RDMA_BOX=bt$$

# --- without a guest
expect 0 'scripts/rdma-box up' box --help
for command in up run mpirun pair status down; do expect 0 "scripts/rdma-box $command" box "$command" --help; done
expect 2 'scripts/rdma-box up' box
expect 1 "unknown command 'upp'" box upp
expect 1 "NODES must be 1 or 2, not '3'" box up 3
expect 1 "must be 1 to 4, not '0'" box up --rails 0
expect 1 'lacks its value' box up --rails
expect 1 'unknown option' box up --frobnicate
expect 1 'run what' box run
expect 1 'needs a number' box run --limit soon true
expect 1 'is 1 to 20 of' env LFC_RDMA_BOX=../../etc "$tree/scripts/rdma-box" status
expect 1 'nothing is up' box status
expect 0 'nothing is up' box down
# A guest that cannot start reports that, with a separate exit code.
mkdir "$scratch/empty"
ln -s "$(command -v bash)" "$(command -v dirname)" "$(command -v readlink)" "$(command -v basename)" \
  "$(command -v uname)" "$scratch/empty"
expect 77 "is missing: run scripts/setup rdma" env PATH="$scratch/empty" "$(command -v bash)" -c \
  "$(sed '/^PATH=/d' "$tree/scripts/rdma-box" | sed "s#\$(readlink -f \"\$0\")#$tree/scripts/rdma-box#")" rdma-box up

# --- one node
trap 'box down >/dev/null; rm -rf "$scratch"' EXIT
status=0
box up >"$scratch/up" 2>&1 || status=$?
cat "$scratch/up"
((status != 77)) || exit 77
((status == 0)) || fail "up ended with $status"
expect 0 'already up: 1 node' box up
expect 0 'PORT_ACTIVE' box run ibv_devinfo
expect 0 '^::ffff:10.79.0.1$|0000:0000:0000:0000:0000:ffff:0a4f:0001' box run cat /sys/class/infiniband/rxe0/ports/1/gids/1
expect 0 "^$PWD two words rdma-0$" env GREETING='two words' "$tree/scripts/rdma-box" run bash -c 'echo $PWD $GREETING $(hostname)'
expect 7 'said' box run bash -c 'echo said >&2; exit 7'
expect 143 '' box run bash -c 'kill -TERM $$'
expect 1 "no node 1" box run --node 1 true
[[ $(box run bash -c 'echo to one; echo to other >&2' 2>/dev/null) == 'to one' ]] || fail "the two outputs are mixed"
expect 1 'Read-only' box run bash -c "echo >'$tree/README.md'"
box run bash -c 'echo >/root/of-the-guest'
[[ ! -e /root/of-the-guest ]] || fail "a guest has written here"
# A program that is built while the guest runs.
fresh=$LFC_BUILD/rdma_box.$$
for word in first second; do
  printf '#!/bin/sh\necho %s\n' "$word" >"$fresh.new"
  chmod +x "$fresh.new"
  mv "$fresh.new" "$fresh"
  expect 0 "^$word$" box run "$fresh"
done
rm "$fresh"
expect 0 '^0 rdma-0$' box mpirun -n 2 bash -c 'echo $OMPI_COMM_WORLD_RANK $(hostname)'
expect 3 '' box mpirun -n 2 bash -c 'exit 3'
expect 0 '^1000 iters in' box pair --limit 60 ibv_rc_pingpong -d rxe0 -g 1 -e
expect 124 'time is up: not ended after 2 s' box run --limit 2 bash -c 'sleep 1000; true'
grep -q 'sleep 1000' <<<"$output" || fail "the processes were not shown: $output"
# A job does not outlive its caller.
"$tree/scripts/rdma-box" run sleep 2000 &
sleep 3
kill -KILL $!
[[ ! $(box run pgrep -fx 'sleep 2000') ]] || fail "a job has outlived its caller"
# A guest that is killed.
"$tree/scripts/rdma-box" run sleep 1000 >"$scratch/dies" 2>&1 &
sleep 3
kill -KILL "$(</run/lfc-rdma/"$LFC_RDMA_BOX"/0.pid)"
status=0
wait $! || status=$?
((status == 125)) || fail "a guest's end gives $status"
grep -q 'node 0 has ended; its console:' "$scratch/dies" || fail "the end of a guest is not reported: $(<"$scratch/dies")"
expect 1 'rdma-0 DOWN' box status
expect 0 down box down
echo "one node: as it must be"

# --- two
expect 0 'up: 2 node' box up 2 --rails 2
expect 0 '^1 rdma-1$' box mpirun --limit 60 bash -c 'echo $OMPI_COMM_WORLD_RANK $(hostname)'
expect 0 '^100 iters in' box pair --limit 120 ibv_rc_pingpong -d rxe1 -g 1 -e -n 100
expect 0 '' box run --node 1 ip link set eth0 down
expect 1 'port [0-9]+ state DOWN|state DOWN' box run --node 1 bash -c 'rdma link show rxe0/1; exit 1'
expect 0 '^1 rdma-1$' box mpirun --limit 60 bash -c 'echo $OMPI_COMM_WORLD_RANK $(hostname)' # not cut
expect 0 down box down
expect 0 '^rdma-0$' box run hostname
expect 1 'nothing is up' box status
echo "two nodes: as they must be"
echo ok
