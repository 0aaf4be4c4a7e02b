// Frames over the link shm, places, and connections as they are made and closed.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "link/shm/incoming_places.hpp"
#include "link/shm/segment.hpp"
#include "link/shm/shm_link.hpp"
#include "unit/link/shm/world.hpp"

namespace lfc::shm_world {

TEST_CASE("shm: frames of all sizes reach a peer, and its connection is reported once", "[shm]") {
  End a(1), b(2);
  REQUIRE(a.connect(b));
  CHECK(a.connect(b));
  std::vector<std::string> sent;
  for (std::size_t size : {0, 1, 8, 631, 632, 633, 1000, 2048, 4096, 4160, 4161, 32768}) {
    sent.emplace_back(size, static_cast<char>('a' + sent.size()));
    REQUIRE(a.send(2, sent.back()) == SendStatus::sent);
  }
  REQUIRE(b.poll_until([&] { return b.sink.frames.size() == sent.size(); }));
  CHECK(b.sink.connects == std::vector<PeerId>{1});
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CHECK(b.sink.frames[i].peer == 1);
    CHECK(b.sink.frames[i].meta.tag == 3);
    CHECK(b.sink.frames[i].meta.credits == 1);
    CHECK(text_of(b.sink.frames[i]) == sent[i]);
  }
  CHECK(a.link->poll() == 0);
  CHECK(b.link->poll() == 0);
  CHECK(a.send(7, "nobody") == SendStatus::broken);
}

TEST_CASE("shm: two processes exchange frames both ways under load", "[shm][process]") {
  SharedBoard board;
  constexpr std::uint32_t kFrames = 30'000;
  // Each process replies to each frame with the next number, and also sends as fast as it can.
  const auto play = [](End& end, PeerId other) {
    std::uint32_t next = 0;
    std::vector<std::uint32_t> words(2048);
    return end.poll_until([&] {
      if (next < kFrames) {
        const std::size_t size = next % 16 == 0 ? words.size() : 1 + next % 60;
        words[0] = words[size - 1] = next;
        if (end.send(other, words.data(), size * sizeof words[0]) == SendStatus::sent) ++next;
      }
      return next == kFrames && end.sink.frames.size() == kFrames;
    });
  };
  const auto in_order = [](const End& end) {
    if (end.sink.frames.size() != kFrames) return false;
    for (std::uint32_t i = 0; i < kFrames; ++i) {
      const auto& payload = end.sink.frames[i].payload;
      std::uint32_t first = 0, last = 0;
      std::memcpy(&first, payload.data(), sizeof first);
      std::memcpy(&last, payload.data() + payload.size() - sizeof last, sizeof last);
      if (first != i || last != i) return false;
    }
    return true;
  };
  End a(1);
  Child child([&] {
    End b(2);
    std::string why;
    if (!b.link->connect(1, a.address(), why)) return false;
    board->post(b.blob);
    board->step = 1;
    return play(b, 1) && in_order(b) && board->wait_for(2);
  });
  REQUIRE(board->wait_for(1));
  std::string why;
  REQUIRE(a.link->connect(2, board->address(), why));
  CHECK(play(a, 2));
  CHECK(in_order(a));
  board->step = 2;
  CHECK(child.finished());
}

TEST_CASE("shm: one poll is bounded and fair among senders", "[shm]") {
  End receiver(0);
  std::vector<std::unique_ptr<End>> senders;
  for (std::uint32_t rank = 1; rank <= 6; ++rank) {
    senders.push_back(std::make_unique<End>(rank));
    REQUIRE(senders.back()->connect(receiver));
    for (int i = 0; i < 40; ++i) REQUIRE(senders.back()->send(0, "x") == SendStatus::sent);
  }
  CHECK(receiver.link->poll() == 64);
  for (int i = 0; i < 2; ++i) receiver.link->poll();
  std::vector<int> heard(7);
  for (const auto& frame : receiver.sink.frames) ++heard[frame.peer];
  for (std::uint32_t rank = 1; rank <= 6; ++rank) CHECK(heard[rank] >= 16);
}

TEST_CASE("shm: a full ring refuses data, keeps room for control, and recovers", "[shm]") {
  End a(1), b(2);
  REQUIRE(a.connect(b));
  int sent = 0;
  while (a.send(2, "data") == SendStatus::sent) ++sent;
  CHECK(sent == 56);
  for (int i = 0; i < 8; ++i) CHECK(a.send(2, "c", 1, FrameType::credit) == SendStatus::sent);
  REQUIRE(b.poll_until([&] { return b.sink.frames.size() == 64; }));
  CHECK(a.send(2, "data") == SendStatus::sent);
}

TEST_CASE("shm: reach and connect return the reason of a failure", "[shm]") {
  End a(1), b(2);
  std::string why;
  const Address nowhere = *Address::parse(AddressWriter({{1, 5}, 1, 8}).finish());
  CHECK_FALSE(a.link->reach(nowhere, why));
  CHECK(why == "peer has no shared-memory segment");

  const SegmentName good = name_in(b.address());
  const auto refused = [&](auto change, bool reachable) {
    SegmentName name = good;
    change(name);
    why.clear();
    const Address changed = with_name(b.address(), name);
    CHECK(a.link->reach(changed, why) == reachable);
    why.clear();
    CHECK_FALSE(a.link->connect(2, changed, why));
    CHECK_FALSE(why.empty());
    return why;
  };
  CHECK(refused([](SegmentName& name) { ++name.space.boot; }, false) == "on another node");
  const auto far_away = [](SegmentName& name) {
    ++name.space.pid_namespace;
    ++name.space.net_namespace;
  };
  CHECK(refused(far_away, false).find("in another pid namespace") == 0);
  CHECK(refused([](SegmentName& name) { ++name.space.user; }, false).find("user") !=
        std::string::npos);
  CHECK(refused([](SegmentName& name) { ++name.version; }, false) == "speaks another version");
  CHECK(refused([](SegmentName& name) { ++name.memory.cookie[1]; }, true).find("cookie") !=
        std::string::npos);
  CHECK(refused([](SegmentName& name) { name.memory.fd = 0; }, true).find("segment") !=
        std::string::npos);
  CHECK(refused([](SegmentName& name) { name.memory.fd = 9999; }, true).find("No such file") !=
        std::string::npos);
  CHECK(refused([](SegmentName& name) { name.memory.pid = 0x7ffffff0; }, true) == kExited);
  CHECK(a.connect(b));
}

TEST_CASE("shm: options out of range are refused with words", "[shm]") {
  Recorder sink;
  for (const ShmOptions& options :
       {ShmOptions{{63, 1 << 18, 1 << 15}}, ShmOptions{{64, 1 << 18, 1 << 17}}, ShmOptions{{}, 0},
        ShmOptions{{}, 1 << 20}}) {
    std::string why;
    CHECK(make_shm_link(options, sink, why) == nullptr);
    CHECK_FALSE(why.empty());
  }
}

TEST_CASE("shm: rings of different shapes; frames that are too large are known at connect",
          "[shm]") {
  End large(1, ShmOptions{{64, 1 << 18, 1 << 15}}), small(2, ShmOptions{{16, 1 << 14, 1 << 12}});
  std::string why;
  CHECK_FALSE(large.connect(small, &why));
  CHECK(why ==
        "peer takes frames of at most 4096 bytes, because its btl_lfc_shm_bulk is smaller: all "
        "ranks need the same value");
  REQUIRE(small.connect(large));
  CHECK(small.send(1, std::string(4096, 'x')) == SendStatus::sent);
  CHECK(large.poll_until([&] { return large.sink.frames.size() == 1; }));
}

TEST_CASE("shm: when all places are taken connect fails, and works again after a close", "[shm]") {
  ShmOptions two;
  two.places = 2;
  End receiver(0, two);
  End a(1), b(2), c(3);
  REQUIRE(a.connect(receiver));
  REQUIRE(b.connect(receiver));
  std::string why;
  CHECK_FALSE(c.connect(receiver, &why));
  CHECK(why == "all 2 ring places of the peer are taken");

  // Frames sent before the close are still delivered; then the place is free and clean.
  for (int round = 0; round < 50; ++round) {
    const auto before = receiver.sink.frames.size();
    for (int i = 0; i < 10; ++i) REQUIRE(a.send(0, std::string(700, 'r')) == SendStatus::sent);
    a.link->close(0);
    CHECK(a.send(0, "closed") == SendStatus::broken);
    REQUIRE(receiver.poll_until([&] { return receiver.sink.frames.size() == before + 10; }));
    for (int i = 0; i < 4; ++i) receiver.link->poll();
    REQUIRE(c.connect(receiver));
    REQUIRE(c.send(0, "hello") == SendStatus::sent);
    REQUIRE(receiver.poll_until([&] { return text_of(receiver.sink.frames.back()) == "hello"; }));
    c.link->close(0);
    for (int i = 0; i < 4; ++i) receiver.link->poll();
    REQUIRE(a.connect(receiver));
  }
  CHECK(receiver.sink.broken.empty());
}

TEST_CASE("shm: a peer that closes and comes back at once keeps its order", "[shm]") {
  End a(1), b(2);
  int next = 0;
  for (int round = 0; round < 20; ++round) {
    REQUIRE(a.connect(b));
    if (round % 3 == 1) b.link->poll();
    for (int i = 0; i < 30; ++i) {
      REQUIRE(a.send(2, std::to_string(next++)) == SendStatus::sent);
      if (i == 20 && round % 3 == 2) b.link->poll();
    }
    a.link->close(2);
  }
  REQUIRE(b.poll_until([&] { return b.sink.frames.size() == static_cast<std::size_t>(next); }));
  for (int i = 0; i < next; ++i) REQUIRE(text_of(b.sink.frames[i]) == std::to_string(i));
  CHECK(b.sink.broken.empty());
}

TEST_CASE("shm: closing ends both directions, and the other side detects it when it sends",
          "[shm]") {
  End a(1), b(2);
  REQUIRE(a.connect(b));
  REQUIRE(b.connect(a));
  REQUIRE(b.send(1, "unheard") == SendStatus::sent);
  a.link->poll();
  REQUIRE(a.sink.frames.size() == 1);
  a.link->close(2);
  REQUIRE(b.send(1, "too late") == SendStatus::sent);
  CHECK(b.poll_until([&] { return b.send(1, "?") == SendStatus::broken; }));
  for (int i = 0; i < 10; ++i) a.link->poll();
  CHECK(a.sink.frames.size() == 1);
  // b sends: its link reports the loss only now, and once.
  CHECK(b.poll_until([&] { return !b.sink.broken.empty(); }));
  CHECK(b.poll_until([&, n = 0]() mutable { return ++n > 10'000; }));
  REQUIRE(b.sink.broken.size() == 1);
  CHECK(b.sink.broken[0].first == 1);
  std::string why;
  CHECK_FALSE(b.connect(a, &why));
  b.link->close(1);
  CHECK(b.connect(a));
}

TEST_CASE("shm: closing also ends a connection of the peer that has not been noticed yet",
          "[shm]") {
  End a(1), b(2), c(3);
  REQUIRE(a.connect(b));
  REQUIRE(b.connect(a));
  REQUIRE(c.connect(a));
  REQUIRE(b.send(1, "never seen") == SendStatus::sent);
  a.link->close(2);
  CHECK(b.poll_until([&] {
    a.link->poll();
    return b.send(1, "x") == SendStatus::broken;
  }));
  CHECK(a.sink.frames.empty());
  CHECK(a.sink.connects == std::vector<PeerId>{3});
}

TEST_CASE("shm: the sink may close the peer whose frame it is looking at", "[shm]") {
  End a(1), b(2);
  REQUIRE(a.connect(b));
  for (int i = 0; i < 10; ++i) REQUIRE(a.send(2, "x") == SendStatus::sent);
  b.sink.after_frame = [&] { b.link->close(1); };
  for (int i = 0; i < 10; ++i) b.link->poll();
  CHECK(b.sink.frames.size() == 1);
}

TEST_CASE("shm: an unwanted sender is refused and its place comes back", "[shm]") {
  ShmOptions one;
  one.places = 1;
  End a(1), b(2, one);
  b.sink.refuse = true;
  REQUIRE(a.connect(b));
  REQUIRE(a.send(2, "x") == SendStatus::sent);
  for (int i = 0; i < 10; ++i) b.link->poll();
  CHECK(b.sink.frames.empty());
  CHECK(b.sink.connects.size() == 1);
  CHECK(a.poll_until([&] { return a.send(2, "x") == SendStatus::broken; }));
  CHECK(a.poll_until([&] { return a.sink.broken.size() == 1; }));
  a.link->close(2);
  for (int i = 0; i < 10; ++i) b.link->poll();
  b.sink.refuse = false;
  CHECK(a.connect(b));
}

}  // namespace lfc::shm_world
