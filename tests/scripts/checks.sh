#!/usr/bin/env bash
# The checks of the sources find their faults: each is given a tree with one mistake in it.
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
commands() { # commands FILE...: the commands of a build that compiles them
  local file entries=()
  for file; do
    entries+=("{\"directory\": \"$scratch/build\", \"file\": \"$scratch/$file\", \"command\":
      \"$([[ $file == *.c ]] && echo gcc || echo g++ -std=c++20 -fno-gnu-unique) -I$scratch/common -o x.o -c $scratch/$file\"}")
  done
  (IFS=, && echo "[${entries[*]}]") >build/compile_commands.json
}
commands common/good.cpp

expect 0 '^1 headers, 0 do not' scripts/checks/headers build
printf '#pragma once\ninline std::string bad() { return {}; }\n' >common/bad.hpp
expect 1 '^common/bad.hpp does not compile alone' scripts/checks/headers build
rm common/bad.hpp

# Each kind of hit, in a comment, a page or a text.
rm scripts/checks/words.table
expect 0 ' 0 counts differ' scripts/checks/words --update
unwanted() { # unwanted AREA KIND FILE LINE: with LINE at the end of FILE the check finds a hit more than is permitted
  cp "$3" before
  printf '%s\n' "$4" >>"$3"
  expect 1 "^$1: [0-9]+ hits of $2, more than the" scripts/checks/words
  expect 1 "^$1: [0-9]+ hits of $2, more than the" scripts/checks/words --update # raises nothing
  expect 0 "^$3:[0-9]+: $2: " scripts/checks/words --list "$1" "$2"
  mv before "$3"
}
echo '# A page' | tee README.md >common/README.md
unwanted common what common/good.cpp '// It sends of what has come.'
unwanted common who common/good.cpp '/* Who has waited sends a frame. */'
unwanted common speech common/good.cpp 'int x;  // the link says how many'
unwanted common body common/good.cpp '// Nobody waits.'
unwanted common fragment common/good.cpp '// Of the links that of the peer.'
unwanted common private common/good.cpp '// A cable has broken.'
unwanted texts speech common/good.cpp 'auto text = "the peer has told nothing";'
unwanted identifiers speech common/good.cpp 'int tell_loss();'
unwanted identifiers fragment common/good.cpp 'int own;'
unwanted cases who common/good.cpp 'TEST_CASE("tcp: who waits is "
          "served") {}'
unwanted cases fragment common/good.cpp 'TEST_CASE("of two links one is used") {}'
unwanted sections body common/good.cpp 'SECTION("nobody waits") {}'
mkdir tests && touch tests/run.sh
unwanted fails speech tests/run.sh "fail \"the rank said nothing\""
unwanted user_pages private README.md 'The host runs.'
unwanted developer_pages what common/README.md '| here | what the link sends |'
printf '// Returns what it has read. The page says so. What does it read? `nobody` is a name.\n' >>common/good.cpp
expect 0 ' 0 counts differ' scripts/checks/words
sed -i 's/^\(common .*\)0$/\13/' scripts/checks/words.table
expect 1 '^common: 0 hits of private, less than 3: lower the ceiling' scripts/checks/words
expect 0 ' 0 counts differ' scripts/checks/words --update
sed -i '$d' common/good.cpp
rm -r README.md common/README.md tests

message() { # message STATUS PATTERN TEXT: the hook for commit messages
  printf '%b' "$3" >message
  expect "$1" "$2" scripts/hooks/commit-msg message
}
message 0 '' 'coll, btl: let ranks start in any order\n\nBecause it failed.\n# A comment of git, longer than a line of a body may be, which is no part of the text.\n'
message 0 '' 'Merge branch x\n'
message 0 '' "area: text\n\nhttps://$(printf 'x%.0s' {1..80})\n"
message 1 "is not 'area: text'" 'Collectives start in any order\n'
message 1 "is not 'area: text'" ''
message 1 'has 78 columns' "area: $(printf 'x%.0s' {1..72})\n"
message 1 'below the subject is not empty' 'area: text\nmore\n'
message 1 '83 columns, more than 72' "area: text\n\nword $(printf 'x%.0s' {1..78})\n"

if command -v clang-format-14 >/dev/null; then
  expect 0 '' scripts/format --check
  printf 'int   x=1;\n' >common/bad.cpp
  expect 1 'not in format: ./common/bad.cpp' scripts/format --check
  scripts/format common/bad.cpp
  [[ $(cat common/bad.cpp) == 'int x = 1;' ]] || fail "not formatted: $(cat common/bad.cpp)"
  rm common/bad.cpp
  cp .clang-format before
  echo 'NoSuchKey: 1' >>.clang-format
  expect 1 'NoSuchKey' scripts/format --check
  mv before .clang-format
fi

if command -v clang-tidy >/dev/null; then
  expect 0 '^1 file\(s\) clean' scripts/checks/tidy build
  printf '#include <string>\n#include <utility>\nstd::size_t f(std::string s);\nstd::size_t f(std::string s) {\n  std::string t = std::move(s);\n  return s.size() + t.size();\n}\n' >common/good.cpp
  expect 1 'bugprone-use-after-move' scripts/checks/tidy build
  for folder in mca btl_lfc osc_neon; do # no folder is left out
    mkdir -p "$folder/below"
    mv common/good.cpp "$folder/below/bad.cpp"
    commands "$folder/below/bad.cpp"
    expect 1 "$folder/below/bad.cpp:.*bugprone-use-after-move" scripts/checks/tidy build
    mv "$folder/below/bad.cpp" common/good.cpp
    printf 'int f(int x) {\n  if (x) return sizeof("a" + 1);\n  return 0;\n}\n' >"$folder/below/bad.c"
    commands "$folder/below/bad.c"
    expect 1 "$folder/below/bad.c:.*bugprone-sizeof-expression" scripts/checks/tidy build
    mv "$folder/below/bad.c" "$folder/below/other.c"
    expect 1 "^.$folder/below/other.c: the build leaves it out" scripts/checks/tidy build
    rm -r "$folder"
  done
  commands common/good.cpp
fi

# git determines which files are new, not their times. In a separate folder: below a clone the copies would count as
# part of it.
mkdir history
cp -r scripts common build .clang-tidy history
cd history
sed -i "s|$scratch|$PWD|g; s|good|new|g" build/compile_commands.json
export GIT_CEILING_DIRECTORIES=$scratch
commit() { git -c user.name=x -c user.email=x@y commit -q "$@"; }
changed() { "$PWD/scripts/lib/changed" "$@" 2>/dev/null; }
changed_are() { # changed_are FILES COUNT PATTERN...
  [[ $(changed "${@:2}" | paste -sd ' ') == "$1" ]] || fail "changed, by 'changed ${*:2}': $(changed "${@:2}"), not: $1"
}
rm common/*
echo 'int old();' | tee common/{old,edited,gone,new}.hpp >common/old.cpp
expect 77 'no file is known to be new: fatal: not a git' scripts/checks/tidy --newest 3 build
expect 77 'no file is known to be new: fatal: not a git' scripts/checks/headers build --newest 3
git init -q
git add common
commit -m 'all'
expect 77 'no file is known to be new: the clone has no history' scripts/lib/changed 3 '*.hpp'
git rm -q common/gone.hpp
echo '// Changed.' | tee -a common/new.hpp >common/new.cpp
git add common
commit -m 'one'
touch -d '2 hours' common/old.hpp
changed_are common/new.hpp 9 '*.hpp'
changed_are 'common/new.cpp common/new.hpp' 9 'common/*.cpp' 'common/*.hpp'
echo 'std::string bad();' | tee common/untracked.hpp >>common/edited.hpp
changed_are 'common/edited.hpp common/untracked.hpp common/new.hpp' 9 '*.hpp'
changed_are 'common/edited.hpp' 1 '*.hpp'
expect 0 '^changed: 2 more were changed in the last 10 commits$' scripts/lib/changed 1 '*.hpp'
expect 1 '^common/untracked.hpp does not compile alone' scripts/checks/headers build --newest 9
[[ $output == *$'\n3 headers, 2 do not compile alone' ]] || fail "other headers than the changed ones are compiled: $output"
git checkout -q common
rm common/untracked.hpp
for ((i = 0; i < 10; i++)); do commit --allow-empty -m "$i"; done
expect 0 '^0 headers, 0 do not' scripts/checks/headers build --newest 9
if command -v clang-tidy >/dev/null; then
  expect 0 '^0 file\(s\) clean: none was changed' scripts/checks/tidy --newest 9 build
  printf '#include <memory>\nint f(std::unique_ptr<int> p) {\n  const auto q = std::move(p);\n  return *p;\n}\n' >common/new.cpp
  expect 1 'common/new.cpp:.*bugprone-use-after-move' scripts/checks/tidy --newest 9 build
fi
unset GIT_CEILING_DIRECTORIES
cd "$scratch"

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
component ''
printf 'namespace lfc { void f() {} }\n' | g++ -shared -fPIC -x c++ - -o components/liblfc.so.0
printf 'void NEON_Put(void) {}\nvoid stray_call(void) {}\n' | cc -shared -fPIC -x c - -o libmpix_neon.so
expect 1 '^stray_call$' scripts/checks/exports components libmpix_neon.so

objects=sanitized/tests/CMakeFiles/lfc_unit.dir/Unity library=sanitized/common/CMakeFiles/lfc.dir
mkdir -p $objects $library
object() { # object FILE SANITIZERS
  printf 'int f(int *p, int i) { return p[i] << i; }\n' | cc "-fsanitize=$2" -c -x c - -o "$1"
}
object $objects/a.o undefined
expect 1 'no object of the unit tests' scripts/checks/sanitized sanitized
object $objects/a.o address
object $library/b.o address
expect 1 '^no object of liblfc' scripts/checks/sanitized sanitized
object $library/b.o address,undefined
expect 0 '' scripts/checks/sanitized sanitized
object $objects/a.o address,undefined
expect 1 '^a test is checked' scripts/checks/sanitized sanitized

# A static object, and one of each thread, that is destroyed at its end; in a component, liblfc, and a public library.
printf 'struct A { ~A(); }; A::~A() {} thread_local A a; extern "C" void NEON_Put() { (void)&a; }\n' >thread_end.cpp
component ''
expect 0 '' scripts/checks/exports components
printf 'namespace lfc { struct A { ~A(); }; A::~A() {} static A a; }\n' | g++ -shared -fPIC -x c++ - -o components/liblfc.so.0
expect 1 'liblfc.so.0 destroys objects at exit, by __cxa_atexit: make' scripts/checks/exports components
printf 'namespace lfc { void f() {} }\n' | g++ -shared -fPIC -x c++ - -o components/liblfc.so.0
g++ -shared -fPIC -fvisibility=hidden thread_end.cpp -o libmpix_neon.so
expect 1 'libmpix_neon.so destroys objects at exit, by .*__cxa_thread_atexit' scripts/checks/exports components libmpix_neon.so
component 'int atexit(void (*)(void)); static void f(void) {} __attribute__((constructor)) static void g(void) { atexit(f); }'
expect 1 'mca_btl_x.so destroys objects at exit, by __cxa_atexit: make' scripts/checks/exports components
component ''

# The next checks read the tree itself: a copy, in which they find nothing until a mistake is made.
mkdir copy
tar -C "$tree" --exclude ./build --exclude ./.git -cf - . | tar -C copy -xf -
cd copy

expect 0 ' 0 wrong includes' scripts/checks/layers
mistake() { # mistake CHECK PATTERN FILE LINE: with LINE at its end, the check complains of FILE
  cp "$3" before
  printf '%s\n' "$4" >>"$3"
  expect 1 "$2" "scripts/checks/$1"
  mv before "$3"
}
mistake layers 'common/wire/frame.cpp includes common/engine/ni.hpp' common/wire/frame.cpp '#include "engine/ni.hpp"'
mistake layers 'common/link/tcp/.* includes common/link/shm/' common/link/tcp/tcp_link.cpp '#include "link/shm/segment.hpp"'
mistake layers 'common/engine/ni.cpp includes mpi.h' common/engine/ni.cpp '#include <mpi.h>'
mistake layers 'common/engine/ni.cpp includes opal_config.h' common/engine/ni.cpp '#include "opal_config.h"'
mistake layers 'services/ordered/.*includes common/services/windows' common/services/ordered/ordered_broadcast.cpp '#include "services/windows/window_service.hpp"'
mistake layers 'which does not exist' common/wire/frame.cpp '#include "wire/nothing.hpp"'
mistake layers 'frame.cpp includes ../engine/ni.hpp, which has a part that' common/wire/frame.cpp '#include "../engine/ni.hpp"'
mistake layers 'common/wire/frame.cpp includes common/engine/ni.hpp' common/wire/frame.cpp '#include"engine/ni.hpp"'
# A permission that a row gives to one file, or that one file has in a row, holds for no other.
mistake layers 'common/engine/ni.cpp includes common/link/tcp/tcp_link.hpp' common/engine/ni.cpp '#include "link/tcp/tcp_link.hpp"'
mistake layers 'lfc_look.cpp includes common/lfc/lfc.h: mca/tools/lfc_look/ may not' mca/tools/lfc_look/lfc_look.cpp '#include "lfc/lfc.h"'
mkdir common/attic
echo 'int x;' >common/attic/old.cpp
expect 1 'common/attic/old.cpp: its folder is in no table' scripts/checks/layers
rm -r common/attic

expect 0 '^0 places know' scripts/checks/versions
mistake versions 'coll/module.c:.*: a decision by the version' mca/coll/module.c '#if OPAL_MAJOR_VERSION >= 5'
mistake versions 'osc_neon/window.c:.*: a decision by the version' osc_neon/window.c '#  elif defined(X) && OMPI_MINOR_VERSION'
mistake versions 'btl_lfc/send.c:.*: a tag of ob1' btl_lfc/send.c 'enum { kMatch = MCA_BTL_TAG_PML + 1 };'

expect 0 ' 0 complaints' scripts/checks/pages
mistake pages 'README.md:.* there is no btl_lfc/nothing.c' README.md 'See `btl_lfc/nothing.c`.'
mistake pages 'README.md:.* there is no test rma/nothing' README.md '*Held by* `rma/nothing`.'
mistake pages 'README.md:.* leads nowhere' README.md '[a page](common/NOTHING.md)'
mistake pages 'README.md:.* has no heading for #nothing' README.md '[a page](CONTRIBUTING.md#nothing)'
mistake pages 'README.md:.* columns, more than 120' README.md "$(printf 'word %.0s' {1..30})"
for path in build/default/nothing/at_all build/default/ordered/ordered_replicated build/defaults/bin; do
  mistake pages "README.md:.* no build makes $path" README.md "\`$path\`"
  mistake pages "frame.cpp:.* no build makes $path" common/wire/frame.cpp "// See $path."
done
mistake pages 'has no such_function' README.md '`btl_lfc/send.c:such_function`'
mistake pages 'there is no tests/unit/nothing_test.cpp' common/wire/frame.cpp '// Held by tests/unit/nothing_test.cpp.'
mistake pages 'no file is named nothing_test.cpp' common/wire/frame.cpp '// Held by nothing_test.cpp.'
mistake pages 'cites what is not in the tree' common/wire/frame.cpp '// Source: anchors 4.4.'
program=tests/rma/p$RANDOM.c # a name that occurs nowhere, not even here
echo 'int main(void) { return 0; }' >$program
expect 1 "$program: no test runs rma_" scripts/checks/pages
mistake pages "$program: no test runs rma_" tests/fault/flood.sh "# Like $(basename $program .c)."
mistake pages "$program: no test runs rma_" tests/suite.table "# Like rma_$(basename $program .c)."
echo "rma_$(basename $program .c)" >>tests/fault/flood.sh
expect 0 ' 0 complaints' scripts/checks/pages
cp "$tree/tests/fault/flood.sh" tests/fault
rm $program
echo true >btl_lfc/dead_test.sh
expect 1 'btl_lfc/dead_test.sh is named as a test' scripts/checks/pages
rm btl_lfc/dead_test.sh

bindings=mca/libraries/mpix_neon
expect 0 '^[0-9]+ calls, 0 complaints' scripts/checks/bindings
wrong_binding() { # wrong_binding PATTERN FILE SED-SCRIPT: with FILE changed so, the check complains
  cp "$2" before
  sed -i "$3" "$2"
  cmp -s before "$2" && fail "'$3' changes nothing in $2"
  expect 1 "$1" scripts/checks/bindings
  mv before "$2"
}
wrong_binding 'mpix_neon.f90 lacks MPIX_Win_new' $bindings/include/mpix_neon.h '$a int MPIX_Win_new(MPI_Win win);'
wrong_binding 'README.md lacks MPIX_Win_new' $bindings/include/mpix_neon.h '$a int MPIX_Win_new(MPI_Win win);'
wrong_binding 'mpix_neon.h lacks MPIX_Neon_query, which' $bindings/include/mpix_neon.h 's/MPIX_Neon_query(MPI_Win/MPIX_Neon_ask(MPI_Win/'
wrong_binding 'MPIX_Neon_notify has 4 arguments in include/mpix_neon.h, but with ierror 4 in' $bindings/include/mpix_neon.h 's/MPIX_Neon_notify(int target/&, int x/'
wrong_binding 'lfc_f_neon_query has 2 arguments in fortran.c, but 3 in' $bindings/fortran.c 's/lfc_f_neon_query(const MPI_Fint\* win, /lfc_f_neon_query(/'
wrong_binding 'fortran.c lacks lfc_f_neon_ask' $bindings/include/mpix_neon.f90 "s/'lfc_f_neon_query'/'lfc_f_neon_ask'/"
wrong_binding 'the last argument of MPIX_Neon_query is not ierror' $bindings/include/mpix_neon.f90 's/MPIX_Neon_query(win, level, ierror/MPIX_Neon_query(win, level, error/'
wrong_binding 'README.md lacks MPIX_Win_test_notify' $bindings/README.md 's/^| `MPIX_Win_test_notify`,/|/'
wrong_binding 'mpix_neon.h lacks MPIX_Rput_again, which' $bindings/README.md 's/^| `MPIX_Put_notify`,/& `MPIX_Rput_again`,/'
wrong_binding 'no Fortran program in tests/neon calls MPIX_Win_get_num' tests/neon/halo.f90 's/call MPIX_Win_get_num_notify/call other/'

# With the flags of the real build, if there is one.
if [[ -f $tree/build/default/compile_commands.json ]]; then
  wrong_example() { # wrong_example PATTERN SETTING FILE FROM TO
    cp "$3" before
    sed -i "s/$4/$5/" "$3"
    expect 1 "$1" scripts/checks/examples "$tree/build/default" "$2"
    mv before "$3"
  }
  wrong_example 'base.cpp does not compile' base.cpp common/stats/counters.hpp 'counters.add(Counter' 'counters.count(Counter'
  wrong_example 'c_api.c does not compile' c_api.c common/lfc/peers.h '= lfc_find_peer(job' '= lfc_find_peers(job'
  wrong_example 'shares.h: its example names lfc_share_give' look.cpp btl_lfc/shares.h '(lfc_share_take(' '(lfc_share_give('
  wrong_example 'errors.hpp has no example, but a setting' look.cpp common/base/errors.hpp '^\/\/   ' '\/\/ '
  printf '// New: a header.\n//\n//   New made;\n#pragma once\nstruct New {};\n' >common/base/new.hpp
  expect 1 'new.hpp: its example has no setting' scripts/checks/examples "$tree/build/default" look.cpp
  rm common/base/new.hpp
fi

# With the components of the real build, if they exist.
components=$tree/build/default/components
if [[ -f $components/mca_btl_lfc.so ]]; then
  expect 0 '^btl lfc: [0-9]+ parameters' scripts/checks/parameters "$components"
  wrong_page() { # wrong_page PATTERN SED-SCRIPT: with btl lfc's page changed so, the check complains
    cp btl_lfc/PARAMETERS.md before
    sed -i "$2" btl_lfc/PARAMETERS.md
    expect 1 "$1" scripts/checks/parameters "$components"
    mv before btl_lfc/PARAMETERS.md
  }
  wrong_page "^btl_lfc_get_limit: it accepts '4096 or more', but btl_lfc/PARAMETERS.md says '1 or more'" \
    's/^\(| `btl_lfc_get_limit`.* | \)4096 or/\11 or/'
  wrong_page '^btl_lfc_links is not in btl_lfc/PARAMETERS.md' 's/btl_lfc_links/btl_lfc link s/g'
  wrong_page '^btl_lfc_nothing is in btl_lfc/PARAMETERS.md, but it is no parameter' '$a btl_lfc_nothing'
  wrong_page '^btl_lfc_rail_timeout: its default is [0-9]+, but btl_lfc/PARAMETERS.md says 7' 's/^\(| `btl_lfc_rail_timeout` | \)[^|]*/\17 /'
fi

long() { printf 'int long_one(int x) {\n'; printf '  x += %d;\n' {1..61}; printf '  return x;\n}\n'; }
wide() { printf 'class Wide {\n public:\n'; printf '  int member%d;\n' {1..41}; printf '};\n'; }
mistake size 'frame.cpp:.* long_one.* has 64 lines' common/wire/frame.cpp "$(long)"
mistake size 'frame.cpp:.* Wide has 41 members' common/wire/frame.cpp "$(wide)"
mistake size 'frame.cpp:.* Wide has 41 variables' common/wire/frame.cpp "$(wide)"
mistake size 'frame.cpp:.* Wider has 43 members' common/wire/frame.cpp "$(wide) class Wider : private Wide { int f(); int g(); };"
mistake size 'frame.cpp:.* Flags has 5 flags' common/wire/frame.cpp 'struct Flags { bool a = false, b{true}; std::atomic<bool> c[2]; bool d; mutable bool e : 1; int f; static bool g; };'
mistake size 'None: members are no longer too many' scripts/checks/size.table 'common/wire/frame.cpp:None members 50'
# A function that a class overrides counts once. A ceiling must not be higher than needed, and only falls.
interface() { printf 'class Port {\n'; printf '  virtual void f%d() = 0;\n' {1..30}; printf '};\nclass Tcp : public Port {\n'; printf '  void f%d() override {}\n' {1..30}; printf '  void g%d();\n' {1..10}; printf '};\n'; }
cp common/wire/frame.cpp scripts/checks/size.table "$scratch/build"
interface >>common/wire/frame.cpp
expect 0 ' 0 things too large' scripts/checks/size
wide >>common/wire/frame.cpp
expect 1 'Wide has 41 members' scripts/checks/size --update
printf 'common/wire/frame.cpp:Wide %s 50\n' members variables >>scripts/checks/size.table
expect 1 'Wide has 41 members, less than 50' scripts/checks/size
expect 0 ' 0 things too large' scripts/checks/size --update
cp "$scratch/build/frame.cpp" common/wire
cp "$scratch/build/size.table" scripts/checks
mistake size 'frame.cpp: .* lines$' common/wire/frame.cpp "$(printf '// line %d\n' {1..500})"
mistake size 'frame_test.cpp: .* lines$' tests/unit/wire/frame_test.cpp "$(printf '// line %d\n' {1..500})"
echo "every check finds its mistake"
