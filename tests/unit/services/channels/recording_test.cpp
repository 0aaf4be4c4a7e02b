#include "services/channels/protocol/recording.hpp"

#include <string>

#include "catch.hpp"

namespace {

using lfc::channels::Recording;

lfc_recorded send_of(std::int32_t tag) {
  return {LFC_RECORDED_SEND, LFC_RECORDED_STANDARD, false, 3, 2, 1, tag};
}
lfc_recorded any_receive() {
  return {LFC_RECORDED_RECEIVE, LFC_RECORDED_STANDARD, true, 3, 2, -1, -1};
}

}  // namespace

TEST_CASE("a recording counts calls that are alike, and keeps their order", "[channels]") {
  Recording recording;
  recording.note(send_of(7), 8, true);
  recording.note(any_receive(), 100, false);
  for (int i = 0; i < 3; ++i) recording.note(send_of(7), i == 2 ? 16 : 8, true);
  recording.note(send_of(8), 0, true);
  CHECK(recording.text(4, 2) ==
        "process rank=4 node=2\n"
        "send comm=3/2 peer=1 tag=7 mode=standard persistent=no messages=4 pieces=0 "
        "sizes=8:3,16:1\n"
        "receive comm=3/2 peer=any tag=any persistent=yes messages=1 pieces=1 sizes=100:1\n"
        "send comm=3/2 peer=1 tag=8 mode=standard persistent=no messages=1 pieces=0 sizes=0:1\n"
        "order 0 1 0*3 2\n");
}

TEST_CASE("a process that sends nothing has a recording, too", "[channels]") {
  CHECK(Recording().text(0, 0) == "process rank=0 node=0\norder\n");
}

TEST_CASE("a recording counts the calls and sizes that it leaves out", "[channels]") {
  Recording recording({.kinds = 1, .sizes = 2, .order = 3});
  for (std::size_t size = 10; size < 50; size += 10) recording.note(send_of(7), size, true);
  recording.note(send_of(8), 8, true);
  recording.note(send_of(9), 8, true);
  CHECK(recording.text(0, 0) ==
        "process rank=0 node=0\n"
        "send comm=3/2 peer=1 tag=7 mode=standard persistent=no messages=4 pieces=0 "
        "sizes=10:1,20:1,35:2\n"
        "order 0*3 ... of 6 calls\n"
        "unnoted messages=2 beyond 1 kinds of calls\n");
}

TEST_CASE("a recording has the program's name and a digest of its contents", "[channels]") {
  const lfc::channels::Program program = lfc::channels::own_program();
  CHECK(program.name == "lfc_unit");
  CHECK(program.digest != 0);
  CHECK(program.digest == lfc::channels::own_program().digest);
  CHECK(lfc::channels::title({"a", 255}, 4) ==
        "lfc-recording version=1 ranks=4 program=a digest=00000000000000ff\n");
}
