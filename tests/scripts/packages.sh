#!/usr/bin/env bash
# Packages for administrators: one version everywhere, complete manual pages, libraries that programs find, and the
# advice that is printed if Open MPI's developer headers are missing.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
export LFC_BUILD=${LFC_BUILD:-$tree/build}
build=$LFC_BUILD/default
version=$(sed -nE 's/^project\(lfc VERSION ([0-9.]+) .*/\1/p' "$tree/CMakeLists.txt")
configure=(env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER cmake -G Ninja -S "$tree" -DLFC_TESTS=OFF -DLFC_PERF=OFF)

# --- one version ---
components=('btl lfc' 'coll lfc' 'osc neon')
[[ ! -e $build/components/mca_part_lfc.so ]] || components+=('part lfc')
for component in "${components[@]/ /: }"; do
  expect 0 "MCA $component .*Component v$version\\)" env OMPI_MCA_mca_base_component_path="$build/components" ompi_info
done
expect 0 "^lfc-info $version, build " "$build/bin/lfc-info" --version

named=$(sed -nE 's/.*(version\("|^version = .|^Version: +|lfc\/|eb LFC-)([0-9]+\.[0-9]+\.[0-9]+).*/\2/p' "$tree"/scripts/packages/{spack/package.py,rpm/lfc.spec,modulefile/lfc.lua,README.md} \
  "$tree"/scripts/packages/easybuild/*.eb | sort -u)
[[ $named == "$version" ]] || fail "recipes in scripts/packages name the version(s) ${named//$'\n'/ }, not $version"

# --- recipes may set a variable for every job only if Open MPI 4.1 accepts it as well ---
set_for_all=$(sed -nE 's/^ *(setenv\("|'"'"')(OMPI_MCA_[a-z_]+).*/\2/p' "$tree/scripts/packages/modulefile/lfc.lua" "$tree"/scripts/packages/easybuild/*-2023a.eb | sort -u)
[[ $set_for_all == OMPI_MCA_mca_base_component_path ]] || fail "recipes set what not every Open MPI knows: $set_for_all"

# --- texts of errors: each that the components print is in the catalogue beside them, and no other ---
diff <(grep -rhoE 'lfc_help\("[^"]+"' "$tree"/{btl_lfc,mca,osc_neon} --include='*.c' | cut -d'"' -f2 | sort -u) \
  <(sed -nE 's/^\[(.*)\]$/\1/p' "$build/components/help-lfc.txt" | sort) || fail "the catalogue has other topics than the program prints"

# --- an installation, in any folder ---
DESTDIR=$scratch/copy cmake --install "$build" >/dev/null
prefix=$(dirname "$(dirname "$(find "$scratch/copy" -name lfc-info)")")
# The installed programs look for liblfc in its final folder, not in this copy.
LD_LIBRARY_PATH=$(dirname "$(find "$scratch/copy" -name mca_btl_lfc.so)")
export LD_LIBRARY_PATH

# Messages, help texts and manual pages name pages by a whole path, and only pages that are installed.
! grep -rnE '"[^"]*(\.md\b|scripts/)' "$tree"/{btl_lfc,common,mca,osc_neon} --include='*.[ch]' --include='*.[ch]pp' --include='*.def' |
  grep -vE '%s/|#include' || fail "a text names a file without the installed path (see above)"
named() { # named TEXT ROOT: checks that the text names pages, and only some that are installed below ROOT
  local name count=0
  while read -r name; do
    [[ $name == *"/share/doc/lfc/"*.md && -s $2${name#\\fB} ]] || fail "${1#"$scratch"/} names $name, which is not installed"
    count=$((count + 1))
  done < <(sed 's/\\-/-/g' "$1" | grep -oE '[^] ,`("]*\.md\b')
  ((count > 0)) || fail "${1#"$scratch"/} names no page"
}
for program in lfc-info lfc-look; do
  "$prefix/bin/$program" --help >"$scratch/$program.help"
  named "$scratch/$program.help" ''
done
named "$LD_LIBRARY_PATH/help-lfc.txt" "$scratch/copy"
for page in man1/lfc-info.1 man1/lfc-look.1 man3/mpix_neon.3 man3/lfc_ordered.3 man7/btl_lfc.7 man7/coll_lfc.7 man7/osc_neon.7; do
  named "$prefix/share/man/$page" "$scratch/copy"
done

# The links of installed pages lead to installed pages.
while IFS=: read -r page link; do
  [[ -s $(dirname "$page")/${link%%#*} ]] || fail "$page: $link leads nowhere"
done < <(cd "$prefix/share/doc/lfc" && grep -roE '\]\([^):#]+\.md' . | sed "s|:\](|:|; s|^\.|$PWD|")

# Every parameter that ompi_info knows of LFC, and every function of the public headers, has its entry.
for component in "${components[@]}"; do
  page=$prefix/share/man/man7/${component/ /_}.7
  # shellcheck disable=SC2086  # two words
  expect 0 . env OMPI_MCA_mca_base_component_path="$build/components" ompi_info --parsable --level 9 --param $component
  while read -r name; do
    grep -qE "^\\\\fB$name\\\\fR" "$page" || fail "$name has no entry in $page"
  done < <(sed -nE 's/^LFC_PARAMETER\([a-z_]+, ([a-z_]+),.*/\1/p' "$tree/common/lfc/parameters/${component/ /_}.def" | sed "s/^/${component/ /_}_/")
  for name in $(grep -oE "param:${component/ /_}_[a-z0-9_]+:" <<<"$output" | tr -d : | sed 's/^param//' | sort -u); do
    grep -q "$name" "$page" || fail "$name is not in $page"
  done
done
for name in $(grep -rhoE '\b(MPIX_(Neon|[A-Z][a-z_]+notify)|NEON_[A-Z]|lfc_ordered_)[A-Za-z_]*\(' "$tree"/mca/libraries/*/include/*.h | tr -d '(' | sort -u); do
  [[ -e $prefix/share/man/man3/$name.3 ]] || fail "there is no page of $name"
done
if command -v groff >/dev/null; then
  # Pages that only lead to another one are looked for from the folder above.
  cd "$prefix/share/man"
  for page in man*/*; do
    complaint=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
    [[ -z $complaint ]] || fail "$page: $complaint"
  done
fi

# A program finds the libraries by pkg-config and by CMake, wherever they were moved to.
mv "$prefix" "$scratch/moved"
cat >"$scratch/both.c" <<'C'
#include <mpix_neon.h>
#include <lfc_ordered.h>
int main(int argc, char** argv) {
  int level = -1;
  MPI_Win win;
  void* memory;
  MPI_Init(&argc, &argv);
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPIX_Neon_query(win, &level);
  MPI_Win_free(&win);
  MPI_Finalize();
  return level != MPIX_NEON_ABSENT || lfc_ordered_error(LFC_ORDERED_OK) == 0;
}
C
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/moved" -name mpix_neon.pc)")
export PKG_CONFIG_PATH
libraries=$(dirname "$PKG_CONFIG_PATH")
[[ $(pkg-config --modversion mpix_neon lfc_ordered | sort -u) == "$version" ]] || fail "pkg-config prints another version"
# shellcheck disable=SC2046  # words
mpicc "$scratch/both.c" -o "$scratch/both" $(pkg-config --cflags --libs mpix_neon lfc_ordered)
mkdir "$scratch/project"
cat >"$scratch/project/CMakeLists.txt" <<C
cmake_minimum_required(VERSION 3.25)
project(both C)
find_package(MpixNeon $version REQUIRED)
find_package(LfcOrdered $version REQUIRED)
add_executable(both $scratch/both.c)
target_link_libraries(both MpixNeon::mpix_neon LfcOrdered::lfc_ordered)
C
expect 0 . cmake -G Ninja -S "$scratch/project" -B "$scratch/project/build" -DCMAKE_PREFIX_PATH="$scratch/moved"
expect 0 . cmake --build "$scratch/project/build"
for program in "$scratch/both" "$scratch/project/build/both"; do
  LD_LIBRARY_PATH=$libraries:$LD_LIBRARY_PATH expect 0 '' timeout 600 mpirun -n 1 --allow-run-as-root "$program"
done

# --- an Open MPI without its developer headers ---
running=$(ompi_info --version | sed -n '1s/^Open MPI v//p')
mkdir "$scratch/empty"
expect 1 "scripts/ompi-headers $running " "${configure[@]}" -B "$scratch/bare" -DLFC_OMPI_INCLUDE="$scratch/empty"

# A source tree of the version installed here that has been built.
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
