#!/usr/bin/env bash
# Every numeric parameter at its bounds, beyond them, and with absurd values. The bounds are those that lfc-info prints.
# A value is right if a program that uses all sizes of messages, collectives and windows gets right results, or if one
# line refuses the value and names the parameter and its range. It never hangs.
#
#   (nothing)   all parameters at their smallest values in one job, and at their largest in another, over each transport;
#               lfc-info refuses each value beyond the bounds; jobs with a few values that hung once
#   --all       also each parameter alone, with each of these values
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

info=$LFC_COMPONENTS_DIR/../bin/lfc-info
[[ -x $info ]] || fail "no $info"

# Prints NAME SMALLEST LARGEST BEYOND... of each numeric parameter. `-`: no largest value.
bounds() {
  "$info" --parameters | awk '
    !match($0, /^[a-z0-9_]+ = [0-9]+ \((powers of two from )?[0-9]+ (to [0-9]+|or more)\)$/) { next }
    {
      powers = /powers of two/; gsub(/[()]/, ""); sub(/powers of two from /, "")
      least = $4; most = $5 == "to" ? $6 : "-"
      beyond = ""
      if (least > 0) beyond = beyond " " least - 1
      if (powers) beyond = beyond " " least + 1
      if (most != "-") beyond = beyond " " sprintf("%.0f", most + 1)
      print $1, least, most beyond
    }'
}

job() { # job LINKS ARGS...: the program with 3 ranks, over LFC alone
  run_job 150 3 --mca btl lfc --mca osc neon,rdma,pt2pt,sm --mca btl_lfc_links "$1" "${@:2}" mpi_every_size --limit 140
}

refused() { # refused NAME: the last job printed one line that refuses its value
  local lines
  lines=$(grep -acE "(btl|coll|osc) (lfc|neon): .*$1: [0-9]+ \(accepted: " "$output") || true
  ((lines == 1))
}

alone() { # alone NAME VALUE: right, or refused. Open MPI itself replaces some values by the default, with a line.
  job loop,shm,tcp --mca "$1" "$2"
  if ((code == 0)) && grep -aqx ok "$output"; then
    echo "$1 $2: right"
  else
    refused "$1" || fail "$1 $2: exit code $code, and no line refuses it"
    echo "$1 $2: refused"
  fi
}

declare -a smallest=() largest=()
count=0
while read -r name least most beyond; do
  count=$((count + 1))
  # This one selects components, and does so in the jobs below by its own value.
  [[ $name == coll_lfc_priority ]] || smallest+=(--mca "$name" "$least")
  [[ $most == - || $name == coll_lfc_priority ]] || largest+=(--mca "$name" "$most")
  for value in $beyond; do
    env "OMPI_MCA_$name=$value" "$info" | grep -qF "declines: $name: $value (accepted: " ||
      fail "lfc-info does not refuse $name $value"
  done
done < <(bounds)
((count > 35)) || fail "lfc-info prints the bounds of $count parameters"
echo "$count parameters, refused beyond their bounds"

for links in loop,shm loop,tcp; do
  job $links "${smallest[@]}"
  job_is_ok "all parameters at their smallest, links $links"
  job $links "${largest[@]}"
  job_is_ok "all parameters at their largest, links $links"
done
for value in 0 79 80 256; do alone btl_lfc_max_send_size $value; done
alone btl_lfc_get_limit 0
alone btl_lfc_flags 1
alone btl_lfc_flags 2
alone coll_lfc_packet -1

if [[ ${1-} == --all ]]; then
  while read -r name least most beyond; do
    for value in "$least" "${most/-/$least}" $beyond 0 -1 2147483647 9223372036854775808; do alone "$name" "$value"; done
  done < <(bounds)
fi
echo ok
