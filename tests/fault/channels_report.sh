#!/usr/bin/env bash
# The report of coll_lfc_channels_report: its numbers are those that the program has sent, by a plan with costs, by one
# that names all keys, and without a plan. Without channels at all ranks there is none, and the job ends as usual.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

lfc=(--mca btl lfc --mca coll_lfc_stats 1)
run() { # run RANKS CHANNELS ARGUMENTS...: a job with a report
  run_job 100 "$1" "${lfc[@]}" --mca coll_lfc_channels_report 1 --mca coll_lfc_channels "$2" mpi_counted_messages "${@:3}"
  job_is_ok "$*"
}
number() { # number PATTERN: prints the number that PATTERN marks in a line of the report
  sed -nE "s/^lfc-report $1.*/\\1/p" "$output"
}
ordinary=(
  'ordinary messages of planned keys: ([0-9]+) by channel'
  'ordinary messages of planned keys: [0-9]+ by channel, ([0-9]+) by matching'
)
persistent=(
  'persistent messages: ([0-9]+) by channel'
  'persistent messages: [0-9]+ by channel, ([0-9]+) by matching'
)
sent() { # sent KIND: prints the number of messages that the program has sent
  sed -nE "s/^sent .*\\b$1=([0-9]+).*/\\1/p" "$output"
}
counter() { # counter KEY: the sum over all ranks
  sed -nE "s/^lfc-channels .*\\b$1=([0-9]+).*/\\1/p" "$output" | awk '{ sum += $1 } END { print sum + 0 }'
}
equal() { # equal WHAT FOUND WANTED
  [[ $2 == "$3" ]] || fail "$1: $2, not $3"
}
# Each channel opens in the first of 400 messages, and carries the others.
check_persistent() { # check_persistent RANKS
  local by_channel matched
  by_channel=$(number "${persistent[0]}") matched=$(number "${persistent[1]}")
  equal 'persistent messages' $((by_channel + matched)) "$(sent persistent)"
  ((by_channel > 200 * $1 && matched >= $1)) || fail "persistent messages: $by_channel by channel, $matched by matching"
}
check_after_all() {
  local all
  all=$(($(number "${persistent[0]}") + $(number "${ordinary[0]}")))
  equal 'messages by channel' "$all" "$(counter sent)"
  equal 'messages that were matched after all' "$(number 'messages by channel that were matched after all: ([0-9]+)')" "$(counter given)"
}

# The same gain for messages of all kinds: 0.5 us.
echo 'lfc-costs version=2' >"$scratch/costs"
for kind in ordinary persistent; do
  for flight in 1 2 4 8 32 64; do
    for bytes in 8 64 256 1024 4096; do
      echo "$kind in_flight=$flight bytes=$bytes matched=1.0000 channel=0.5000"
    done
  done
done >>"$scratch/costs"

for ranks in 2 4; do
  run_job 100 "$ranks" "${lfc[@]}" --mca coll_lfc_channels "record:$scratch/messages" mpi_counted_messages
  job_is_ok "the recording of $ranks ranks"
  "$tree/perf/tailor" "$scratch/messages" --costs "$scratch/costs" --plan "$scratch/plan" >"$scratch/judged" 2>&1 ||
    fail "perf/tailor ends with $?: $(cat "$scratch/judged")"
  keys=$(grep -c '^open ' "$scratch/plan")
  equal 'keys of the plan' "$keys" $((3 * ranks))
  planned=$(sed -nE 's/^open .* messages=([0-9]+).*/\1/p' "$scratch/plan" | awk '{ sum += $1 } END { print sum }')

  run "$ranks" "plan:$scratch/plan"
  equal 'planned keys' "$(number 'keys: ([0-9]+) planned')" "$keys"
  equal 'opened keys' "$(number 'keys: [0-9]+ planned, ([0-9]+) opened')" "$keys"
  equal 'closed keys' "$(number 'keys: .*, ([0-9]+) closed')" 0
  equal 'ordinary messages' $(($(number "${ordinary[0]}") + $(number "${ordinary[1]}"))) $((planned - $(sent persistent)))
  check_persistent "$ranks"
  check_after_all
  expects=$(sed -nE 's/.* gain=(.*)/\1/p' "$scratch/plan" | awk '{ sum += $1 } END { printf "%.1f", sum }')
  equal 'expected gain' "$(number 'time won: .*, which expects ([0-9.]+) us')" "$expects"
  # All keys have the same number of messages, and so the same gain of each.
  won=$(awk "BEGIN { printf \"%.1f\", $(counter here) * $expects / $planned }")
  equal 'time won' "$(number 'time won: ([0-9.]+) us')" "$won"

  run "$ranks" "plan:$tree/tests/mpi/every.plan" --burst
  grep -q '^lfc-report keys: every one planned, ' "$output" || fail "no line about the keys of a plan of all keys"
  equal 'closed keys of a burst' "$(number 'keys: .*, ([0-9]+) closed')" "$ranks"
  equal 'ordinary messages of all keys' $(($(number "${ordinary[0]}") + $(number "${ordinary[1]}"))) "$(sent ordinary)"
  check_persistent "$ranks"
  check_after_all
  grep -q '^lfc-report time won: unknown, because the plan has no costs' "$output" || fail "time is won without costs"

  run "$ranks" bind
  grep -q '^lfc-report keys: no plan, ' "$output" || fail "no line about keys without a plan"
  ! grep -q '^lfc-report ordinary' "$output" || fail "ordinary messages are counted without a plan"
  check_persistent "$ranks"
  grep -q '^lfc-report time won: unknown, because there is no plan' "$output" || fail "time is won without a plan"
done

run_job 100 2 "${lfc[@]}" --mca coll_lfc_channels bind mpi_counted_messages
job_is_ok "no report"
! grep -q '^lfc-report' "$output" || fail "there is a report although none was requested"
run 2 off
! grep -q '^lfc-report' "$output" || fail "there is a report without channels"

# A rank without channels, or without a report: the others do not wait for its counts.
for other in "--mca coll_lfc_channels off" "--mca coll_lfc_channels_report 0"; do
  cat >"$scratch/rank" <<END
#!/bin/sh
set -- $other
[ "\$OMPI_COMM_WORLD_RANK" != 1 ] || export "OMPI_MCA_\$2=\$3"
[ "\$OMPI_COMM_WORLD_RANK" = 1 ] || export OMPI_MCA_coll_lfc_channels=bind OMPI_MCA_coll_lfc_channels_report=1
exec "$LFC_TESTS_BIN/mpi_counted_messages"
END
  chmod +x "$scratch/rank"
  run_job 100 3 "${lfc[@]}" "$scratch/rank"
  job_is_ok "a rank with $other"
  (($(grep -c '^lfc-report' "$output") == 1)) || fail "the number of lines about the missing report is not 1: $other"
  grep -q '^lfc-report is not there' "$output" || fail "the line does not report that there is no file: $other"
done
nothing_left
echo ok
