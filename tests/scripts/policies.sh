#!/usr/bin/env bash
# Every policy: the same programs give the same results, and a computing rank is served if the policy promises it. A
# line reports which policy was chosen, and why.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"

programs=$LFC_BUILD/default/tests/mpi
base=(--mca btl lfc)
osc=(--mca osc rdma --mca osc_rdma_btls lfc)

run() { timeout 600 mpirun --map-by slot:OVERSUBSCRIBE "${base[@]}" "$@"; }
fail() {
  echo "FAIL: $*"
  exit 1
}

for program in random_traffic order onesided collectives threads; do
  for ranks in 2 4; do
    run -n $ranks --mca btl_lfc_policy floating "$programs/mpi_$program" | tail -n 1 | grep -qx ok ||
      fail "$program on $ranks ranks under floating"
  done
  run -n 2 --mca btl_lfc_policy floating --mca btl_lfc_upcalls 1 "$programs/mpi_$program" | tail -n 1 | grep -qx ok ||
    fail "$program under floating with upcalls"
done
# With one rank a core may be to spare; where it is not, this is floating once more.
for idle in spin yield backoff block; do
  run -n 1 --mca btl_lfc_policy fixed --mca btl_lfc_idle $idle "$programs/mpi_loopback" | tail -n 1 | grep -qx ok ||
    fail "loopback under fixed, idle $idle"
done

# A computing rank is served if a thread is promised. A rank without a thread is not served, and the program detects
# the difference.
run -n 2 "${osc[@]}" --mca btl_lfc_policy floating "$programs/mpi_autonomy" | tee /dev/stderr | tail -n 1 | grep -qx ok ||
  fail "a computing rank is not served under floating"
run -n 2 "${osc[@]}" --mca btl_lfc_policy floating --mca btl_lfc_links loop,tcp "$programs/mpi_autonomy" | tail -n 1 |
  grep -qx ok || fail "a computing rank is not served under floating over tcp"
if run -n 2 "${osc[@]}" --mca btl_lfc_policy single "$programs/mpi_autonomy" >/dev/null 2>&1; then
  fail "a computing rank is served under single: the program sees no difference"
fi

# Nothing arrives: the thread of a rank that computes is not switched to.
said=$(run -n 2 --mca btl_lfc_policy floating "$programs/mpi_computing" --seconds 4 2>&1) || fail "an idle NI thread: $said"
grep -q ni_switches <<<"$said" || fail "no NI thread: $said"
# A polling rank is left alone, unless the machine takes it off its processor.
run -n 2 --mca btl_lfc_policy floating "$programs/mpi_polling" --messages 100000 --most 1000 | tee /dev/stderr | tail -n 1 |
  grep -qx ok || fail "ranks that poll are interfered with"

# The messages about the policy.
cores=$(nproc)
said=$(run -n $((cores + 1)) --mca btl_lfc_verbose 1 "$programs/mpi_ring" 2>&1)
grep -q "policy single (auto: $((cores + 1)) processes on $cores processor" <<<"$said" || fail "auto, too many ranks: $said"
said=$(run -n $((cores + 1)) --mca btl_lfc_policy fixed "$programs/mpi_ring" 2>&1)
grep -q "policy fixed refused (.*), floating instead" <<<"$said" || fail "fixed is not refused: $said"
if ((cores > 1)); then
  said=$(run -n 1 --bind-to none --mca btl_lfc_policy fixed --mca btl_lfc_verbose 1 "$programs/mpi_loopback" 2>&1)
  grep -q "policy fixed (" <<<"$said" || fail "fixed is refused, although a core is to spare: $said"
fi
said=$(run -n 1 --mca btl_lfc_policy fast "$programs/mpi_ring" 2>&1) && fail "a policy that there is not was taken"
grep -q "btl_lfc_policy: 'fast' (accepted: single, fixed, floating or auto)" <<<"$said" || fail "$said"
echo ok
