#!/usr/bin/env bash
# Nodes whose interfaces differ: in order, in number, by a bridge that each node has for itself, by family; and a
# firewall between them. Each time the right interfaces connect, or one line gives the cure; and nothing hangs.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

[[ $EUID == 0 ]] || { echo "the lab needs root"; exit 77; }
unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || { echo "namespaces are not permitted here"; exit 77; }
export LFC_LAB=interfaces$$
cables=() # processes
# eth0 starts the job; the tested traffic runs over eth1 and eth2.
"$tree/scripts/lab" up 2 --rails 3 >/dev/null
trap 'leave; kill "${cables[@]}" 2>/dev/null || true; "$tree/scripts/lab" down >/dev/null' EXIT

# For start_job: one rank to a node.
mpirun() { "$tree/scripts/lab" mpirun "${@/slot:OVERSUBSCRIBE/node:OVERSUBSCRIBE}"; }
node() { nsenter --net="/run/netns/lfc-$LFC_LAB-$1" "${@:2}"; }

# job NAME INTERFACES-OF-RANK-0 INTERFACES-OF-RANK-1 MPIRUN-ARGS...: a ring of two ranks
job() {
  # shellcheck disable=SC2016  # for the rank's shell
  start_job 2 --mca btl lfc --mca btl_lfc_verbose 1 --mca btl_lfc_stats 1 "${@:4}" bash -c \
    'names=("$1" "$2"); export OMPI_MCA_btl_lfc_interfaces=${names[OMPI_COMM_WORLD_RANK]}; shift 2; exec "$@"' \
    job "$2" "$3" mpi_ring
  end_job 60
  echo "$1: $seconds s"
}
well() { # well NAME INTERFACES INTERFACES ADDRESS...: the job must end well, and use these addresses and no others
  local address
  job "$1" "$2" "$3" --mca btl_lfc_connect_timeout 5 "${more[@]}"
  job_is_ok "$1"
  for address in "${@:4}"; do
    grep -aqE "connecting to \[?$address\]?:[0-9]+ of lfc-[01] from [^ ]+: .*" "$output" || fail "$1: no rank connects to $address"
  done
  (($(stat_of 0 rails_lost) + $(stat_of 1 rails_lost) == 0)) || fail "$1: a rail was lost"
  (($(stat_of 0 peers_broken) == 0)) || fail "$1: a peer was lost"
  nothing_left
}
more=()

well "opposite order" eth1,eth2 eth2,eth1 '10\.77\.1\.[12]' '10\.77\.2\.[12]'
well "a subnet that one node has" eth1,eth2 eth2 '10\.77\.2\.[12]'
grep -aq 'rail eth1 to node lfc-[01] is left out' "$output" || fail "eth1 is not reported as left out"

for i in 0 1; do
  node $i ip link add virbr0 type veth peer name virbr0x
  node $i ip addr add 192.168.122.1/24 dev virbr0
  node $i ip link set virbr0x up
  node $i ip link set virbr0 up
done
well "a bridge of its own in front on one node" eth1 virbr0,eth1 '10\.77\.1\.[12]'
well "a bridge of its own in front on both" virbr0,eth1 virbr0,eth1 '10\.77\.1\.[12]'
grep -aq 'rail virbr0 to node lfc-[01] is left out.*192\.168\.122\.1' "$output" || fail "virbr0 is not reported as left out"
well "nothing named" ^eth0 ^eth0,eth2 '10\.77\.1\.[12]'

for i in 0 1; do
  node $i ip addr flush dev eth1
  node $i ip addr add "192.168.$((5 + i)).1/24" dev eth1
  node $i ip addr add "10.77.1.$((i + 1))/24" dev eth1
done
well "a first address that leads nowhere" eth1 eth1 '10\.77\.1\.[12]'

for i in 0 1; do
  node $i sh -c 'echo 0 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6'
  node $i ip addr add "fd77::$((i + 1))/64" dev eth1 nodad
done
well "IPv6 only" eth1:6 eth1:6 'fd77::[12]'
well "IPv4 on one, both on the other" eth1:4 eth1 '10\.77\.1\.[12]'
well "IPv6 on one, both on the other" eth1 eth1:6 'fd77::[12]'

# The devices eth1 and eth2 are of type veth and report 10 Gbit/s.
speed() { # speed DEVICE MBIT/S SUBNET: makes a device that reports this speed, in 10.77.SUBNET.0/24
  local said line=
  exec {said}< <(exec "$tree/tests/fault/cable.py" "$1" "$2" "lfc-$LFC_LAB-0" "10.77.$3.1/24" "lfc-$LFC_LAB-1" "10.77.$3.2/24" 2>&1)
  cables+=($!)
  read -r -t 10 -u "$said" line || true
  [[ $line == up ]] || fail "no interface of $2 Mbit/s: $line"
}
leads() { # leads ADDRESS
  grep -aqE "connecting to $1:[0-9]+ of .*, leads" "$output" || fail "it is not $1 that leads"
}
if [[ -w /dev/net/tun ]]; then
  speed eth3 1000 3
  speed eth4 25000 4
  well "1 and 25 Gbit/s" eth3:4,eth4:4 eth4:4,eth3:4 '10\.77\.4\.[12]'
  leads '10\.77\.4\.[12]'
  ! grep -aq 'connecting to 10\.77\.3' "$output" || fail "1 Gbit/s is used beside 25"
  grep -aq 'rail eth3 to node lfc-[01] is left out: to rank [01], where .*: with 1000 Mbit/s it is slower than a quarter of the best, 25000 Mbit/s' "$output" ||
    fail "1 Gbit/s is not reported as left out"
  well "10 and 25 Gbit/s" eth1:4,eth4:4 eth1:4,eth4:4 '10\.77\.1\.[12]' '10\.77\.4\.[12]'
  leads '10\.77\.4\.[12]'
  well "1 and 10 Gbit/s, none named" ^eth0,eth2,eth4 ^eth0,eth2,eth4 '10\.77\.1\.[12]'
  well "1 Gbit/s alone" eth3:4 eth3:4 '10\.77\.3\.[12]'
  kill "${cables[@]}"
else
  echo "speeds: skipped, as /dev/net/tun is not to be had here"
fi

if have_nft=$(command -v nft); then
  for i in 0 1; do
    node $i "$have_nft" -f - <<'N'
table inet wall {
  chain input {
    type filter hook input priority 0; policy accept;
    iifname "eth1" tcp flags & (syn | ack) == syn tcp dport != 5000-5003 drop
  }
}
N
  done
  job "a firewall" eth1:4 eth1:4 --mca btl_lfc_connect_timeout 2
  ((code != 0)) || fail "the job succeeds behind a firewall"
  grep -aqE 'lost process .*firewall\? LFC listens on 10\.77\.1\.[12]:[0-9]+' "$output" || fail "the firewall is not reported"
  nothing_left
  more=(--mca btl_lfc_ports 5000-5003)
  well "a firewall that lets a range of ports pass" eth1:4 eth1:4 '10\.77\.1\.[12]'
  grep -aqE 'connecting to 10\.77\.1\.[12]:500[0-3] of' "$output" || fail "the ports are others"
else
  echo "a firewall: skipped, as there is no nft (scripts/setup lab)"
fi
echo ok
