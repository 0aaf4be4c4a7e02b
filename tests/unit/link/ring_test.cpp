// The ring alone: the invariants of link/ring.hpp.
#include "link/ring.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "deadline.hpp"
#include "ring_memory.hpp"

namespace {

using namespace lfc;

constexpr RingShape kSmall{16, 4096, 1024};
constexpr RingShape kShapes[] = {kSmall, RingShape{}, RingShape{16384, 4096, 1024}};

// A ring in private memory, with both ends.
struct TestRing {
  explicit TestRing(const RingShape& shape_)
      : shape(shape_),
        owned(shape),
        memory(owned.get()),
        writer(memory, shape),
        reader(memory, shape) {}
  TestRing(const TestRing&) = delete;
  TestRing& operator=(const TestRing&) = delete;

  SendStatus send(FrameType type, std::span<const std::byte> payload, std::size_t cut = 0) {
    const Slice slices[] = {{payload.data(), cut}, {payload.data() + cut, payload.size() - cut}};
    return writer.send({type, 7, 9}, slices, 2);
  }
  std::atomic<std::uint64_t>& word(std::uint64_t slot) {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory + kRingHead +
                                                          slot % shape.slots * kSlotBytes);
  }
  void set_position(std::uint64_t slot, BulkPosition position) {
    std::memcpy(reinterpret_cast<std::byte*>(&word(slot)) + sizeof(std::uint64_t), &position,
                sizeof position);
  }
  // Sends and receives one frame and checks it. Returns where its payload was; the ring is empty afterwards.
  const std::byte* pass(std::span<const std::byte> payload) {
    RingFrame frame;
    REQUIRE(send(FrameType::message, payload) == SendStatus::sent);
    REQUIRE(reader.peek(frame) == RingReader::Peek::frame);
    REQUIRE(std::equal(payload.begin(), payload.end(), frame.payload.begin(), frame.payload.end()));
    reader.pop();
    REQUIRE(reader.peek(frame) == RingReader::Peek::empty);
    return frame.payload.data();
  }
  std::atomic<std::uint64_t>& progress() {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory);
  }

  RingShape shape;
  RingMemory owned;
  std::byte* memory;
  RingWriter writer;
  RingReader reader;
};

std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed * 131 + i * 7);
  return bytes;
}

bool same(std::span<const std::byte> seen, std::span<const std::byte> expected) {
  return std::equal(seen.begin(), seen.end(), expected.begin(), expected.end());
}

}  // namespace

TEST_CASE("ring: shapes out of range are refused with words", "[ring]") {
  std::string why;
  CHECK(RingShape{}.valid(why));
  CHECK(kSmall.valid(why));
  CHECK(RingShape{64, 1 << 26, (1 << 24) - 1}.valid(why));
  CHECK(why.empty());
  for (const RingShape& shape :
       {RingShape{0, 4096, 1024}, RingShape{8, 4096, 1024}, RingShape{48, 4096, 1024},
        RingShape{32768, 4096, 1024}, RingShape{64, 0, 1024}, RingShape{64, 5000, 1024},
        RingShape{64, 4096, 1025}, RingShape{64, 4096, 0}, RingShape{64, 1 << 26, 1 << 24}}) {
    why.clear();
    CHECK_FALSE(shape.valid(why));
    CHECK_FALSE(why.empty());
  }
}

TEST_CASE("ring: random traffic arrives in order and whole, over many laps", "[ring][serial]") {
  const std::uint32_t seed = GENERATE(1u, 2u);
  const RingShape& shape = kShapes[GENERATE(0, 1, 2)];
  TestRing ring(shape);
  std::mt19937 random(seed);
  struct Expected {
    FrameType type;
    std::span<const std::byte> payload;
  };
  std::deque<Expected> expected;
  const std::vector<std::byte> bytes = pattern(shape.max_payload + 256, seed);
  std::uint32_t sent = 0, received = 0;
  constexpr std::uint32_t kFrames = 150'000;  // the sequence of 16 bits wraps twice
  while (received < kFrames) {
    // Bursts of either side, so that the ring fills up and empties.
    for (std::uint32_t burst = random() % (shape.slots * 2); burst != 0 && sent < kFrames;
         --burst) {
      const bool large = random() % 4 == 0;
      const std::size_t size = random() % ((large ? shape.max_payload : kInlinePayload + 8) + 1);
      const auto type = random() % 8 == 0 ? FrameType::credit : FrameType::message;
      const std::span payload(bytes.data() + random() % 256, size);
      const bool was_empty = expected.empty();
      const SendStatus status = ring.send(type, payload, random() % (size + 1));
      if (status == SendStatus::again) {
        // Progress that the reader has not published yet must never make an empty ring look full.
        if (was_empty) FAIL("refused by an empty ring");
        break;
      }
      if (status != SendStatus::sent) FAIL("broken");
      expected.push_back({type, payload});
      ++sent;
    }
    for (std::uint32_t burst = random() % (shape.slots * 2); burst != 0; --burst) {
      RingFrame frame;
      const auto found = ring.reader.peek(frame);
      const auto due = expected.empty() ? RingReader::Peek::empty : RingReader::Peek::frame;
      if (found != due) FAIL("found " << static_cast<int>(found) << " after " << received);
      if (expected.empty()) break;
      const bool right = frame.meta().type == expected.front().type && frame.meta().tag == 7 &&
                         frame.meta().credits == 9 && same(frame.payload, expected.front().payload);
      if (!right) FAIL("frame " << received << " differs, size " << frame.payload.size());
      if (reinterpret_cast<std::uintptr_t>(frame.payload.data()) % 8 != 0) FAIL("not aligned");
      expected.pop_front();
      ring.reader.pop();
      ++received;
    }
  }
}

TEST_CASE("ring: every size from nothing to the largest", "[ring]") {
  TestRing ring(kSmall);
  for (std::size_t size = 0; size <= kSmall.max_payload; ++size) {
    const auto payload = pattern(size, static_cast<std::uint32_t>(size));
    RingFrame frame;
    const bool arrived = ring.send(FrameType::message, payload, size / 3) == SendStatus::sent &&
                         ring.reader.peek(frame) == RingReader::Peek::frame;
    if (!arrived || !same(frame.payload, payload)) FAIL("size " << size);
    ring.reader.pop();
  }
  CHECK(ring.send(FrameType::message, pattern(kSmall.max_payload + 1, 0)) == SendStatus::broken);
}

TEST_CASE("ring: data leaves the reserve to control frames", "[ring]") {
  TestRing ring(RingShape{});
  const auto payload = pattern(8, 1);
  std::uint32_t data = 0, control = 0;
  while (ring.send(FrameType::message, payload) == SendStatus::sent) ++data;
  CHECK(data == 64 - kControlReserve);
  while (ring.send(FrameType::credit, payload) == SendStatus::sent) ++control;
  CHECK(control == kControlReserve);

  // After a quarter is consumed both sides can go on.
  RingFrame frame;
  for (int i = 0; i < 16; ++i) {
    REQUIRE(ring.reader.peek(frame) == RingReader::Peek::frame);
    ring.reader.pop();
  }
  CHECK(ring.send(FrameType::message, payload) == SendStatus::sent);
}

TEST_CASE("ring: a full bulk area refuses long frames but not short ones", "[ring]") {
  TestRing ring(RingShape{});
  const auto large = pattern(32 * 1024, 1);
  int sent = 0;
  while (ring.send(FrameType::message, large) == SendStatus::sent) ++sent;
  CHECK(sent == 8);
  CHECK(ring.send(FrameType::message, pattern(100, 2)) == SendStatus::sent);
}

TEST_CASE("ring: while the reader keeps up the same few lines of bulk are used again", "[ring]") {
  TestRing ring(RingShape{});
  const std::byte* const bulk = ring.memory + kRingHead + 64 * kSlotBytes;
  const std::size_t size = GENERATE(700u, 1046u, 2048u, 4096u, 4160u);
  const auto payload = pattern(size, 5);
  const auto farthest = [&] {
    std::size_t far = 0;
    for (int i = 0; i < 1000; ++i)
      far = std::max(far, static_cast<std::size_t>(ring.pass(payload) - bulk));
    return far;
  };
  CHECK(farthest() < 4096);
  // While payloads accumulate, the writer uses the whole area for one more lap at most. Then it returns to the
  // beginning.
  int piled = 0;
  while (ring.send(FrameType::message, payload) == SendStatus::sent) ++piled;
  CHECK(piled >=
        std::min<int>(64 - kControlReserve, (256 * 1024 - 32768) / static_cast<int>(size)));
  RingFrame frame;
  for (; piled != 0; --piled) {
    REQUIRE(ring.reader.peek(frame) == RingReader::Peek::frame);
    CHECK(same(frame.payload, payload));
    ring.reader.pop();
  }
  REQUIRE(ring.reader.peek(frame) == RingReader::Peek::empty);
  (void)farthest();
  CHECK(farthest() < 4096);
}

TEST_CASE("ring: positions in the bulk area wrap", "[ring]") {
  // Each second frame begins a lap of 2^20 units, so they wrap after 8192.
  const RingShape shape{64, 1 << 26, 64 * 1024};
  TestRing ring(shape);
  for (std::uint32_t i = 0; i < 8400; ++i) (void)ring.pass(pattern(2048, i));
  // Again, with a frame always under way.
  const auto payload = pattern(5000, 1);
  REQUIRE(ring.send(FrameType::message, payload) == SendStatus::sent);
  RingFrame frame;
  for (int i = 0; i < 30'000; ++i) {
    const bool sent = ring.send(FrameType::message, payload) == SendStatus::sent;
    const bool found = ring.reader.peek(frame) == RingReader::Peek::frame;
    if (!sent || !found || !same(frame.payload, payload)) FAIL("frame " << i);
    ring.reader.pop();
  }
}

TEST_CASE("ring: a position outside the bulk area is reported", "[ring]") {
  TestRing ring(kSmall);  // 64 units
  const std::uint64_t word = RingWord::pack(0, {FrameType::message, 0, 0}, 1000);
  RingFrame frame;
  ring.word(0) = word;
  for (const BulkPosition position : {49u, 63u, 0xffffffffu, 0xfffffff1u}) {
    ring.set_position(0, position);
    CHECK_FALSE(ring.reader.peek_message(frame));
    CHECK(ring.reader.peek(frame) == RingReader::Peek::corrupt);
  }
  for (const BulkPosition position : {0u, 48u, 64u, 0xfffffff0u}) {
    ring.set_position(0, position);
    CHECK(ring.reader.peek_message(frame));
    CHECK(ring.reader.peek(frame) == RingReader::Peek::frame);
  }
}

TEST_CASE("ring: a corrupt control word is reported for any value of its fields", "[ring]") {
  TestRing ring(kSmall);
  RingFrame frame;
  const auto word_of = [](std::uint64_t sequence, std::uint64_t type, std::uint64_t length) {
    return sequence | type << 16 | length << 40;
  };
  const auto message = static_cast<std::uint64_t>(FrameType::message);
  CHECK(ring.reader.peek(frame) == RingReader::Peek::empty);
  ring.word(0) = word_of(2, message, 8);  // a sequence from the future
  CHECK(ring.reader.peek(frame) == RingReader::Peek::corrupt);
  ring.word(0) = word_of(1, 0, 8);
  CHECK(ring.reader.peek(frame) == RingReader::Peek::corrupt);
  ring.word(0) = word_of(1, 200, 8);
  CHECK(ring.reader.peek(frame) == RingReader::Peek::corrupt);
  ring.word(0) = word_of(1, message, kSmall.max_payload + 1);
  CHECK(ring.reader.peek(frame) == RingReader::Peek::corrupt);
  ring.word(0) = word_of(1, message, 0xffffff);
  CHECK(ring.reader.peek(frame) == RingReader::Peek::corrupt);
  ring.word(0) = word_of(1, message, kSmall.max_payload);
  CHECK(ring.reader.peek(frame) == RingReader::Peek::frame);
}

TEST_CASE("ring: random words never lead outside the ring", "[ring]") {
  TestRing ring(kSmall);
  std::mt19937_64 random(4);
  std::uint64_t slot = 0, frames = 0;
  for (int i = 0; i < 300'000; ++i) {
    std::uint64_t word = random();
    // Half of the words are plausible, so that the reader advances.
    if (i % 2 == 0) word = (word & 0x7ff'ff'ff'0f'0000u) | ((slot + 1) & 0xffff);
    ring.word(slot) = word;
    ring.set_position(slot, static_cast<BulkPosition>(random()));
    RingFrame frame;
    if (ring.reader.peek(frame) != RingReader::Peek::frame) continue;
    const std::byte* end = ring.memory + ring.shape.bytes();
    if (frame.payload.data() < ring.memory || frame.payload.data() + frame.payload.size() > end)
      FAIL("payload outside the ring");
    ring.reader.pop();
    ++slot;
    ++frames;
  }
  CHECK(frames > 10'000);
}

TEST_CASE("ring: progress that cannot be true breaks the writer", "[ring]") {
  // Slots or bulk that were never sent, and progress that wraps backwards.
  const std::uint64_t lie = GENERATE(57ull, 0xffffffffull, 1ull << 32, 0xffffffffull << 32);
  TestRing ring(RingShape{});
  const auto payload = pattern(8, 1);
  for (std::uint32_t i = 0; i < 64 - kControlReserve; ++i)
    REQUIRE(ring.send(FrameType::message, payload) == SendStatus::sent);
  REQUIRE(ring.send(FrameType::message, payload) == SendStatus::again);
  ring.progress() = lie;
  CHECK(ring.send(FrameType::message, payload) == SendStatus::broken);
}

TEST_CASE("ring: writer and reader on two threads", "[ring][threads]") {
  const RingShape& shape = kShapes[GENERATE(0, 1)];
  TestRing ring(shape);
  constexpr std::uint32_t kFrames = 100'000;
  const auto size_of = [&](std::uint32_t i) {
    return i % 5 == 0 ? i * 37 % (shape.max_payload + 1) : i * 11 % (kInlinePayload + 1);
  };
  std::atomic<bool> stop{false};
  std::thread writing([&] {
    const auto bytes = pattern(shape.max_payload + 256, 1);
    for (std::uint32_t i = 0; i < kFrames && !stop; ++i) {
      const Slice slice{bytes.data() + i % 256, size_of(i)};
      while (ring.writer.send({FrameType::message, static_cast<std::uint8_t>(i), 0}, &slice, 1) !=
                 SendStatus::sent &&
             !stop)
        std::this_thread::yield();
    }
  });
  const auto bytes = pattern(shape.max_payload + 256, 1);
  std::uint32_t received = 0;
  Deadline deadline(std::chrono::seconds(60));
  std::string problem;
  while (received < kFrames && problem.empty()) {
    RingFrame frame;
    const auto found = ring.reader.peek(frame);
    if (found == RingReader::Peek::empty) {
      if (deadline.is_over()) problem = "timeout";
      std::this_thread::yield();
      continue;
    }
    const bool right =
        found == RingReader::Peek::frame &&
        frame.meta().tag == static_cast<std::uint8_t>(received) &&
        frame.payload.size() == size_of(received) &&
        std::memcmp(frame.payload.data(), bytes.data() + received % 256, frame.payload.size()) == 0;
    if (!right) problem = "wrong frame";
    ring.reader.pop();
    ++received;
  }
  stop = true;
  writing.join();
  INFO("after " << received << " frames");
  CHECK(problem.empty());
}
