#!/usr/bin/env bash
# The cluster-in-a-box: its hosts act as separate hosts, are isolated, and leave nothing behind or visible outside.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

lab() { "$tree/scripts/lab" "$@"; }
export LFC_LAB=lt$$
readonly state=/run/lfc-lab/$LFC_LAB

# --- without root
expect 0 'scripts/lab up HOSTS' lab --help
for command in up mpirun exec run status down; do expect 0 "scripts/lab $command" lab "$command" --help; done
expect 2 'scripts/lab up HOSTS' lab
expect 1 "unknown command 'upp'" lab upp
expect 1 "HOSTS must be 1 to 64, not '0'" lab up 0
expect 1 "HOSTS must be 1 to 64, not ''" lab up
expect 1 "must be 1 to 8, not '9'" lab up 2 --rails 9
expect 1 'give it as a number with kbit, mbit or gbit' lab up 2 --rate fast
expect 1 'give it in percent below 100' lab up 2 --loss 100%
expect 1 'lacks its value' lab up 2 --loss
expect 1 'unknown option' lab up 2 --frobnicate
expect 1 "is 1 to 20 of" env LFC_LAB=../../etc "$tree/scripts/lab" status
[[ $EUID == 0 ]] || { echo "the rest needs root"; exit 77; }
expect 1 'need root' as_nobody "$tree/scripts/lab" up 2
unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || { echo "namespaces are not permitted here"; exit 77; }

trap 'lab down >/dev/null; rm -rf "$scratch"' EXIT
expect 1 'no lab is up' lab exec 0 true
expect 1 'nothing is up' lab status
expect 0 'nothing is up' lab down

# Nothing appears on this machine's own network; the lab's interfaces are elsewhere.
before=$(ip -br addr)
expect 0 'up: 3 host' lab up 3 --rails 2
[[ $(ip -br addr) == "$before" ]] || fail "the lab shows on this machine's network: $(ip -br addr)"
expect 0 'already up' lab up 3 --rails 2
expect 0 'lfc-2 up eth0=10.77.0.3 eth1=10.77.1.3 processes=0' lab status

# Every host has its own name, addresses and processes, this directory and this environment.
expect 0 '^lfc-1$' lab exec 1 hostname
expect 0 '10\.77\.1\.2/24' lab exec 1 ip -br addr show dev eth1
expect 0 "^$PWD hello$" env GREETING=hello "$tree/scripts/lab" exec 1 bash -c 'echo $PWD $GREETING'
expect 7 '' lab exec 1 bash -c 'exit 7'
expect 1 "no host '3'" lab exec 3 true
expect 1 "no host 'x'" lab exec x true

# No connection to the outside: no route but to the rails themselves.
expect 0 '^10.77.0.0/24' lab exec 0 ip -4 route
if lab exec 0 ip route get 192.0.2.1 >/dev/null 2>&1; then fail "a host has a way out"; fi

# Isolation: each probe also runs within one host, as a control that it can succeed.
cc -O1 -o "$scratch/probe" "$tree/tests/scripts/cma_probe.c"
chmod 755 "$scratch"
lab exec 0 bash -c 'echo secret >/dev/shm/lfc-lab-test'
expect 0 secret lab exec 0 cat /dev/shm/lfc-lab-test
expect 1 'No such file' lab exec 1 cat /dev/shm/lfc-lab-test
[[ ! -e /dev/shm/lfc-lab-test ]] || fail "/dev/shm of a host is this machine's"
lab exec 0 ipcmk -M 4096 >/dev/null
expect 0 '^1$' lab exec 0 bash -c 'ipcs -m | grep -c ^0x'
expect 1 '^0$' lab exec 1 bash -c 'ipcs -m | grep -c ^0x'
lab exec 0 "$scratch/probe" hold >"$scratch/holding" &
for ((i = 0; i < 1200; i++)); do
  grep -q holding "$scratch/holding" && break
  sleep 0.05
done
expect 0 '^found 1$' lab exec 0 "$scratch/probe" seek
expect 0 '^found 0$' lab exec 1 "$scratch/probe" seek
expect 0 'lfc-0 up .* processes=1$' lab status
expect 1 '' lab exec 1 pgrep -f 'probe hold'

# mpirun: one rank per host; more go round robin; the exit code of the program comes back.
expect 0 '^0 lfc-0$' lab mpirun bash -c 'echo $OMPI_COMM_WORLD_RANK $(hostname)'
for line in '1 lfc-1' '2 lfc-2'; do grep -qx "$line" <<<"$output" || fail "no '$line' in: $output"; done
expect 0 '^4 lfc-1$' lab mpirun -n 5 bash -c 'echo $OMPI_COMM_WORLD_RANK $(hostname)'
for line in '0 lfc-0' '2 lfc-2' '3 lfc-0'; do grep -qx "$line" <<<"$output" || fail "no '$line' in: $output"; done
expect 3 '' lab mpirun -n 2 bash -c 'exit 3'
expect 1 'the lab chooses the hosts' lab mpirun --host here true
expect 1 'mpirun what' lab mpirun
expect 0 'processes=1$' lab status # still only the one that holds

# down ends the processes in the lab.
expect 0 down lab down
wait
[[ ! -e $state ]] || fail "$state is still there"
[[ -z $(ip netns list | grep "lfc-$LFC_LAB-" || true) ]] || fail "namespaces are left"
[[ -z $(pgrep -f "$scratch/probe" || true) ]] || fail "a process has outlived its host"
[[ $(ip -br addr) == "$before" ]] || fail "down has changed this machine's network"
echo "isolation and life cycle: as they must be"

# A rate limit holds, in both directions: 1 MiB at 200 Mbit/s takes 42 ms, and longer on a busy machine.
mpicc -O2 -o "$scratch/pingpong" "$tree/perf/pingpong.c"
expect 0 '200mbit' lab up 2 --rate 200mbit
expect 0 '^ok$' timeout 600 "$tree/scripts/lab" mpirun --mca btl tcp,self "$scratch/pingpong" 0.1
rate=$(sed -n 's/^bandwidth.*MBps=\([0-9]*\).*/\1/p' <<<"$output")
((rate > 0 && rate <= 27)) || fail "200 Mbit/s let $rate MB/s pass"
# A loss rate holds as well: about 2 % of the packets sent are lost.
expect 0 '2% loss' lab up 2 --loss 2%
expect 0 'packets lost so far: 0$' lab status
expect 0 '^[0-9]+$' timeout 600 "$tree/scripts/lab" exec 0 bash -c '
  for ((i = 0; i < 2000; i++)); do echo >/dev/udp/10.77.0.2/9; done 2>/dev/null; cat /sys/class/net/eth0/statistics/tx_packets'
sent=$output
expect 0 'packets lost so far: ' lab status
lost=${output##*: }
((lost * 1000 >= sent * 5 && lost * 1000 <= sent * 40)) || fail "2% loss took $lost of $sent packets"
lab down
echo "rate and loss: as ordered"

# run: takes the lab down after the command, passes its exit code, also if it is interrupted, and even half-way up.
expect 1 'run what' lab run 2
expect 1 'no such command' lab run 2 -- frobnicate-this
expect 5 'lfc-1' lab run 2 -- bash -c "'$tree/scripts/lab' exec 1 hostname; exit 5"
[[ ! -e $state ]] || fail "run left its lab"
expect 0 '^lfc-1$' lab run 2 -- mpirun hostname
readonly nap=$((100000 + $$)) # seconds: a sleep that differs from those of other runs
cat >"$scratch/interrupt" <<P
"""interrupt SIGNAL SECONDS CMD...: send SIGNAL to CMD after SECONDS, or (0) once its sleep runs; its exit code."""
import signal, subprocess, sys, time
# A process started in the background ignores INT, and so would CMD.
child = subprocess.Popen(sys.argv[3:], start_new_session=True, stdin=subprocess.DEVNULL,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
wait = float(sys.argv[2])
time.sleep(wait)
while not wait and subprocess.run(["pgrep", "-fx", "sleep $nap"], stdout=subprocess.DEVNULL).returncode:
    if child.poll() is not None:
        break
    time.sleep(0.05)
child.send_signal(getattr(signal, "SIG" + sys.argv[1]))
try:
    sys.exit(child.wait(60))
except subprocess.TimeoutExpired:
    child.terminate()
    sys.exit("it did not end")
P
nothing_is_left() { # nothing_is_left AFTER
  [[ ! -e $state && -z $(ip netns list | grep "lfc-$LFC_LAB-" || true) ]] || fail "$1: the lab is still there"
  [[ -z $(pgrep -fx "sleep $nap" || true) ]] || fail "$1: its command still runs"
}
for signal in INT TERM HUP; do
  expect 130 '' python3 "$scratch/interrupt" "$signal" 0 "$tree/scripts/lab" run 2 -- exec 0 sleep "$nap"
  nothing_is_left "run and $signal"
done
half_way=0
for delay in 0.03 0.06 0.1 0.15 0.2 0.3; do
  status=0
  python3 "$scratch/interrupt" TERM "$delay" "$tree/scripts/lab" up 8 >/dev/null 2>&1 || status=$?
  ((status == 0)) || half_way=$((half_way + 1))
  ((status)) || lab down >/dev/null
  nothing_is_left "up, ended after $delay s"
done
((half_way)) || fail "no up was interrupted half-way"
echo "run and up: clean up after themselves"

# With --cores each host has processors of its own, if there are enough.
if lab down >/dev/null && output=$(lab up 1 --cores 2>&1); then
  expect 0 "^$(nproc)$" lab exec 0 nproc
  if (($(nproc) > 1)); then
    expect 0 'own processors' lab up "$(nproc)" --cores
    expect 0 '^1$' lab exec 1 nproc
  fi
  expect 1 "$(($(nproc) + 1)) hosts, but $(nproc) processor" lab up $(($(nproc) + 1)) --cores
  expect 1 'no lab is up' lab exec 0 true
  if compgen -G "/sys/fs/cgroup/*/lfc-$LFC_LAB-*"; then fail "a control group was left behind"; fi
  echo "own processors: each host has them"
elif ! grep -q "control group 'cpuset'" <<<"$output"; then
  fail "up --cores: $output"
else
  echo "not tried: $output"
fi
