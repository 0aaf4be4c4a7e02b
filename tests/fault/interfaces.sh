#!/usr/bin/env bash
# Hosts whose interfaces differ: in order, in number, by a bridge that each host has for itself, by family; and a firewall
# between them. Each time the right interfaces find each other, or one line says what to do; and nothing hangs.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

[[ $EUID == 0 ]] || { echo "the lab needs root"; exit 77; }
unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || { echo "namespaces are not permitted here"; exit 77; }
export LFC_LAB=interfaces$$
# eth0 starts the job; what is tested runs over eth1 and eth2.
"$tree/scripts/lab" up 2 --rails 3 >/dev/null
trap 'leave; "$tree/scripts/lab" down >/dev/null' EXIT

# For start_job: one rank to a host.
mpirun() { "$tree/scripts/lab" mpirun "${@/slot:OVERSUBSCRIBE/node:OVERSUBSCRIBE}"; }
host() { nsenter --net="/run/netns/lfc-$LFC_LAB-$1" "${@:2}"; }

# job NAME INTERFACES-OF-RANK-0 INTERFACES-OF-RANK-1 MPIRUN-ARGS...: a ring of two ranks
job() {
  # shellcheck disable=SC2016  # for the rank's shell
  start_job 2 --mca btl lfc --mca btl_lfc_verbose 1 --mca btl_lfc_stats 1 "${@:4}" bash -c \
    'names=("$1" "$2"); export OMPI_MCA_btl_lfc_interfaces=${names[OMPI_COMM_WORLD_RANK]}; shift 2; exec "$@"' \
    job "$2" "$3" mpi_ring
  end_job 30
  echo "$1: $seconds s"
}
well() { # well NAME INTERFACES INTERFACES ADDRESS...: it does well, and all these are talked to, and no others
  local address
  job "$1" "$2" "$3" --mca btl_lfc_connect_timeout 5 "${more[@]}"
  job_is_ok "$1"
  for address in "${@:4}"; do
    grep -aqE "connecting to \[?$address\]?:[0-9]+ of lfc-[01] from [^ ]+: .*" "$output" || fail "$1: nobody talks to $address"
  done
  (($(stat_of 0 rails_lost) + $(stat_of 1 rails_lost) == 0)) || fail "$1: a rail was lost"
  (($(stat_of 0 peers_broken) == 0)) || fail "$1: a peer was lost"
  nothing_left
}
more=()

well "opposite order" eth1,eth2 eth2,eth1 '10\.77\.1\.[12]' '10\.77\.2\.[12]'
well "a subnet that one host has" eth1,eth2 eth2 '10\.77\.2\.[12]'
grep -aq 'rail eth1 to process .* is left out' "$output" || fail "nobody says that eth1 is left out"

for i in 0 1; do
  host $i ip link add virbr0 type veth peer name virbr0x
  host $i ip addr add 192.168.122.1/24 dev virbr0
  host $i ip link set virbr0x up
  host $i ip link set virbr0 up
done
well "a bridge of its own in front on one host" eth1 virbr0,eth1 '10\.77\.1\.[12]'
well "a bridge of its own in front on both" virbr0,eth1 virbr0,eth1 '10\.77\.1\.[12]'
grep -aq 'rail virbr0 to process .* is left out.*192\.168\.122\.1' "$output" || fail "nobody says that virbr0 is left out"
well "nothing named" ^eth0 ^eth0,eth2 '10\.77\.1\.[12]'

for i in 0 1; do
  host $i sh -c 'echo 0 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6'
  host $i ip addr add "fd77::$((i + 1))/64" dev eth1 nodad
done
well "IPv6 only" eth1:6 eth1:6 'fd77::[12]'
well "IPv4 on one, both on the other" eth1:4 eth1 '10\.77\.1\.[12]'
well "IPv6 on one, both on the other" eth1 eth1:6 'fd77::[12]'

if have_nft=$(command -v nft); then
  for i in 0 1; do
    host $i "$have_nft" -f - <<'N'
table inet wall {
  chain input {
    type filter hook input priority 0; policy accept;
    iifname "eth1" tcp flags & (syn | ack) == syn tcp dport != 5000-5003 drop
  }
}
N
  done
  job "a firewall" eth1:4 eth1:4 --mca btl_lfc_connect_timeout 2
  ((code != 0)) || fail "the job says that it did well behind a firewall"
  grep -aqE 'lost process .*firewall\? LFC listens on 10\.77\.1\.[12]:[0-9]+' "$output" || fail "no line tells of the firewall"
  nothing_left
  more=(--mca btl_lfc_ports 5000-5003)
  well "a firewall that lets a range of ports pass" eth1:4 eth1:4 '10\.77\.1\.[12]:500[0-3] of lfc-[01] from|10\.77\.1\.[12]'
fi
echo ok
