// Pushed messages: fetched before, while and after they arrive; dropped; and from a lost or hostile peer.
#include "services/push/push.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "catch.hpp"
#include "sim/world.hpp"

namespace lfc {
namespace {

struct Fetched : Operation {
  explicit Fetched(std::size_t size) : place(size) {
    done = [](Operation* self, Result ended) {
      auto& own = static_cast<Fetched&>(*self);
      ++own.calls;
      own.result = ended;
    };
  }
  std::vector<std::byte> place;
  int calls = 0;
  Result result = Result::not_supported;
};

struct Setting {
  explicit Setting(std::uint64_t seed = 1, std::uint32_t window = 2)
      : world(2, random_fabric(seed, 300), {.initial_window = window, .maximum_window = window}),
        sender(world.ni(0).services(), world.ni(0).host()),
        receiver(world.ni(1).services(), world.ni(1).host()),
        to(world.peer(0, 1)),
        from(world.peer(1, 0)) {}

  // The bytes of the message with this number.
  static std::vector<std::byte> message(std::uint64_t number, std::size_t size) {
    std::vector<std::byte> bytes(size);
    Random random(number);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
    return bytes;
  }
  std::uint64_t push(std::size_t size) {
    const std::uint64_t number = sender.offer(to, size);
    if (number == 0) return 0;
    sent.push_back(message(number, size));
    sender.push(to, number, sent.back().data(), size);
    return number;
  }
  bool fetch(std::uint64_t number, std::size_t size) {
    Fetched& one = fetched.emplace_back(size);
    return receiver.fetch(from, number, one.place.data(), size, &one);
  }
  bool run_until_fetched() {
    return world.run_until([this] { return fetched.back().calls > 0; });
  }

  World world;
  Push sender;
  Push receiver;
  const PeerId to;
  const PeerId from;
  std::deque<std::vector<std::byte>> sent;
  std::deque<Fetched> fetched;
};

TEST_CASE("a pushed message is whole, whenever it is fetched", "[push]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Setting setting(seed, 1 + static_cast<std::uint32_t>(seed % 3));
    for (int i = 0; i < 6; ++i) {
      const std::size_t size = 1 + random.below(std::min<std::size_t>(limits::kPushMessage, 3000));
      std::uint64_t number = 0;
      if (random.chance(300)) {  // the RTS overtakes all of it
        number = setting.sender.offer(setting.to, size);
        REQUIRE(number != 0);
        REQUIRE(setting.fetch(number, size));
        setting.sent.push_back(Setting::message(number, size));
        setting.sender.push(setting.to, number, setting.sent.back().data(), size);
      } else {
        number = setting.push(size);
        REQUIRE(number != 0);
        for (std::uint64_t steps = random.below(300); steps > 0; --steps) setting.world.step();
        REQUIRE(setting.fetch(number, size));
      }
      REQUIRE(setting.run_until_fetched());
      CHECK(setting.fetched.back().result == Result::ok);
      CHECK(setting.fetched.back().place == setting.sent.back());
      setting.sender.release(setting.to, number);
    }
    REQUIRE(setting.world.settle());
    CHECK(setting.receiver.kept(setting.from) == 0);
    CHECK(setting.world.credit_fault().empty());
    for (const Fetched& one : setting.fetched) CHECK(one.calls == 1);
  }
}

// Acts as the receiver's link, which places bytes of messages as they arrive.
struct Landing {
  struct Head {
    std::uint64_t number, total, offset;
  };
  explicit Landing(Setting& setting_) : setting(setting_), sink(setting.world.ni(1).sink()) {
    setting.push(8);  // connects
    REQUIRE(setting.world.settle());
  }
  Placing frame(const Head& head, std::size_t landed, std::size_t left) {
    std::memcpy(bytes.data(), &head, sizeof head);
    return {bytes, landed, left};
  }
  std::byte* place(const Placing& frame) { return sink.place(setting.from, kMeta, frame); }

  static constexpr Meta kMeta{FrameType::service, static_cast<std::uint8_t>(ServiceId::push)};
  Setting& setting;
  FrameSink& sink;
  std::array<std::byte, kPlacedHead> bytes{};
};

TEST_CASE("a message whose bytes are placed as they come is whole, whenever it is fetched",
          "[push]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Setting setting(seed, 64);  // more messages than fragments
    Landing landing(setting);
    const std::size_t size = 1 + random.below(std::min<std::size_t>(limits::kPushMessage, 3000));
    const std::vector<std::byte> sent = Setting::message(9, size);
    const std::uint64_t fetched_at = random.below(size + 1);
    const auto fetch_once = [&](std::size_t arrived) {
      if (arrived >= fetched_at && setting.fetched.empty()) REQUIRE(setting.fetch(9, size));
    };
    for (std::size_t offset = 0; offset < size;) {
      const std::size_t fragment = 1 + random.below(size - offset);
      for (std::size_t landed = 0; landed < fragment;) {
        fetch_once(offset + landed);
        const Landing::Head head{9, size, offset};
        std::byte* const to = landing.place(landing.frame(head, landed, fragment - landed));
        REQUIRE(to != nullptr);
        const std::size_t piece = 1 + random.below(fragment - landed);
        std::memcpy(to, sent.data() + offset + landed, piece);
        landed += piece;
        landing.sink.on_placed(setting.from, Landing::kMeta,
                               landing.frame(head, landed, fragment - landed));
      }
      offset += fragment;
    }
    fetch_once(size);
    setting.world.ni(1).progress();
    CHECK(setting.fetched.back().calls == 1);
    CHECK(setting.fetched.back().place == sent);
    CHECK(setting.receiver.kept(setting.from) == 8);
  }
}

TEST_CASE("nothing is placed outside of a message", "[push]") {
  Setting setting;
  Landing landing(setting);
  CHECK(landing.place(landing.frame({9, 100, 0}, 0, 101)) == nullptr);
  CHECK(landing.place(landing.frame({9, 100, 50}, 0, 50)) == nullptr);  // not its beginning
  CHECK(landing.place(landing.frame({9, limits::kPushMessage + 1, 0}, 0, 10)) == nullptr);
  CHECK(setting.receiver.kept(setting.from) == 8);
  REQUIRE(landing.place(landing.frame({9, 100, 0}, 0, 50)) != nullptr);
  landing.sink.on_placed(setting.from, Landing::kMeta, landing.frame({9, 100, 0}, 50, 0));
  CHECK(landing.place(landing.frame({9, 100, 50}, 0, 51)) == nullptr);
  CHECK(landing.place(landing.frame({9, 101, 50}, 0, 50)) == nullptr);
  CHECK(landing.place(landing.frame({9, 100, 49}, 0, 50)) == nullptr);
  CHECK(landing.place(landing.frame({9, 100, 51}, 0, 49)) == nullptr);
  CHECK(landing.place(landing.frame({9, 100, ~std::uint64_t{49}}, 0, 50)) == nullptr);
  CHECK(landing.place(landing.frame({9, 100, 50}, 0, 50)) != nullptr);
  CHECK_FALSE(setting.world.ni(1).peers().at(setting.from).is_lost());
  // Frames that are reported as placed, though their place is outside the message.
  landing.sink.on_placed(setting.from, Landing::kMeta, landing.frame({9, 100, 50}, 51, 0));
  CHECK(setting.world.ni(1).peers().at(setting.from).is_lost());
}

TEST_CASE("no more is pushed than its receiver keeps, until it has taken some", "[push]") {
  Setting setting(1, 64);
  const std::size_t size = std::min(limits::kPushMessage, limits::kPushShare / 16);
  CHECK(setting.sender.offer(setting.to, limits::kPushMessage + 1) == 0);
  std::vector<std::uint64_t> numbers;
  while (const std::uint64_t number = setting.push(size)) {
    numbers.push_back(number);
    REQUIRE(numbers.size() <= limits::kPushShare / size);
  }
  CHECK(numbers.size() == limits::kPushShare / size);
  REQUIRE(setting.world.settle());
  CHECK(setting.receiver.kept(setting.from) == numbers.size() * size);
  CHECK(setting.world.ni(1).counters().get(Counter::pushes_dropped) == 0);
  CHECK(setting.push(size) == 0);
  SECTION("the receiver reports consecutive numbers by itself") {
    std::uint64_t more = 0;
    for (const std::uint64_t number : numbers) REQUIRE(setting.fetch(number, size));
    REQUIRE(setting.world.settle());
    while (setting.push(size) != 0) ++more;
    CHECK(more * 2 > numbers.size());
    CHECK(more < numbers.size());
    // Each one is counted once.
    for (const std::uint64_t number : numbers) setting.sender.release(setting.to, number);
    while (setting.push(size) != 0) ++more;
    CHECK(more == numbers.size());
  }
  SECTION("or it has released them") {
    setting.sender.release(setting.to, numbers[1]);
    CHECK(setting.push(size) != 0);
    CHECK(setting.push(size) == 0);
  }
  SECTION("and the sender looks for that report when it offers a message") {
    for (const std::uint64_t number : numbers) REQUIRE(setting.fetch(number, size));
    // Only the receiver makes progress.
    for (int i = 0; i < 1000; ++i) {
      setting.world.fabric().advance();
      setting.world.ni(1).progress();
    }
    CHECK(setting.push(size) != 0);
  }
}

TEST_CASE("forged releases of messages are rejected", "[push]") {
  Setting setting;
  REQUIRE(setting.push(8) != 0);
  REQUIRE(setting.world.settle());
  const std::array<std::uint64_t, 2> words{77, 78};  // unknown messages may be released
  const bool whole = GENERATE(true, false);
  {
    const Ni::Access access(setting.world.ni(1));
    setting.world.ni(1).services().control(setting.from, ServiceId::push, words.data(),
                                           whole ? sizeof words : sizeof words - 1);
  }
  REQUIRE(setting.world.settle());
  CHECK(setting.world.ni(0).peers().at(setting.to).is_lost() == !whole);
}

TEST_CASE("messages that are not fetched take bounded memory, and their sender is notified",
          "[push]") {
  Setting setting;
  const std::size_t size = limits::kPushMessage;
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i <= limits::kPushShare / size; ++i) {
    numbers.push_back(setting.push(size));
    REQUIRE(numbers.back() != 0);
    REQUIRE(setting.world.settle());
    setting.sender.release(setting.to, numbers.back());
    CHECK(setting.receiver.kept(setting.from) <= limits::kPushShare);
  }
  // The first has been dropped; the last is still there.
  CHECK_FALSE(setting.fetch(numbers.front(), size));
  CHECK(setting.fetch(numbers.back(), size));
  CHECK(setting.fetched.back().place == setting.sent.back());
  CHECK(setting.world.ni(1).counters().get(Counter::pushes_dropped) == 1);
  // Then the sender pauses pushing.
  int refused = 0;
  while (setting.sender.offer(setting.to, 100) == 0) ++refused;
  CHECK(refused == 256);
}

TEST_CASE("the memory of a released message is not read any more", "[push]") {
  Setting setting(1, 1);
  const std::size_t size = limits::kPushMessage;
  SECTION("before it is pushed") {
    const std::uint64_t number = setting.sender.offer(setting.to, size);
    setting.sender.release(setting.to, number);
    setting.sender.push(setting.to, number, nullptr, size);
  }
  SECTION("while its fragments wait for credits") {
    auto bytes = std::make_unique<std::vector<std::byte>>(size);
    const std::uint64_t number = setting.sender.offer(setting.to, size);
    setting.sender.push(setting.to, number, bytes->data(), size);
    setting.sender.release(setting.to, number);
    bytes.reset();
  }
  REQUIRE(setting.world.settle());
  CHECK(setting.receiver.kept(setting.from) == 0);
  CHECK(setting.push(100) != 0);
}

TEST_CASE("a lost peer ends the fetches of its messages", "[push]") {
  Setting setting;
  const std::uint64_t number = setting.push(2000);
  REQUIRE(setting.fetch(number, 2000));
  setting.world.fabric().kill(0);
  REQUIRE(setting.run_until_fetched());
  CHECK(setting.fetched.back().result == Result::unreachable);
  CHECK_FALSE(setting.fetch(number + 1, 2000));  // no byte arrives any more
}

TEST_CASE("a sender may end while its fragments wait for credits", "[push]") {
  World world(2, {.seed = 1}, {.initial_window = 1, .maximum_window = 1});
  auto sender = std::make_unique<Push>(world.ni(0).services(), world.ni(0).host());
  const std::vector<std::byte> bytes(limits::kPushMessage);
  const PeerId to = world.peer(0, 1);
  sender->push(to, sender->offer(to, bytes.size()), bytes.data(), bytes.size());
  sender.reset();
  CHECK(world.settle());
}

TEST_CASE("fragments that cannot be are no message", "[push]") {
  struct Head {
    std::uint64_t number, total, offset;
  };
  struct Lie {
    Head first, second;  // each with 8 bytes
  };
  const Lie lie = GENERATE(Lie{{11, 16, 0}, {11, 16, 16}}, Lie{{11, 16, 0}, {11, 16, 0}},
                           Lie{{11, 16, 0}, {11, 24, 8}}, Lie{{11, 4, 0}, {12, 8, 0}},
                           Lie{{11, 16, 0}, {11, 16, ~std::uint64_t{3}}});
  Setting setting;
  World& world = setting.world;
  setting.push(8);  // connects
  REQUIRE(world.settle());
  const std::uint64_t bytes = 7;
  for (const Head& head : {lie.first, lie.second}) {
    const Slice slices[2] = {{&head, sizeof head}, {&bytes, sizeof bytes}};
    // The first frame may have ended the connection.
    world.run_until(
        [&] {
          const Ni::Access access(world.ni(0));
          return world.ni(0).services().try_send(setting.to, ServiceId::push, slices, 2);
        },
        1000);
    world.settle();
  }
  CHECK(world.ni(1).peers().at(setting.from).is_lost());
}

}  // namespace
}  // namespace lfc
