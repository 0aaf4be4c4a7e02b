#!/usr/bin/env bash
# world.sh FAMILY COUNT [random]: a family of tests in small worlds (common/base/small_world.hpp): those of seeds 0,
# where all limits are the smallest, to COUNT - 1, and on request one drawn at random. A world that fails is run
# again with: world.sh FAMILY seed SEED
#   sim      random traffic, remote memory, multicast and ordered broadcast in the simulator, which replays exactly
#   mpi, coll, rma, neon, ordered    MPI programs of tests/*, under the policy and over the link that the seed draws
#
# A world in which no fault fires is invalid and also fails. LFC_BUILD: the folder of the build `small`.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
small=${LFC_BUILD:-$tree/build}/small
output=$(mktemp "${TMPDIR:-/tmp}/small.XXXXXX")
trap 'rm -f "$output"' EXIT

simulator() { # simulator ARGS...
  echo "+ lfc_sim $*"
  "$small/tests/lfc_sim" "$@"
}

in_simulator() { # in_simulator SEED
  simulator --seed "$1" --seeds 4 --nodes 16 --messages 60
  simulator --seed "$1" --seeds 4 --nodes 8 --messages 60 --rma --queued --max-window 16
  simulator --seed "$1" --seeds 4 --nodes 8 --messages 60 --native
  simulator --multicast --seed "$1" --seeds 3 --nodes 16
  simulator --ordered --seed "$1" --seeds 3 --nodes 8 --messages 20
}

in_mpi() { # in_mpi SEED RANKS PROGRAM ARGS...: the last line of its output is `ok`
  local seed=$1 options=(--mca pml ob1 --mca btl lfc --mca osc neon --mca mpi_yield_when_idle 1)
  case $((seed % 3)) in
    0) options+=(--mca btl_lfc_policy single) ;;
    1) options+=(--mca btl_lfc_policy floating) ;;
    2) options+=(--mca btl_lfc_policy floating --mca btl_lfc_upcalls 1) ;;
  esac
  ((seed / 3 % 2 == 0)) || options+=(--mca btl_lfc_links "loop,tcp")
  echo "+ mpirun -n $2 ${options[*]} ${*:3}"
  # shellcheck disable=SC2094  # read when mpirun has ended
  timeout --kill-after 5 $((60 * ${LFC_TEST_PATIENCE:-1})) mpirun -n "$2" --map-by slot:OVERSUBSCRIBE "${options[@]}" \
    "$small/$3" "${@:4}" && grep -qx ok "$output"
}

run_world() { # run_world FAMILY SEED
  local seed=$2
  export LFC_SMALL_WORLD=$seed
  case $1 in
    sim) in_simulator "$((seed + 1))" ;;
    mpi)
      in_mpi "$seed" 3 tests/mpi/mpi_random_traffic --events 3000
      in_mpi "$seed" 3 tests/mpi/mpi_order --messages 100
      in_mpi "$seed" 3 tests/mpi/mpi_wildcards
      ;;
    coll) in_mpi "$seed" 4 tests/mpi/mpi_coll_random --cases 60 ;;
    rma) in_mpi "$seed" 3 tests/rma/rma_random --programs 6 --seed "$((seed * 100 + 1))" ;;
    neon)
      in_mpi "$seed" 2 tests/neon/neon_thesis
      in_mpi "$seed" 3 tests/neon/neon_notified --few
      in_mpi "$seed" 3 tests/neon/neon_mapped --few
      ;;
    ordered) in_mpi "$seed" 3 tests/ordered/ordered_order ;;
    *) echo "world.sh: no family '$1'" >&2; return 2 ;;
  esac
}

# Faults that have fired in all processes of a world.
fired() { sed -n 's/.*lfc-faults fired=\([0-9]*\).*/\1/p' "$output" | awk '{ sum += $1 } END { print sum + 0 }'; }

family=$1
if [[ $2 == seed ]]; then
  seeds=("$3")
else
  mapfile -t seeds < <(seq 0 $(($2 - 1)))
  [[ ${3-} != random ]] || seeds+=("$((SRANDOM % 1000000))")
fi
export OMPI_MCA_mca_base_component_path=$small/components:SYS_DEFAULT
failed=0
for seed in "${seeds[@]}"; do
  status=0
  (set -e; run_world "$family" "$seed") >"$output" 2>&1 || status=$?
  if ((status == 0)) && (($(fired) == 0)); then
    echo "no fault has fired" >>"$output"
    status=1
  fi
  if ((status != 0)); then
    failed=$((failed + 1))
    grep -v '^lfc-faults' "$output" | tail -n 60
    echo "FAILED ($status): tests/small/world.sh $family seed $seed"
  else
    echo "world $family $seed: $(fired) faults"
  fi
done
grep -h '^lfc-faults' "$output" | head -n 1 || true
((failed == 0)) || { echo "$failed worlds failed"; exit 1; }
echo ok
