#!/usr/bin/env bash
# An installation is whole or nothing, and where one is, tests and measurements still use the build they belong to.
# (That quickstart's last advice works: the test `quickstart`.)
set -euo pipefail
. "$(dirname "$0")/expect.bash"
export LFC_BUILD=${LFC_BUILD:-$tree/build}
build=$LFC_BUILD/default
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset OMPI_MCA_mca_base_component_path

# --- a tree in which nothing has been built, of somebody who may not write Open MPI's folders ---
mkdir "$scratch/nobody"
stranger=(env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER HOME="$scratch/nobody")
if [[ $EUID == 0 ]]; then
  chmod 755 "$scratch"
  chown 65534:65534 "$scratch/nobody"
  stranger=(as_nobody "${stranger[@]}")
fi
expect 0 "Components are installed into $scratch/nobody/.openmpi" \
  "${stranger[@]}" cmake -G Ninja -S "$tree" -B "$scratch/nobody/build" -DLFC_TESTS=OFF
expect 1 '^  .*liblfc.* has not been built$' "${stranger[@]}" cmake --install "$scratch/nobody/build"
[[ ! -e $scratch/nobody/.openmpi && ! -e $scratch/nobody/.local ]] || fail "half an installation is left"
# All its folders are his own.
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:.*=//p' "$scratch/nobody/build/CMakeCache.txt")
[[ $prefix == "$scratch/nobody/.local" ]] || fail "headers and libraries would go to $prefix"
if [[ $EUID == 0 ]]; then
  expect 1 '^  .* may not be written$' as_nobody cmake --install "$build"
fi

# --- for one user alone, in a tree that was configured for all before ---
user=(env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER HOME="$scratch/user" cmake -G Ninja -S "$tree" -B "$scratch/user/build")
expect 0 'Components are installed into ' "${user[@]}" -DLFC_TESTS=OFF
expect 0 "Components are installed into $scratch/user/.openmpi" "${user[@]}" -DLFC_INSTALL=user
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:.*=//p' "$scratch/user/build/CMakeCache.txt")
[[ $prefix == "$scratch/user/.local" ]] || fail "headers and libraries of one user would go to $prefix"

# --- an installed copy beside Open MPI's own components: Open MPI looks there by itself ---
installed_before=no
[[ ! -e $build/install_manifest.txt ]] || installed_before=yes
DESTDIR=$scratch/copy cmake --install "$build" >/dev/null
[[ $installed_before == yes ]] || rm "$build/install_manifest.txt"
stock=$(ompi_info --parsable --path pkglibdir)
stock=${stock##*:}
copy=$(dirname "$(find "$scratch/copy" -name mca_btl_lfc.so)")
find "$stock" -name '*.so' ! -name 'mca_*_lfc.so' ! -name mca_osc_neon.so -exec ln -s -t "$copy" {} +
export OPAL_PKGLIBDIR=$copy

job=(mpirun -n 1 --map-by slot:OVERSUBSCRIBE)
loaded=("$build/tests/mpi/mpi_loaded" --limit 60)
expect 1 "loaded from $copy" "${job[@]}" --mca btl lfc "${loaded[@]}"

touch "$scratch/built.default" # configured anew, the build would take the copy's folder for Open MPI's
from_suite() { LFC_TEST_STATE=$scratch "$tree/tests/kinds.sh" "$@"; }
expect 0 '^ok$' from_suite rma host 1 - mpi loaded
# shellcheck disable=SC2016
printf '%s\n' '#!/bin/bash' ". '$tree/tests/fault/job.bash'" 'run_job 60 1 --mca btl lfc mpi_loaded' 'cat "$output"' 'exit $code' >"$scratch/fault.sh"
chmod +x "$scratch/fault.sh"
expect 0 '^ok$' "$scratch/fault.sh"
# shellcheck disable=SC2016
printf '%s\n' ". '$tree/tests/apps/compare.bash'" 'transport=("${lfc[@]}")' 'app 60 1 "$@" || fail "$(cat "$output")"' 'cat "$output"' \
  >"$scratch/apps.sh"
expect 0 '^ok$' bash "$scratch/apps.sh" "${loaded[@]}"
measured() { # as perf/compare and its relatives start a program
  local words
  mapfile -t words < <(cd "$tree/perf" && python3 -c 'from measure import build, transports
print(*transports.named("lfc", False, build.component_directory(None)).arguments, sep="\n")')
  "${job[@]}" "${words[@]}" "${loaded[@]}"
}
expect 0 '^ok$' measured
advised() { # as the README says
  cd "$(dirname "$LFC_BUILD")"
  eval "$(sed -n 's/^ *\(export OMPI_MCA_mca_base_component_path=.*\)/\1/p' "$tree/README.md")"
  "${job[@]}" --mca btl lfc "${loaded[@]}"
}
[[ $LFC_BUILD != */build ]] || expect 0 '^ok$' advised

# Whoever starts jobs in a way not tried here puts the build first, too.
! git -C "$tree" grep -n 'SYS_[D]EFAULT:' -- . ':!tests/defects' || fail "Open MPI's own folder stands before a build (see above)"
echo "installed copies: whole or not at all, and never loaded instead of the build"
