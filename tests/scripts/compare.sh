#!/usr/bin/env bash
# perf/: the parts of compare and profile, every benchmark on two and on four ranks, and one short comparison.
# mpi_bench must detect wrong contents and a hang. Times are not checked, because the machine may be busy.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
perf=${LFC_BUILD:-$tree/build}/default/perf

python3 "$tree/tests/scripts/test_compare.py"
python3 "$tree/tests/scripts/test_policy_model.py"
python3 "$tree/tests/scripts/test_bars.py"

bench() { # bench RANKS ARGS...
  timeout 600 mpirun -n "$1" --oversubscribe --mca mpi_yield_when_idle 1 "${@:2}"
}
lines() { grep -c '^{"bench".*"median"' <<<"$output" || true; }

every='latency:8,64K persistent:8 bw:64K,1M bibw:64K rate:8@1,64 pairs:8 many:8 put:8,64K get:8,64K fetch_add allreduce'
wanted=()
for name in $every o_s o_r o_s_started o_r_started gap:16,1M; do wanted+=(--bench "$name"); done
expect 0 '"bench":"gap","size":1048576' bench 2 "$perf/mpi_bench" --time 0.002 "${wanted[@]}"
(($(lines) == 22)) || fail "$(lines) measurements, not 22"
expect 0 '"bench":"allreduce","size":64,"depth":1,"ranks":4' \
  bench 4 "$perf/mpi_bench" --time 0.002 --bench pairs:8,4K --bench many --bench allreduce:8,64
(($(lines) == 6)) || fail "$(lines) measurements, not 6"
neon=(--mca mca_base_component_path "$perf/../components:SYS_DEFAULT" --mca pml ob1 --mca btl lfc --mca osc neon)
one_sided='put_burst:8@1000 put_burst_apart:64@1000 sum_burst:32K@50 lock_sum notified_vector:64'
for way in bw bibw; do one_sided+=" put_$way:64@8 get_$way:64@8 sum_$way:64@8"; done
wanted=()
for name in $one_sided; do wanted+=(--bench "$name"); done
expect 0 '"bench":"sum_bibw","size":64' bench 2 "${neon[@]}" "$perf/mpi_bench" --time 0.002 "${wanted[@]}"
(($(lines) == 14)) || fail "$(lines) measurements, not 14: $output" # three are peaks of memory
wanted=(--bench bcast_barrier:8 --bench ibcast:8 --bench ibarrier --bench leaf:64 --bench leaf_late:64)
for name in allreduce allgather alltoall alltoallv gather gatherv scatter scatterv reduce_scatter scan; do
  wanted+=(--bench "$name:64" --bench "i$name:64")
done
expect 0 '"bench":"iscan","size":64,"depth":1,"ranks":4' bench 4 "$perf/mpi_bench" --time 0.002 "${wanted[@]}"
(($(lines) == 25)) || fail "$(lines) measurements, not 25: $output"
echo "every benchmark runs"

mpicc -shared -fPIC -DOMPI_SKIP_MPICXX -o "$scratch/spoil.so" "$tree/tests/scripts/spoil.c"
spoiled() { # spoiled HOW: both ranks receive through spoil.so
  bench 2 -x LD_PRELOAD="$scratch/spoil.so" -x SPOIL="$1" "$perf/mpi_bench" --bench latency:64 --time 0.01 --limit 3
}
spoiled_in() { # spoiled_in CALL BENCH: on both ranks, CALL now and then does it wrong
  bench 2 -x LD_PRELOAD="$scratch/spoil.so" -x SPOIL="$1" "${neon[@]}" "$perf/mpi_bench" --bench "$2" --time 0.002 </dev/null
}
expect 0 '"bench":"latency"' spoiled not
expect 3 'WRONG CONTENTS in latency, 64 bytes' spoiled flip
expect 75 'TOO LONG, giving up: latency, 64 bytes' spoiled stall
while read -r call name; do
  expect 0 "\"bench\":\"${name%:*}\"" spoiled_in nothing "$name"
  expect 3 "WRONG .* in ${name%:*}, " spoiled_in "$call" "$name"
done <<'LIST'
MPI_Put put_burst:8@100
MPI_Put put_burst_apart:64@100
MPI_Accumulate sum_burst:8@100
MPI_Put put_bw:8@8
MPI_Accumulate sum_bw:8@8
MPI_Put put_bibw:8@8
MPI_Accumulate sum_bibw:8@8
MPI_Accumulate lock_sum:4
MPI_Bcast bcast_barrier:64
LIST
echo "wrong contents and a hang are noticed"

expect 2 "no such benchmark: 'latenzy'" bench 2 "$perf/mpi_bench" --bench latenzy
expect 2 "not a list of sizes" bench 2 "$perf/mpi_bench" --bench latency:8,x
expect 2 "needs two ranks" bench 1 "$perf/mpi_bench"

expect 0 '"bench":"layer_ni","size":16384' timeout 600 "$perf/layers" 0.002

compared() { timeout 600 "$tree/perf/compare" --force --pairs 2 --time 0.005 --out "$scratch/out" "$@"; }
expect 0 'nothing: absent: this Open MPI has no btl nothing' \
  compared --bench latency:8,64,1K --bench rate lfc vader nothing="--mca btl nothing"
grep -q '^lfc: pml ob1; btl lfc; frames ' <<<"$output" || fail "no proof that LFC was taken: $output"
for file in compare.txt compare.jsonl latency.svg rate.svg; do
  [[ -s $scratch/out/$file ]] || fail "compare has not written $file"
done
(($(grep -c '"transport": "lfc"' "$scratch/out/compare.jsonl") == 10)) || fail "not ten points for LFC in compare.jsonl"
expect 1 'none of the transports works here' compared nothing="--mca btl nothing"
echo "compare compares"

# Two rails together: the shares depend on how busy the machine is, the division of the bytes does not.
if [[ $EUID == 0 ]] && unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null; then
  status=0
  output=$(timeout 600 "$tree/perf/rails" --force --pairs 1 --case 300mbit,300mbit --size 1M --time 0.02 2>&1) || status=$?
  ((status <= 1)) || fail "perf/rails: exit code $status: $output"
  for bench in bw latency; do
    grep -qE "300mbit,300mbit +$bench .* (yes|NO) +[3-6][0-9]% [3-6][0-9]%" <<<"$output" || fail "perf/rails, $bench: $output"
  done
  echo "rails are measured"
else
  echo "rails not tried: the lab needs root and namespaces"
fi
