#!/usr/bin/env bash
# perf/apps: the runner reads the programs' output, every program detects a wrong result, and one short comparison
# runs. Separate tests check that the results are right (kernel/*).
set -euo pipefail
. "$(dirname "$0")/expect.bash"
apps=${LFC_BUILD:-$tree/build}/default/perf/apps

python3 "$tree/tests/scripts/test_apps.py"

mpicc -shared -fPIC -DOMPI_SKIP_MPICXX -o "$scratch/spoil.so" "$tree/tests/scripts/spoil.c"
spoiled() { # spoiled CALL PROGRAM ARGS...: on two ranks, whose CALL now and then does it wrong
  timeout 600 mpirun -n 2 --oversubscribe --mca mpi_yield_when_idle 1 -x LD_PRELOAD="$scratch/spoil.so" -x SPOIL="$1" \
    "$apps/$2" --quick --limit 20 "${@:3}" </dev/null
}
tried=0
while read -r call program arguments; do
  read -ra words <<<"$arguments"
  expect 0 '^ok$' spoiled nothing "$program" "${words[@]}"
  expect 1 "^FAIL $program rank" spoiled "$call" "$program" "${words[@]}"
  ((++tried))
done <<'LIST'
MPI_Bcast asp
MPI_Bcast qr
MPI_Bcast gauss
MPI_Allgatherv leq
MPI_Sendrecv sor
MPI_Sendrecv tomcatv
MPI_Put em3d --ways put
MPI_Isend em3d --ways send
MPI_Sendrecv ca --ways sendrecv
MPI_Isend ca --ways isend
MPI_Put ca --ways fence
MPI_Isend matmult --ways ordinary
MPI_Isend nbody --ways ordinary
MPI_Isend md --ways ordinary
MPI_Isend eigen --ways ordinary
MPI_Put ca --ways pscw --percent 5 --push-at 25 --complete-at 60
MPI_Put pipeline --ways pscw
MPI_Put skew --ways pscw
MPI_Put reqrep --kinds put
MPI_Send slb --algorithms wrr
MPI_Isend overlap --kinds isend
LIST
((tried == 21)) || fail "only $tried programs tried"
echo "every program notices a wrong result"

expect 2 "unknown option '--vertexes'" "$apps/asp" --vertexes 3
expect 2 "no 'gett', there are" "$apps/em3d" --ways gett
expect 0 'usage: mpirun -n RANKS ca' "$apps/ca" --help

ran() { timeout 600 "$tree/perf/apps/run" --force --pairs 1 --np 2 --out "$scratch/out" "$@"; }
expect 0 'ca_isend +264 +us ' ran ca lfc vader --quick -- --ways isend,pscw
grep -q '^lfc: pml ob1; btl lfc; frames ' <<<"$output" || fail "no proof that LFC was taken: $output"
grep -q 'ca_isend / ca_pscw ' <<<"$output" || fail "no ratio of the two ways: $output"
grep -q '"bench": "ca_pscw"' "$scratch/out/apps.jsonl" || fail "nothing in apps.jsonl"
expect 1 'none of the transports works here' ran ca nothing="--mca btl nothing"
echo "the runner runs"
