#!/usr/bin/env bash
# lfc-look sees the ranks of a running job. If a rank is stopped, it reports that the others wait for that rank.
# Refusals are one line.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
look=$LFC_BUILD/default/bin/lfc-look
job=
end() {
  [[ -z $job ]] || kill -KILL "$job" $(pgrep -P "$job") 2>/dev/null || true
  rm -rf "$scratch"
}
trap end EXIT

expect 0 '^lfc-look [0-9.]+$' "$look" --version
expect 2 "lfc-look: '--nonsense'" "$look" --nonsense
for words in '' --verdict "--job $$ $$"; do
  # shellcheck disable=SC2086  # several words
  expect 2 '^lfc-look: give either process ids or --job ' "$look" $words
done
expect 2 "lfc-look: '-1'" "$look" --job --wait -1
expect 1 "^lfc-look: process $$ has not opened LFC$" "$look" $$
expect 1 "^lfc-look: process 999999999 does not exist on this node$" "$look" 999999999
expect 1 '^lfc-look: no rank on this node has opened LFC in that job' "$look" --job 4294967295

mpirun -n 2 --map-by slot:OVERSUBSCRIBE --mca mpi_yield_when_idle 1 --mca btl lfc --mca btl_lfc_links loop,shm --mca btl_lfc_trace 32 \
  "$LFC_BUILD/default/tests/mpi/mpi_random_traffic" --events 1000000000 --limit 900 >"$scratch/output" 2>&1 &
job=$!
ranks=()
for ((tries = 0; tries < 600 && ${#ranks[@]} < 2; ++tries)); do
  sleep 0.1
  mapfile -t ranks < <(pgrep -P "$job" mpi_random_tra)
done
((${#ranks[@]} == 2)) || fail "the job has not begun: $(cat "$scratch/output")"
# A rank that got no processor while it was watched moved nothing: lfc-look is called until one call shows the whole
# job.
missing='a look that succeeds'
shows() {
  missing="rank [01], process ${ranks[0]} \(mpi_random_traf\): "
  grep -qE "^$missing" "$scratch/seen" || return
  missing='shm, connected, credits [0-9]+, window [0-9]+, owed [0-9]+'
  grep -qE "^  rank [01] +$missing" "$scratch/seen" || return
  missing='counters +frames_sent [0-9]+, '
  grep -qE "^  $missing" "$scratch/seen" || return
  missing='more than 20 events'
  (($(grep -cE '^  event +-[0-9.]+ s (sent|received) [a-z ]+, rank [01], [0-9]+ B, tag ' "$scratch/seen") > 20)) || return
  missing='verdict: the job is at work: [0-9]+ frames'
  grep -qE "^$missing" "$scratch/seen"
}
for ((tries = 0; tries < 200; ++tries)); do
  ! "$look" "${ranks[0]}" --wait 0.3 >"$scratch/seen" 2>&1 || ! shows || break
done
((tries < 200)) || fail "200 looks did not show '$missing': $(cat "$scratch/seen")"

kill -STOP "${ranks[1]}"
# The signal takes effect when the rank next gets a turn.
for ((tries = 0; tries < 600; ++tries)); do
  [[ $(ps -o state= -p "${ranks[1]}") != T* ]] || break
  sleep 0.1
done
expect 0 "^verdict: rank [01] is stopped (for [0-9.]+ s )?\(by a signal" "$look" --job --verdict
if as_nobody true 2>/dev/null; then
  expect 1 "^lfc-look: process ${ranks[0]} may not be looked into: its user may, or root" \
    as_nobody "$look" "${ranks[0]}"
fi
echo ok
