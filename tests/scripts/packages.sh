#!/usr/bin/env bash
# What a site installs and keeps: one version everywhere, and what to do where Open MPI's developer headers are missing.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
export LFC_BUILD=${LFC_BUILD:-$tree/build}
build=$LFC_BUILD/default
version=$(sed -nE 's/^project\(lfc VERSION ([0-9.]+) .*/\1/p' "$tree/CMakeLists.txt")
configure=(env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER cmake -G Ninja -S "$tree" -DLFC_TESTS=OFF -DLFC_PERF=OFF)

# --- one version ---
for component in 'btl: lfc' 'coll: lfc' 'osc: neon'; do
  expect 0 "MCA $component .*Component v$version\\)" env OMPI_MCA_mca_base_component_path="$build/components" ompi_info
done
expect 0 "^lfc-info $version\$" "$build/bin/lfc-info" --version

# --- texts of errors: each that the components tell is in the catalogue beside them, and no other ---
diff <(grep -rhoE 'lfc_help\("[^"]+"' "$tree"/{btl_lfc,mca,osc_neon} --include='*.c' | cut -d'"' -f2 | sort -u) \
  <(sed -nE 's/^\[(.*)\]$/\1/p' "$build/components/help-lfc.txt" | sort) || fail "the catalogue has other topics than are told"

# --- an Open MPI without its developer headers ---
running=$(ompi_info --version | sed -n '1s/^Open MPI v//p')
mkdir "$scratch/empty"
expect 1 "scripts/ompi-headers $running " "${configure[@]}" -B "$scratch/bare" -DLFC_OMPI_INCLUDE="$scratch/empty"

# A source tree that has been built, of those that are installed here.
read -ra folders < <(mpicc --showme:incdirs)
headers=$(dirname "$(find "${folders[@]}" -name opal_config.h | sed -n 1p)")
for project in opal orte ompi; do
  [[ -d $headers/$project ]] || continue
  mkdir -p "$scratch/source/$project/include"
  cp -r "$headers/$project" "$scratch/source/$project/include"
done
cp "$headers"/*.h "$scratch/source/opal/include"
mv "$scratch/source/opal/include/opal/mca" "$scratch/source/opal"
headers_of() { "$tree/scripts/ompi-headers" "$@"; }
expect 1 "not 4.1.99: load the one" headers_of 4.1.99 "$scratch/source" "$scratch/taken"
expect 1 "no source of Open MPI" headers_of "$running" "$scratch/empty" "$scratch/taken"
expect 0 "^ompi-headers: ready: cmake -DLFC_OMPI_HEADERS=$scratch/taken" headers_of "$running" "$scratch/source" "$scratch/taken"
diff -rq "$headers/opal/mca/btl" "$scratch/taken/openmpi/opal/mca/btl" || fail "headers are missing"
expect 0 "Open MPI .*: $scratch/taken/openmpi" "${configure[@]}" -B "$scratch/bare" -DLFC_OMPI_INCLUDE= -DLFC_OMPI_HEADERS="$scratch/taken"
sed -i 's/^\(#define OPAL_RELEASE_VERSION\) .*/\1 99/' "$scratch/source/opal/include/opal_config.h"
expect 1 "is of version .*99, not $running" headers_of "$running" "$scratch/source" "$scratch/taken"
echo "packages: one version, headers from a source"
