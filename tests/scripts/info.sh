#!/usr/bin/env bash
# lfc-info tells what a job would do: each kind of link with its reason, the interfaces, the policy, and a wrong word is refused.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
info=$LFC_BUILD/default/bin/lfc-info
unset OMPI_MCA_btl_lfc_interfaces OMPI_MCA_btl_lfc_provider

expect 0 '^LFC [0-9.]+, built for Open MPI [45]\.[01]$' "$info"
for link in loop shm; do
  grep -qE "^  $link +works \(by default\): " <<<"$output" || fail "$link is not told: $output"
done
grep -qE '^  tcp +(works|not here) \(by default\): ' <<<"$output" || fail "tcp is not told: $output"
grep -qE '^  single copy +(permitted|not permitted: )' <<<"$output" || fail "the kernel's permission is not told: $output"
grep -qE '^  shm +up to 48 KiB: at once, .* 2 copies' <<<"$output" || fail "the way of a message is not told: $output"

# What it says of policy `auto` is what a job of so many ranks does.
for ranks in 1 4; do
  expect 0 "^  $ranks ranks? +auto takes (single|floating): " "$info" --ranks $ranks
  policy=$(sed -n "s/^  $ranks ranks* *auto takes \([a-z]*\): .*/\1/p" <<<"$output")
  expect 0 "policy $policy \(auto: " mpirun -n $ranks --map-by slot:OVERSUBSCRIBE --mca btl lfc --mca btl_lfc_verbose 1 \
    "$LFC_BUILD/default/tests/mpi/mpi_ring"
done

# Parameters of the environment count, and what is wrong with them is said in a job's words.
expect 0 "^  tcp +not here \(by default\): interfaces: .*nonsense" env OMPI_MCA_btl_lfc_interfaces=nonsense "$info"
expect 2 "lfc-info: '--nonsense'" "$info" --nonsense
expect 2 "lfc-info: '0'" "$info" --ranks 0
expect 2 "lfc-info: '--ranks'" "$info" --ranks
expect 0 '^lfc-info [0-9.]+$' "$info" --version
echo ok
