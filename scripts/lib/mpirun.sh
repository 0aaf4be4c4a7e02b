# shellcheck shell=bash
# Reads the arguments of mpirun for scripts/lab and scripts/rdma-box, which source it behind common.sh.
# shellcheck disable=SC2034,SC2154  # variables of the sourcing script, and of common.sh

# Prints how many values an option of mpirun takes that may stand before the program.
values_of() {
  case $1 in
    --mca | -mca | --gmca | -gmca | --prtemca | --pmixmca | --omca) echo 2 ;;
    -n | -np | --n | --np | -c | -x | -H | --host | -host | --hostfile | -hostfile | --machinefile | -machinefile | \
      --map-by | -map-by | --rank-by | -rank-by | --bind-to | -bind-to | --wdir | -wdir | -wd | --prefix | -prefix | \
      --timeout | -timeout | --output | --tag-output-to | --output-filename | -output-filename | --stdin | -stdin | \
      --path | -path | --tune | -tune | --am | -am | -N | --npernode | -npernode | --app | -app | --pset | \
      --personality | --runtime-options | --with-ft | --display | --report-state-on-timeout-to | --preload-files) echo 1 ;;
    *) echo 0 ;;
  esac
}

# read_mpirun HOSTS ARGS...: sets these variables:
#   ranks      the number in ARGS, or one on each of HOSTS hosts
#   extra      options with that number, if ARGS have none
#   slots      slots of each host
#   bind, map  options for binding and mapping; empty where ARGS have their own
read_mpirun() {
  local hosts=$1 argument='' words i
  shift
  words=("$@") ranks='' extra=() bind=(--bind-to none) map=(--map-by node)
  for ((i = 0; i < ${#words[@]}; i += 1 + $(values_of "$argument"))); do
    argument=${words[i]}
    case $argument in
      -n | -np | --n | --np | -c) ranks=${words[i + 1]-} ;;
      --bind-to | -bind-to) bind=() ;;
      --map-by | -map-by | -N | --npernode | -npernode) map=() ;;
      --host | -host | -H | --hostfile | -hostfile | --machinefile | -machinefile) die "$argument: the $lfc_script chooses the hosts" ;;
      -*) ;;
      *) break ;;
    esac
  done
  if [[ -z $ranks ]]; then
    ranks=$hosts
    extra+=(-n "$ranks")
  fi
  [[ $ranks =~ ^[0-9]+$ ]] || die "'$ranks' is not a number of ranks"
  # More slots than ranks, so that MPI_Comm_spawn finds room.
  slots=$(((ranks + hosts - 1) / hosts))
  ((slots >= 8)) || slots=8
}
