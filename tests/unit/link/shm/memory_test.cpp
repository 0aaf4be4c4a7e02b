// Remote memory of the links shm and loop, and frames to the same process.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "link/loop/loop_link.hpp"
#include "link/shm/segment.hpp"
#include "link/shm/shm_link.hpp"
#include "unit/link/shm/world.hpp"

namespace lfc::shm_world {

TEST_CASE("shm: remote memory in one copy", "[shm][process]") {
  SharedBoard board;
  constexpr std::size_t kSize = 3 << 20;
  std::vector<char> target(kSize, 'o');
  Child child([&] {
    // The parent accesses this process's copy of `target`.
    End b(2);
    board->post(b.blob);
    board->step = 1;
    if (!board->wait_for(2)) return false;
    return target == std::vector<char>(kSize, 'n');
  });
  REQUIRE(board->wait_for(1));
  const bool wanted = GENERATE(true, false);
  ShmOptions options;
  options.cma = wanted;
  End a(1, options);
  std::string why;
  CHECK_FALSE(a.link->remote_memory(2));
  REQUIRE(a.link->connect(2, board->address(), why));
  CHECK(a.link->remote_memory(2) == wanted);

  LinkRegion remote, local;
  REQUIRE(a.link->register_memory(target.data(), target.size(), remote));
  CHECK(remote.base == reinterpret_cast<std::uintptr_t>(target.data()));
  std::vector<char> buffer(kSize, 'n');
  const auto expected = wanted ? Link::Start::done : Link::Start::failed;
  CHECK(a.link->put(2, buffer.data(), local, remote.base, remote, kSize, nullptr) == expected);
  std::fill(buffer.begin(), buffer.end(), '?');
  CHECK(a.link->get(2, buffer.data(), local, remote.base, remote, kSize, nullptr) == expected);
  CHECK(buffer == std::vector<char>(kSize, wanted ? 'n' : '?'));
  // Partly or wholly outside the mapped memory.
  CHECK(a.link->get(2, buffer.data(), local, 16, remote, 8, nullptr) == Link::Start::failed);
  const auto near_end = ~std::uint64_t{0} - 4096;
  CHECK(a.link->put(2, buffer.data(), local, near_end, remote, 64, nullptr) == Link::Start::failed);
  const CopyPiece good{buffer.data(), remote.base, 8}, bad{buffer.data(), near_end, 8};
  for (const auto& pieces : {std::vector{good, bad}, std::vector{bad, good}})
    CHECK_FALSE(a.link->put_pieces(2, pieces, remote));
  board->step = 2;
  CHECK(child.finished() == wanted);
}

TEST_CASE("shm: one notice is printed when single copy is refused", "[shm]") {
  static std::vector<std::string> lines;
  lines.clear();
  ShmOptions options;
  options.notice = [](std::string_view line) { lines.emplace_back(line); };
  End a(1, options), b(2), c(3);
  for (const End* end : {&b, &c}) {
    SegmentName name = name_in(end->address());
    name.probe = 8;  // not mapped
    std::string why;
    REQUIRE(a.link->connect(end->identity.name.rank, with_name(end->address(), name), why));
    CHECK_FALSE(a.link->remote_memory(end->identity.name.rank));
  }
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("Bad address") != std::string::npos);
}

TEST_CASE("loop: frames to oneself wait for poll, in order; memory is moved", "[loop]") {
  const Identity self{{1, 4}, 77, 8};
  Recorder sink;
  std::string why;
  std::unique_ptr<Link> link = make_loop_link({}, self, sink, why);
  REQUIRE(link != nullptr);
  const Address own = *Address::parse(AddressWriter(self).finish());
  const Address other = *Address::parse(AddressWriter({{1, 4}, 78, 8}).finish());
  CHECK(link->reach(own, why));
  CHECK_FALSE(link->reach(other, why));
  CHECK_FALSE(link->connect(4, other, why));

  const std::string large(20'000, 'l');
  const Slice slices[] = {{"head", 4}, {large.data(), large.size()}};
  CHECK(link->send(4, {FrameType::message, 1, 0}, slices, 2) == SendStatus::broken);
  REQUIRE(link->connect(4, own, why));
  CHECK(link->send(4, {FrameType::message, 1, 0}, slices, 1) == SendStatus::sent);
  CHECK(link->send(4, {FrameType::message, 1, 0}, slices, 2) == SendStatus::sent);
  CHECK(sink.frames.empty());
  // A frame sent from inside the sink is delivered later, not nested.
  int echoes = 0;
  sink.after_frame = [&] {
    if (++echoes == 1) link->send(4, {FrameType::message, 2, 0}, slices, 1);
    CHECK(sink.frames.size() == static_cast<std::size_t>(echoes));
  };
  CHECK(link->poll() == 3);
  CHECK(sink.connects == std::vector<PeerId>{4});
  REQUIRE(sink.frames.size() == 3);
  CHECK(text_of(sink.frames[0]) == "head");
  CHECK(text_of(sink.frames[1]) == "head" + large);
  CHECK(sink.frames[2].meta.tag == 2);

  std::string memory = "0123456789";
  LinkRegion region;
  REQUIRE(link->register_memory(memory.data(), memory.size(), region));
  REQUIRE(link->remote_memory(4));
  CHECK(link->put(4, memory.data(), region, region.base + 2, region, 6, nullptr) ==
        Link::Start::done);
  CHECK(memory == "0101234589");
  std::string seen(3, ' ');
  CHECK(link->get(4, seen.data(), {}, region.base + 7, region, 3, nullptr) == Link::Start::done);
  CHECK(seen == "589");

  REQUIRE(link->send(4, {FrameType::message, 1, 0}, slices, 1) == SendStatus::sent);
  link->close(4);
  CHECK(link->send(4, {FrameType::message, 1, 0}, slices, 1) == SendStatus::broken);
  CHECK(link->poll() == 1);

  LoopOptions bad;
  bad.ring.slots = 3;
  CHECK(make_loop_link(bad, self, sink, why) == nullptr);
}

}  // namespace lfc::shm_world
