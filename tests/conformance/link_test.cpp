// The contract of link/link.hpp, one test body per clause, over every kind of link.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>

#include "catch.hpp"
#include "conformance/kinds.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

// Kinds that can be opened on this machine. For the others it prints the name and the reason, once.
const std::vector<Kind>& available() {
  static const std::vector<Kind> list = [] {
    std::vector<Kind> able;
    for (const Kind& kind : kinds()) {
      Lan lan(kind, 2);
      if (lan.open() && lan.connect(0, lan.other())) {
        able.push_back(kind);
        std::printf("conformance: %s\n", kind.name.c_str());
      } else {
        std::printf("conformance: %s is not available: %s\n", kind.name.c_str(),
                    lan.why_not.c_str());
      }
    }
    std::fflush(stdout);
    return able;
  }();
  return list;
}

// Runs `body` in a separate section for each kind.
template <class Body>
void for_each_kind(int ends, Body body) {
  for (const Kind& kind : available()) {
    if (kind.to_itself && ends > 2) continue;
    DYNAMIC_SECTION(kind.name) {
      Lan lan(kind, ends);
      REQUIRE(lan.open());
      body(lan);
      INFO(lan.describe());
      for (int end = 0; end < (kind.to_itself ? 1 : ends); ++end) CHECK(lan[end].offences.empty());
    }
  }
}

void fill(std::vector<std::byte>& bytes, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
}

// The frame with this number: all its fields and bytes follow from the number.
struct Sample {
  Sample(std::uint64_t number, std::size_t limit) {
    Random random(number * 31 + 7);
    static constexpr FrameType kTypes[] = {FrameType::message, FrameType::put, FrameType::get_data,
                                           FrameType::credit, FrameType::put_ack};
    meta.type = kTypes[random.below(5)];
    meta.tag = static_cast<std::uint8_t>(random.next());
    meta.credits = static_cast<std::uint8_t>(random.next());
    // Control frames are short. Half of the data frames are short as well, and some have the largest size.
    std::size_t bound = is_data(meta.type) ? limit : 32;
    if (random.chance(500)) bound = std::min<std::size_t>(bound, 300);
    const std::size_t size = random.below(bound + 1);
    bytes.resize(is_data(meta.type) && random.chance(50) ? limit : size);
    fill(bytes, number);
    pieces = static_cast<int>(random.below(4));
    if (pieces == 0 && !bytes.empty()) pieces = 1;
    std::size_t at = 0;
    for (int piece = 0; piece < pieces; ++piece) {
      const std::size_t left = bytes.size() - at;
      const std::size_t piece_size = piece + 1 == pieces ? left : random.below(left + 1);
      slices[piece] = {bytes.data() + at, piece_size};
      at += piece_size;
    }
  }
  bool same(const End::Frame& frame) const {
    return frame.meta.type == meta.type && frame.meta.tag == meta.tag &&
           frame.meta.credits == meta.credits && frame.payload == bytes;
  }
  Meta meta{};
  std::vector<std::byte> bytes;
  Slice slices[3];
  int pieces = 0;
};

constexpr Meta kMessage{FrameType::message, 5, 0};
constexpr Meta kControl{FrameType::credit, 0, 0};

}  // namespace

TEST_CASE("at least sim, loop, shm, tcp and bond are under test", "[conformance]") {
  for (const char* name : {"sim", "sim+rma", "loop", "shm", "tcp", "bond", "bond:strands"}) {
    INFO(name);
    CHECK(std::any_of(available().begin(), available().end(),
                      [&](const Kind& kind) { return kind.name == name; }));
  }
}

TEST_CASE("frames arrive in order, exactly once, unchanged", "[conformance]") {
  for_each_kind(2, [](Lan& lan) {
    const int b = lan.other();
    REQUIRE(lan.connect(0, b));
    const std::size_t limit = lan[0].link->max_payload();
    const std::uint64_t count = std::min<std::uint64_t>(2000, (24u << 20) / limit);
    const bool both = b != 0;
    if (both) REQUIRE(lan.connect(1, 0));
    lan[0].keep_frames = lan[b].keep_frames = false;
    std::uint64_t seen[2] = {0, 0};
    for (const int to : {0, b}) {
      lan[to].on_each = [&, to](PeerId, Meta meta, std::span<const std::byte> payload) {
        const Sample expected(seen[to]++ * 2 + (to == b ? 0u : 1u), limit);
        if (!expected.same({0, meta, {payload.begin(), payload.end()}}))
          lan[to].offences.push_back("frame " + std::to_string(seen[to] - 1) + " is wrong");
      };
    }
    Random random(3);
    for (std::uint64_t number = 0; number < count; ++number) {
      const Sample forth(number * 2, limit);
      REQUIRE(lan.send(0, b, forth.meta, forth.slices, forth.pieces));
      if (both) {
        const Sample back(number * 2 + 1, limit);
        REQUIRE(lan.send(1, 0, back.meta, back.slices, back.pieces));
      }
      if (random.chance(300)) lan.poll();
    }
    INFO(lan.describe());
    REQUIRE(lan.poll_until([&] { return seen[b] == count && (!both || seen[0] == count); }));
    for (int i = 0; i < 50; ++i) lan.poll();
    REQUIRE(seen[b] == count);  // and no more
  });
}

TEST_CASE("send copies: the bytes are the caller's again at once", "[conformance]") {
  for_each_kind(2, [](Lan& lan) {
    const int b = lan.other();
    REQUIRE(lan.connect(0, b));
    const std::size_t limit = lan[0].link->max_payload();
    std::vector<std::size_t> sizes{1, 8, 100, 632, 633, 2000, limit / 2, limit};
    for (std::size_t& size : sizes) size = std::min(size, limit);
    for (std::size_t size : sizes) {
      std::vector<std::byte> bytes(size);
      fill(bytes, size);
      REQUIRE(lan.send(0, b, kMessage, bytes.data(), size));
      std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
    }
    REQUIRE(lan.poll_until([&] { return lan[b].frames.size() == sizes.size(); }));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<std::byte> bytes(sizes[i]);
      fill(bytes, sizes[i]);
      REQUIRE(lan[b].frames[i].payload == bytes);
    }
  });
}

TEST_CASE("a receiver that does not poll stops the sender, and nothing is lost", "[conformance]") {
  for_each_kind(2, [](Lan& lan) {
    const int b = lan.other();
    REQUIRE(lan.connect(0, b));
    REQUIRE(lan.send(0, b, kMessage, nullptr, 0));
    REQUIRE(lan.poll_until([&] { return lan[b].frame_count == 1; }));
    lan[b].keep_frames = false;
    std::uint32_t expected = 0;
    lan[b].on_each = [&](PeerId, Meta, std::span<const std::byte> payload) {
      std::uint32_t number = 0;
      std::memcpy(&number, payload.data(), sizeof number);
      if (number != expected++) lan[b].offences.emplace_back("out of order after a refusal");
    };
    // Sends until the link returns `again` each time, although the sender polls.
    std::vector<std::byte> bytes(lan[0].link->max_payload());
    std::uint32_t sent = 0;
    int refused = 0;
    std::uint64_t volume = 0;
    while (refused < 200 && volume < (256u << 20)) {
      std::memcpy(bytes.data(), &sent, sizeof sent);
      const SendStatus status = lan.try_send(0, b, kMessage, bytes.data(), bytes.size());
      REQUIRE(status != SendStatus::broken);
      if (status == SendStatus::sent) {
        refused = 0;
        ++sent;
        volume += bytes.size();
      } else {
        ++refused;
        if (b != 0) lan[0].link->poll();
      }
    }
    INFO("frames taken: " << sent);
    REQUIRE(refused == 200);
    // The reserve: control frames still leave.
    for (int i = 0; i < 4; ++i) {
      INFO("control frame " << i);
      REQUIRE(lan.try_send(0, b, kControl, &sent, sizeof sent) == SendStatus::sent);
      ++sent;
    }
    REQUIRE(lan.poll_until([&] { return expected == sent; }));
    std::memcpy(bytes.data(), &sent, sizeof sent);
    REQUIRE(lan.send(0, b, kMessage, bytes.data(), bytes.size()));
    ++sent;
    REQUIRE(lan.poll_until([&] { return expected == sent; }));
  });
}

TEST_CASE("no sender starves another", "[conformance]") {
  for_each_kind(4, [](Lan& lan) {
    if (!lan.keeps(Clause::many_may_flood)) return;
    std::map<PeerId, std::uint64_t> got;
    lan[0].keep_frames = false;
    lan[0].on_each = [&](PeerId peer, Meta, std::span<const std::byte>) { ++got[peer]; };
    for (int from : {1, 2, 3}) {
      if (!lan.connect(from, 0)) FAIL(lan.why_not);
      REQUIRE(lan.send(from, 0, kMessage, nullptr, 0));
    }
    REQUIRE(lan.poll_until([&] { return got.size() == 3; }));
    got.clear();
    const std::vector<std::byte> bytes(std::min<std::size_t>(1000, lan[0].link->max_payload()));
    const bool enough = lan.poll_until([&] {
      for (int from : {1, 2, 3})
        for (int i = 0; i < 100; ++i)
          if (lan.try_send(from, 0, kMessage, bytes.data(), bytes.size()) != SendStatus::sent)
            break;
      return std::any_of(got.begin(), got.end(), [](auto& pair) { return pair.second > 3000; });
    });
    INFO(got[lan.id(0, 1)] << " " << got[lan.id(0, 2)] << " " << got[lan.id(0, 3)] << "\n"
                           << lan.describe());
    REQUIRE(enough);
    for (int from : {1, 2, 3}) {
      INFO("from " << from << ": " << got[lan.id(0, from)]);
      CHECK(got[lan.id(0, from)] > 300);
    }
  });
}

TEST_CASE("send may be called from inside a callback", "[conformance]") {
  for_each_kind(2, [](Lan& lan) {
    const int b = lan.other();
    REQUIRE(lan.connect(0, b));
    REQUIRE(lan.connect(b, 0));
    constexpr std::uint32_t kRounds = 500;
    std::uint32_t last = 0;
    std::deque<std::pair<int, std::uint32_t>> refused;  // sender and number, to be tried again
    const auto reply = [&](int end, std::uint32_t number) {
      const int peer = end == 0 ? b : 0;
      if (lan.try_send(end, peer, kMessage, &number, sizeof number) != SendStatus::sent)
        refused.emplace_back(end, number);
    };
    for (const int end : {0, b}) {
      lan[end].keep_frames = false;
      lan[end].on_each = [&, end](PeerId, Meta, std::span<const std::byte> payload) {
        std::uint32_t number = 0;
        std::memcpy(&number, payload.data(), sizeof number);
        if (number != last + 1) lan[end].offences.emplace_back("out of order");
        last = number;
        if (number < kRounds) reply(end, number + 1);
      };
    }
    const std::uint32_t first = 1;
    REQUIRE(lan.send(0, b, kMessage, &first, sizeof first));
    INFO(lan.describe());
    REQUIRE(lan.poll_until([&] {
      if (!refused.empty()) {
        const auto [end, number] = refused.front();
        refused.pop_front();
        reply(end, number);
      }
      return last == kRounds;
    }));
  });
}

TEST_CASE("on_connect comes before the first frame, and may refuse", "[conformance]") {
  for_each_kind(3, [](Lan& lan) {
    bool announced = false;
    lan[1].on_each = [&](PeerId peer, Meta, std::span<const std::byte>) {
      announced = lan[1].connected[peer] >= 1;
    };
    REQUIRE(lan.connect(0, 1));
    REQUIRE(lan.connect(0, 1));  // again: harmless
    REQUIRE(lan.send(0, 1, kMessage, "x", 1));
    REQUIRE(lan.poll_until([&] { return lan[1].frame_count == 1; }));
    REQUIRE(announced);
    REQUIRE(lan[1].connected.size() == 1);

    // The accepting end may reply at once. A connect() of its own does no harm.
    REQUIRE(lan.connect(1, 0));
    REQUIRE(lan.send(1, 0, kMessage, "y", 1));
    REQUIRE(lan.poll_until([&] { return lan[0].frame_count == 1; }));
    REQUIRE(lan[0].frames[0].peer == lan.id(0, 1));

    // A peer that on_connect() rejects delivers nothing and disturbs no other peer.
    lan[1].refuse = true;
    if (lan.connect(2, 1))
      for (int i = 0; i < 200; ++i) {
        lan.try_send(2, 1, kMessage, "z", 1);
        lan.poll();
      }
    REQUIRE(lan[1].frame_count == 1);
    REQUIRE(lan.send(0, 1, kMessage, "w", 1));
    REQUIRE(lan.poll_until([&] { return lan[1].frame_count == 2; }));
  });
}

TEST_CASE("both may connect at the same time", "[conformance]") {
  for_each_kind(3, [](Lan& lan) {
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b)
        if (a != b) REQUIRE(lan.connect(a, b));
    for (std::uint32_t number = 0; number < 20; ++number)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          if (a != b) REQUIRE(lan.send(a, b, kMessage, &number, sizeof number));
    INFO(lan.describe());
    REQUIRE(lan.poll_until([&] {
      return lan[0].frame_count == 40 && lan[1].frame_count == 40 && lan[2].frame_count == 40;
    }));
    for (int b = 0; b < 3; ++b) {
      std::map<PeerId, std::uint32_t> next;
      for (const End::Frame& frame : lan[b].frames) {
        std::uint32_t number = 0;
        std::memcpy(&number, frame.payload.data(), sizeof number);
        REQUIRE(number == next[frame.peer]++);
      }
      REQUIRE(next.size() == 2);
    }
  });
}

TEST_CASE("frames sent before close are delivered, and none sent after it", "[conformance]") {
  for_each_kind(2, [](Lan& lan) {
    const int b = lan.other();
    REQUIRE(lan.connect(0, b));
    REQUIRE(lan.connect(b, 0));
    if (b != 0) {  // both directions are up before one is closed
      REQUIRE(lan.send(b, 0, kMessage, "x", 1));
      REQUIRE(lan.poll_until([&] { return lan[0].frame_count == 1; }));
    }
    std::vector<std::byte> bytes(std::min<std::size_t>(2000, lan[0].link->max_payload()));
    constexpr std::size_t kFrames = 40;
    for (std::size_t i = 0; i < kFrames; ++i) {
      fill(bytes, i);
      REQUIRE(lan.send(0, b, kMessage, bytes.data(), bytes.size()));
    }
    lan[0].link->close(lan.id(0, b));
    if (b == 0) return;  // with itself, both directions are closed
    INFO(lan.describe());
    REQUIRE(lan.poll_until([&] { return lan[b].frame_count == kFrames; }));
    for (std::size_t i = 0; i < kFrames; ++i) {
      fill(bytes, i);
      REQUIRE(lan[b].frames[i].payload == bytes);
    }
    // The other side notices when it sends.
    REQUIRE(
        lan.poll_until([&] { return lan.try_send(b, 0, kMessage, "x", 1) == SendStatus::broken; }));
    for (int i = 0; i < 100; ++i) lan.poll();
    REQUIRE(lan[0].frame_count == 1);
    REQUIRE(lan[b].broken[lan.id(b, 0)] <= 1);
  });
}

TEST_CASE("two that have closed may connect anew under other numbers", "[conformance]") {
  for_each_kind(2, [](Lan& lan) {
    if (lan.other() == 0) return;
    for (std::uint32_t round = 0; round < 3; ++round) {
      INFO("round " << round << "\n" << lan.describe());
      const std::size_t before = lan[1].frame_count;
      REQUIRE(lan.connect(0, 1));
      REQUIRE(lan.send(0, 1, kMessage, &round, sizeof round));
      REQUIRE(lan.poll_until([&] { return lan[1].frame_count == before + 1; }));
      REQUIRE(lan.connect(1, 0));
      const std::size_t back = lan[0].frame_count;
      REQUIRE(lan.send(1, 0, kMessage, &round, sizeof round));
      REQUIRE(lan.poll_until([&] { return lan[0].frame_count == back + 1; }));
      lan[0].link->close(lan.id(0, 1));
      lan[1].link->close(lan.id(1, 0));
      lan.forget(0, 1);
      lan.forget(1, 0);
      for (int i = 0; i < 300; ++i) lan.poll();
    }
  });
}

// The peer closes in order. Then the link may call on_broken() or not. Killed peers are tested for each link in
// tests/unit, with separate processes.
TEST_CASE("a peer whose link is gone is noticed by the next sends", "[conformance]") {
  for_each_kind(3, [](Lan& lan) {
    if (!lan.keeps(Clause::end_is_noticed)) return;
    for (int peer : {1, 2}) {
      REQUIRE(lan.connect(0, peer));
      REQUIRE(lan.send(0, peer, kMessage, "x", 1));
    }
    REQUIRE(lan.poll_until([&] { return lan[1].frame_count == 1 && lan[2].frame_count == 1; }));
    lan.destroy(1);
    INFO(lan.describe());
    REQUIRE(
        lan.poll_until([&] { return lan.try_send(0, 1, kMessage, "x", 1) == SendStatus::broken; }));
    for (int i = 0; i < 300; ++i) lan.poll();
    REQUIRE(lan[0].broken[lan.id(0, 1)] <= 1);
    REQUIRE(lan.try_send(0, 1, kMessage, "x", 1) == SendStatus::broken);
    REQUIRE(lan.send(0, 2, kMessage, "y", 1));  // other peers are not affected
    REQUIRE(lan.poll_until([&] { return lan[2].frame_count == 2; }));
    REQUIRE(lan[0].broken.count(lan.id(0, 2)) == 0);
  });
}

TEST_CASE("drained reports that all frames have left, and an idle link does no work",
          "[conformance]") {
  for_each_kind(2, [](Lan& lan) {
    const int b = lan.other();
    REQUIRE(lan[0].link->drained());
    REQUIRE(lan.connect(0, b));
    std::vector<std::byte> bytes(lan[0].link->max_payload());
    for (int i = 0; i < 20; ++i) REQUIRE(lan.send(0, b, kMessage, bytes.data(), bytes.size()));
    REQUIRE(lan.poll_until([&] { return lan[0].link->drained(); }));
    REQUIRE(lan.poll_until([&] { return lan[b].frame_count == 20; }));
    REQUIRE(lan.poll_until([&] {
      bool idle = true;
      for (int i = 0; i < 20; ++i)
        idle = lan[0].link->poll() == 0 && lan[b].link->poll() == 0 && idle;
      return idle;
    }));
    REQUIRE(lan[0].link->drained());
  });
}

TEST_CASE("an address without this link's section is not reached, and the reason is reported",
          "[conformance]") {
  for_each_kind(2, [](Lan& lan) {
    AddressWriter writer({{9, 9}, 1, 4});
    const std::vector<std::byte> blob = std::move(writer).finish();
    std::string why_not;
    REQUIRE_FALSE(lan[0].link->reach(*Address::parse(blob), why_not));
    REQUIRE_FALSE(why_not.empty());
    REQUIRE(why_not.find('\n') == std::string::npos);
    // Nor does it accept an address with a damaged section.
    const std::string section(lan[0].link->name());
    Random random(8);
    for (int round = 0; round < 200; ++round) {
      AddressWriter bad({{9, 9}, 1, 4});
      std::vector<std::byte> junk(random.below(64));
      fill(junk, static_cast<std::uint64_t>(round));
      bad.add(section, junk);
      const std::vector<std::byte> bad_blob = std::move(bad).finish();
      std::string ignored;
      lan[0].link->reach(*Address::parse(bad_blob), ignored);
    }
  });
}

}  // namespace lfc
