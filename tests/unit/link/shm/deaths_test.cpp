// Peers that are killed or write invalid values, and the places that they leave.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "descriptors.hpp"
#include "link/shm/incoming_places.hpp"
#include "link/shm/segment.hpp"
#include "link/shm/shm_link.hpp"
#include "unit/link/shm/world.hpp"

namespace lfc::shm_world {

TEST_CASE("shm: a killed peer is reported once, after its last frames", "[shm][process]") {
  // Whether the survivor only receives, only sends, or both.
  const bool receives = GENERATE(true, false);
  const bool sends = GENERATE(true, false);
  if (!receives && !sends) return;
  SharedBoard board;
  End a(1);
  Child child([&] {
    End b(2);
    std::string why;
    if (receives) {
      if (!b.link->connect(1, a.address(), why)) return false;
      for (int i = 0; i < 30; ++i)
        if (b.send(1, "last words") != SendStatus::sent) return false;
    }
    board->post(b.blob);
    board->step = 1;
    pause();
    return false;
  });
  REQUIRE(board->wait_for(1));
  std::string why;
  if (sends) {
    REQUIRE(a.link->connect(2, board->address(), why));
    REQUIRE(a.send(2, "x") == SendStatus::sent);
  }
  // One poll: the connection is known, and most frames are still in the ring.
  a.link->poll();
  child.kill();
  REQUIRE(a.poll_until([&] { return !a.sink.broken.empty(); }));
  CHECK(a.sink.broken[0].first == 2);
  CHECK(a.sink.broken[0].second == kExited);
  CHECK(a.sink.frames.size() == (receives ? 30u : 0u));
  CHECK(a.send(2, "x") == SendStatus::broken);
  CHECK_FALSE(a.link->remote_memory(2));
  for (const auto end = steady_clock::now() + std::chrono::milliseconds(500);
       steady_clock::now() < end;)
    a.link->poll();
  CHECK(a.sink.broken.size() == 1);
  a.link->close(2);
  CHECK_FALSE(a.link->connect(2, board->address(), why));
}

TEST_CASE("shm: a process that ended before it was met has ended, a running one has not",
          "[shm][process]") {
  SharedBoard board;
  End a(1), c(3);
  Child child([&] {
    End b(2);
    board->post(b.blob);
    board->step = 1;
    pause();
    return false;
  });
  REQUIRE(board->wait_for(1));
  CHECK_FALSE(a.link->has_ended(board->address()));
  child.kill();
  CHECK_FALSE(child.finished());
  std::string why;
  CHECK_FALSE(a.link->connect(2, board->address(), why));
  CHECK(why == kExited);
  CHECK(a.link->has_ended(board->address()));
  CHECK_FALSE(a.link->has_ended(c.address()));
}

TEST_CASE("shm: places of processes that were killed are free again, whenever the kill happened",
          "[shm][process]") {
  ShmOptions one;
  one.places = 1;
  End a(1, one);
  const SegmentName name = name_in(a.address());
  SECTION("with frames never read") {
    Child child([&] {
      End b(2);
      return b.connect(a) && b.send(1, "x") == SendStatus::sent && ::kill(getpid(), SIGKILL) == 0;
    });
    CHECK_FALSE(child.finished());
  }
  SECTION("with a place claimed, before it was ready") {
    // The claim as RemotePlace makes it, by a process that is killed at that moment.
    const Child child([&] { return true; });
    const int fd = static_cast<int>(name.memory.fd);
    const std::uint64_t claim =
        Claim{PlaceState::claimed, static_cast<std::uint32_t>(child.pid())}.packed();
    REQUIRE(pwrite(fd, &claim, sizeof claim, sizeof(SegmentHead)) == sizeof claim);
  }
  End c(3);
  std::string why;
  CHECK_FALSE(c.connect(a, &why));
  CHECK(a.poll_until([&] { return c.connect(a); }));
}

TEST_CASE("shm: an orderly exit of the other process is not reported as a loss", "[shm][process]") {
  SharedBoard board;
  End a(1);
  Child child([&] {
    End b(2);
    std::string why;
    if (!b.link->connect(1, a.address(), why)) return false;
    for (int i = 0; i < 20; ++i)
      if (b.send(1, "x") != SendStatus::sent) return false;
    board->post(b.blob);
    board->step = 1;
    return board->wait_for(2);
  });
  REQUIRE(board->wait_for(1));
  std::string why;
  REQUIRE(a.link->connect(2, board->address(), why));
  REQUIRE(a.send(2, "x") == SendStatus::sent);
  board->step = 2;
  REQUIRE(child.finished());
  REQUIRE(a.poll_until([&] { return a.sink.frames.size() == 20; }));
  for (const auto end = steady_clock::now() + std::chrono::milliseconds(500);
       steady_clock::now() < end;)
    a.link->poll();
  CHECK(a.sink.broken.empty());
}

TEST_CASE("shm: a peer that writes nonsense into its ring is cut off", "[shm]") {
  End a(1), b(2);
  const std::vector<std::byte> own = a.blob;
  std::string why;
  std::optional<RemotePlace> place = RemotePlace::claim(name_in(b.address()), 0, own, why);
  REQUIRE(place);
  auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(place->ring() + kRingHead);
  word = RingWord::pack(0, {static_cast<FrameType>(77), 0, 0}, 5);
  REQUIRE(b.poll_until([&] { return !b.sink.broken.empty(); }));
  CHECK(b.sink.broken.size() == 1);
  CHECK(b.sink.frames.empty());
  CHECK(place->abandoned());
}

TEST_CASE("shm: random bytes in a claimed place are refused without a call of the sink", "[shm]") {
  End a(1), b(2);
  std::string why;
  std::vector<std::byte> noise(200, std::byte{0x5a});
  const auto garbage = RemotePlace::claim(name_in(b.address()), 0, noise, why);
  const auto empty = RemotePlace::claim(name_in(b.address()), 0, {}, why);
  // The address of another process: its pid differs from the claimant's.
  SegmentName other = name_in(a.address());
  other.memory.pid = 1;
  const Address stranger = with_name(a.address(), other);
  const auto impostor = RemotePlace::claim(name_in(b.address()), 0, stranger.bytes(), why);
  REQUIRE((garbage && empty && impostor));
  for (int i = 0; i < 10; ++i) b.link->poll();
  CHECK(b.sink.connects.empty());
  CHECK((garbage->abandoned() && empty->abandoned() && impostor->abandoned()));
  CHECK(a.connect(b));
}

TEST_CASE("shm: a process without a descriptor for the owner's bell does not connect", "[shm]") {
  ShmOptions options;
  options.bell = true;
  End b(1, options);
  const End a(2);
  for (int descriptors = 0; descriptors <= 2; ++descriptors) {
    std::string why;
    const std::optional<RemotePlace> place = [&] {
      AllDescriptors taken;
      for (int i = 0; i < descriptors; ++i) taken.give_back();
      return RemotePlace::claim(name_in(b.address()), 0, a.blob, why);
    }();
    INFO(descriptors << " descriptors: " << why);
    CHECK(place.has_value() ==
          (descriptors > 0));  // one, first for the segment, then for the socket
    if (place) CHECK(place->cord() != nullptr);
  }
}

TEST_CASE("shm: a peer that talks and is talked to costs one descriptor", "[shm][process]") {
  ShmOptions options;
  options.bell = true;
  SharedBoard mine, theirs[3];
  End own(0, options);
  mine->post(own.blob);
  const std::size_t files = open_files();
  std::vector<std::unique_ptr<Child>> children;
  for (SharedBoard& board : theirs) {
    const auto rank = static_cast<std::uint32_t>(&board - theirs + 1);
    children.push_back(std::make_unique<Child>([&] {
      End end(rank, options);
      std::string why;
      if (!end.link->connect(0, mine->address(), why) || end.send(0, "x") != SendStatus::sent)
        return false;
      board->post(end.blob);
      board->step = 1;
      return end.poll_until([&] { return !end.sink.frames.empty(); }) && board->wait_for(2);
    }));
  }
  std::string why;
  for (SharedBoard& board : theirs) {
    const auto rank = static_cast<PeerId>(&board - theirs + 1);
    REQUIRE(board->wait_for(1));
    REQUIRE(own.link->connect(rank, board->address(), why));
    REQUIRE(own.send(rank, "y") == SendStatus::sent);
  }
  REQUIRE(own.poll_until([&] { return own.sink.frames.size() == 3; }));
  // One more for the socket that wakes all of them, and one for the next such socket.
  CHECK(open_files() == files + 3 + 2);
  for (SharedBoard& board : theirs) board->step = 2;
  for (const auto& child : children) CHECK(child->finished());
}

// Open MPI need not remove a peer that has ended, and a process may spawn others without end.
TEST_CASE("shm: a peer that has ended takes no descriptor and no memory, though it is never closed",
          "[shm][process]") {
  const bool killed = GENERATE(false, true);
  SharedBoard board;
  End a(1);
  const std::size_t files = open_files(), mappings = shared_mappings();
  Child child([&] {
    End b(2);
    board->post(b.blob);
    if (!b.connect(a) || b.send(1, "x") != SendStatus::sent) return false;
    board->step = 1;
    if (!board->wait_for(2)) return false;
    if (killed) pause();
    return true;
  });
  REQUIRE(board->wait_for(1));
  std::string why;
  REQUIRE(a.link->connect(2, board->address(), why));
  REQUIRE(a.send(2, "x") == SendStatus::sent);
  REQUIRE(a.poll_until([&] { return a.sink.frames.size() == 1; }));
  CHECK(open_files() > files);
  CHECK(shared_mappings() > mappings);
  board->step = 2;
  if (killed) child.kill();
  CHECK(child.finished() != killed);
  CHECK(a.poll_until([&] { return open_files() == files && shared_mappings() == mappings; }));
  CHECK(a.send(2, "x") == SendStatus::broken);
  CHECK(a.link->ring(2)->send({FrameType::message, 0, 0}, nullptr, 0) == SendStatus::broken);
}

TEST_CASE("shm: nothing is left behind, not in /dev/shm and no open files", "[shm]") {
  const auto entries = [] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      names.push_back(entry.path());
    return names;
  };
  const auto before = entries();
  const std::size_t files = open_files();
  {
    End a(1), b(2);
    REQUIRE(a.connect(b));
    REQUIRE(b.connect(a));
    REQUIRE(a.send(2, "x") == SendStatus::sent);
    b.link->poll();
    CHECK(entries() == before);
  }
  CHECK(open_files() == files);
}

}  // namespace lfc::shm_world
