#!/bin/bash
# What btl lfc says and does when it is not asked for, or asked for something impossible.
#   behaviour_test.sh COMPONENT_DIR MPI_PROGRAM      (the program runs on two ranks)
set -u
components=$1 program=$2 failures=0 output='' status=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mca_base_component_path=$components:SYS_DEFAULT
stock=vader,self
if ompi_info --version | grep -q 'v5\.'; then
  # 5.0's PMIx reads this path too: no keyword, and no complaint about files that are not its own.
  export OMPI_MCA_mca_base_component_path=$components PMIX_MCA_mca_base_component_show_load_errors=none
  stock=sm,self
fi

run() { # parameters of mpirun...; sets output and status
  output=$(timeout -k 5 60 mpirun --oversubscribe -n 2 "$@" "$program" 2>&1 </dev/null |
    tr -d '\000'; exit "${PIPESTATUS[0]}")
  status=$?
}
expect() { # what, condition as a command
  local what=$1
  shift
  if "$@"; then return; fi
  failures=$((failures + 1))
  printf 'FAILED: %s (status %d)\n%s\n' "$what" "$status" "$output"
}
lines() { grep -c "btl lfc: $1" <<<"$output"; }
succeeded() { [[ $status -eq 0 ]]; }
ended_with_error() { [[ $status -ne 0 && $status -ne 124 && $status -ne 137 && $status -ne 139 ]]; }
says_in_one_line() { [[ $(lines "declines: $1") -eq 2 && $(lines '') -eq 2 ]]; } # one for each rank
silent() { [[ $(lines '') -eq 0 ]] && ! grep -q lfc-stats <<<"$output"; }

run --mca btl lfc --mca btl_lfc_stats 1
expect 'lfc alone carries a job' succeeded
expect 'it prints its counters' [ "$(grep -c '^lfc-stats rank=[01] .*frames_sent=[1-9]' <<<"$output")" -eq 2 ]
run --mca btl lfc,self
expect 'lfc,self carries a job' succeeded

for selection in '' '^tcp' "$stock"; do
  run ${selection:+--mca btl "$selection"} --mca btl_lfc_stats 1 --mca btl_lfc_initial_window 0
  expect "not asked for (btl='$selection'): the job runs" succeeded
  expect "not asked for (btl='$selection'): lfc is silent" silent
done

while read -r parameter value; do
  run --mca btl "lfc,$stock" --mca "btl_lfc_$parameter" "$value"
  expect "$parameter=$value: the job runs on other transports" succeeded
  expect "$parameter=$value: one line says why" says_in_one_line "btl_lfc_$parameter"
done <<'END'
initial_window 0
initial_window 70000
max_window 4
window_cap 0
links smh
links loop,loop
interfaces nosuch0
interfaces 203.0.113.0/24
provider nosuch
policy fixed
shm_slots 63
shm_bulk 100
peer_fragments 0
END

run --mca btl lfc --mca btl_lfc_initial_window 0
expect 'nothing else may be used: the job ends with an error' ended_with_error
expect 'nothing else may be used: one line says why' says_in_one_line btl_lfc_initial_window

echo "$failures failed"
[[ $failures -eq 0 ]]
