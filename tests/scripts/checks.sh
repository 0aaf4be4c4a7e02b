#!/usr/bin/env bash
# The checks of the sources find what they are for: each is given a tree with one mistake in it.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

for script in setup lab chroot13 test quickstart format; do
  expect 0 "^scripts/$script" "$tree/scripts/$script" --help
done

# A small project of the same shape.
cp -r "$tree/scripts" "$tree/.clang-format" "$tree/.clang-tidy" "$scratch"
mkdir -p "$scratch"/{common,build,components}
cd "$scratch"
printf '#pragma once\n#include <string>\ninline int length(const std::string& s) { return static_cast<int>(s.size()); }\n' >common/good.hpp
printf '#include "good.hpp"\nint use();\nint use() { return length("x"); }\n' >common/good.cpp
cat >build/compile_commands.json <<J
[{"directory": "$scratch/build", "command": "g++ -std=c++20 -fno-gnu-unique -I$scratch/common -o good.o -c $scratch/common/good.cpp",
  "file": "$scratch/common/good.cpp"}]
J

expect 0 '^1 headers, 0 do not' scripts/checks/headers build
printf '#pragma once\ninline std::string bad() { return {}; }\n' >common/bad.hpp
expect 1 '^common/bad.hpp does not compile alone' scripts/checks/headers build
rm common/bad.hpp

if command -v clang-format-14 >/dev/null; then
  expect 0 '' scripts/format --check
  printf 'int   x=1;\n' >common/bad.cpp
  expect 1 'not in format: ./common/bad.cpp' scripts/format --check
  scripts/format common/bad.cpp
  [[ $(cat common/bad.cpp) == 'int x = 1;' ]] || fail "not formatted: $(cat common/bad.cpp)"
  rm common/bad.cpp
fi

if command -v clang-tidy >/dev/null; then
  expect 0 '^1 file\(s\) clean' scripts/checks/tidy build
  printf '#include <string>\n#include <utility>\nstd::size_t f(std::string s);\nstd::size_t f(std::string s) {\n  std::string t = std::move(s);\n  return s.size() + t.size();\n}\n' >common/good.cpp
  expect 1 'bugprone-use-after-move' scripts/checks/tidy build
fi

component() { # component EXTRA-C: builds components/mca_btl_x.so
  printf 'int mca_btl_x_component;\n%s\n' "$1" | cc -shared -fPIC -x c - -o components/mca_btl_x.so
}
printf 'namespace lfc { void f() {} }\n' | g++ -shared -fPIC -x c++ - -o components/liblfc.so.0
component ''
expect 0 '' scripts/checks/exports components
component 'void stray(void) {}'
expect 1 '^stray$' scripts/checks/exports components
printf 'int other;\n' | cc -shared -fPIC -x c - -o components/mca_btl_x.so
expect 1 'lacks mca_btl_x_component' scripts/checks/exports components
component ''
printf 'void stray_too() {}\n' | g++ -shared -fPIC -x c++ - -o components/liblfc.so.0
expect 1 '^stray_too\(\)$' scripts/checks/exports components
echo "every check finds its mistake"
