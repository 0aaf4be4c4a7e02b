#!/usr/bin/env bash
# README's lines work as they are written. Jobs print nothing besides their own output, with Open MPI 4.1 and 5.0. If
# LFC's folder is removed later, other jobs still run. If another LFC is installed for all users, jobs load the user's.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
export LFC_BUILD=${LFC_BUILD:-$tree/build} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset OMPI_MCA_mca_base_component_path PMIX_MCA_mca_base_component_path
if (($(nproc) < 2)); then
  echo "README's lines need a machine with two processors"
  exit 77
fi

# Places where README expects the build, and the program of the user.
mkdir "$scratch/build"
ln -s "$LFC_BUILD/default" "$scratch/build/release"
ln -s "$LFC_BUILD/default" "$scratch/lfc"
cp "$LFC_BUILD/default/tests/mpi/mpi_ring" "$scratch/app"
cd "$scratch"

mapfile -t settings < <(sed -nE 's/^    (eval .*)$/\1/p' "$tree/README.md")
mapfile -t jobs < <(sed -nE 's/^    (mpirun .*\.\/app)( +#.*)?$/\1/p' "$tree/README.md")
((${#settings[@]} == 2 && ${#jobs[@]} >= 4)) || fail "README has ${#settings[@]} lines of settings, and ${#jobs[@]} jobs"

advised() { # advised CMD...: with `setting`
  local home=$HOME
  HOME=$scratch
  eval "$setting"
  HOME=$home "$@"
}
for setting in "${settings[@]}"; do
  for job in "${jobs[@]}"; do
    expect 0 '^ok$' advised bash -c "$job"
    [[ $(grep -vE '^lfc-stats rank=[0-9]+ .* frames_sent=[1-9]' <<<"$output") == ok ]] || fail "$job prints more than its own: $output"
  done
done

# The folder is removed later.
path=$(advised printenv OMPI_MCA_mca_base_component_path)
[[ $path == "SYS_DEFAULT:$(realpath "$LFC_BUILD/default/components")" ]] || fail "the component path is $path"
shared_memory=vader
[[ ! $(mpirun --version) =~ \ 5\. ]] || shared_memory=sm
gone=(env OMPI_MCA_mca_base_component_path="SYS_DEFAULT:$scratch/removed" mpirun -n 2 --mca pml ob1
  --mca btl "$shared_memory,self" ./app)
expect 0 '^ok$' advised "${gone[@]}"
[[ $output == ok ]] || fail "a job without LFC prints more than its own: $output"

# Another LFC is beside Open MPI's own components.
stock=$(ompi_info --parsable --path pkglibdir)
mkdir "$scratch/system"
find "${stock##*:}" -name '*.so' ! -name 'mca_*_lfc.so' ! -name mca_osc_neon.so -exec ln -s -t "$scratch/system" {} +
cp "$LFC_BUILD"/default/components/* "$scratch/system"
export OPAL_PKGLIBDIR=$scratch/system
ours="build [0-9a-f]{16}, $(realpath "$LFC_BUILD/default/components")/liblfc\.so"
expect 0 "$ours" advised mpirun -n 2 --mca btl lfc --mca btl_lfc_verbose 1 ./app
grep -qx ok <<<"$output" || fail "a job beside another LFC fails: $output"
unset OPAL_PKGLIBDIR

echo "advice: ${#jobs[@]} lines of README print their own output"
