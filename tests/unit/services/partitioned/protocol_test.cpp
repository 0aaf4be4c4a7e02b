// The protocol of partitioned communication: all interleavings of small programs, each rule, and invalid frames.
#include "services/partitioned/protocol/protocol.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "link/sim/random.hpp"
#include "unit/services/partitioned/protocol_world.hpp"

namespace lfc::partitioned {
namespace {

constexpr std::uint64_t kLater = 1'000'000;  // ns, longer than partitions are gathered

std::vector<std::byte> contents(std::size_t size, std::uint64_t epoch) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + epoch * 31 + 1);
  return bytes;
}

// The buffer stays where it is.
void refill(std::vector<std::byte>& buffer, std::uint64_t epoch) {
  std::ranges::copy(contents(buffer.size(), epoch), buffer.begin());
}

// Calls run(choose) once for each sequence of choices; choose(n) is one of 0..n-1.
std::size_t for_all(
    const std::function<void(const std::function<std::size_t(std::size_t)>&)>& run) {
  std::vector<std::pair<std::size_t, std::size_t>> path;  // chosen, of how many
  std::size_t runs = 0;
  while (true) {
    std::size_t at = 0;
    run([&](std::size_t n) {
      if (at == path.size()) path.emplace_back(0, n);
      return path[at++].first;
    });
    ++runs;
    while (!path.empty() && path.back().first + 1 == path.back().second) path.pop_back();
    if (path.empty()) return runs;
    ++path.back().first;
  }
}

// The two sides of a pair, each with a program. It makes the request; in each epoch it starts the request, marks the
// send's partitions in any order, and waits. The test chooses the next step of a side or frame.
struct Pair {
  struct Shape {
    std::uint64_t partitions, each;
  };
  Pair(const Shape& from, const Shape& to, std::uint64_t epochs, std::size_t room, bool keeps,
       bool direct)
      : world(room), from_(from), to_(to), epochs_(epochs), direct_(direct) {
    world.keep_data(keeps);
    data.resize(from.partitions * from.each);
    place.resize(to.partitions * to.each);
    token = place.data();
  }

  bool sender_may() const {
    return !(send != nullptr && send->active && ready_ == from_.partitions) && sent_ < epochs_;
  }
  bool receiver_may() const {
    return !(receive != nullptr && receive->active) && received_ < epochs_;
  }

  void sender() {
    if (send == nullptr) {
      send = &world.side(0).offer(ProtocolWorld::key(), this, data.data(), from_.partitions,
                                  from_.each);
    } else if (!started_) {
      refill(data, sent_ + 1);
      world.side(0).start(*send);
      started_ = true;
      ready_ = 0;
      end_sender();
    } else if (ready_ < from_.partitions) {
      // In odd epochs the last comes first. Partitions are gathered, or leave at once.
      const std::uint64_t which = sent_ % 2 == 1 ? from_.partitions - 1 - ready_ : ready_;
      clock_ += ready_ % 2 == 0 ? kLater : 1;
      ++ready_;
      REQUIRE(world.side(0).ready(*send, which, which, clock_));
      end_sender();
    }
  }
  void end_sender() {
    if (send->active) return;
    if (ready_ == from_.partitions) {
      started_ = false;
      ++sent_;
    }
  }
  void receiver() {
    if (receive == nullptr) {
      receive = &world.side(1).expect(
          ProtocolWorld::key(), this, place.data(), to_.partitions, to_.each,
          direct_ ? std::as_bytes(std::span(&token, 1)) : std::span<const std::byte>());
    } else {
      std::fill(place.begin(), place.end(), std::byte{0});
      world.side(1).start(*receive);
    }
  }
  // Checks that epochs that have ended have the right bytes.
  void look() {
    for (const ProtocolWorld::Ended& ended : world.ended()) {
      REQUIRE(ended.status == Status::ok);
      if (ended.request == send) {
        if (ready_ == from_.partitions) started_ = false, ++sent_;
        continue;
      }
      ++received_;
      REQUIRE(ended.bytes == data.size());
      const std::vector<std::byte> right = contents(data.size(), received_);
      REQUIRE(std::equal(right.begin(), right.end(), place.begin()));
    }
  }
  void look_after_sender() {
    // end_sender() has counted it already if it ended inside the call.
    std::vector<ProtocolWorld::Ended> others;
    for (const ProtocolWorld::Ended& ended : world.ended())
      if (ended.request != send) others.push_back(ended);
    REQUIRE(others.empty());
  }
  // Checks the partitions for which arrived() is true.
  void look_at_partitions() {
    if (receive == nullptr || !receive->active || to_.each == 0) return;
    const std::vector<std::byte> right = contents(data.size(), received_ + 1);
    for (std::uint64_t i = 0; i < to_.partitions && (i + 1) * to_.each <= right.size(); ++i) {
      if (!world.side(1).arrived(*receive, i, i)) continue;
      const auto begin = static_cast<std::ptrdiff_t>(i * to_.each);
      REQUIRE(std::equal(right.begin() + begin,
                         right.begin() + begin + static_cast<std::ptrdiff_t>(to_.each),
                         place.begin() + begin));
    }
  }

  void run(const std::function<std::size_t(std::size_t)>& choose) {
    while (sent_ < epochs_ || received_ < epochs_) {
      std::vector<std::function<void()>> steps;
      if (sender_may()) steps.emplace_back([this] { sender(), look_after_sender(); });
      if (receiver_may()) steps.emplace_back([this] { receiver(), look(); });
      for (std::size_t i = 0; i < world.under_way(); ++i)
        steps.emplace_back([this, i] { world.deliver(i), look(); });
      if (world.kept() > 0) steps.emplace_back([this] { world.free_data(), look(); });
      if (world.woken()) steps.emplace_back([this] { world.work(), look(); });
      REQUIRE(!steps.empty());  // no request waits without end
      steps[choose(steps.size())]();
      look_at_partitions();
    }
  }

  ProtocolWorld world;
  std::vector<std::byte> data, place;
  std::byte* token = nullptr;  // the place's address
  Sending* send = nullptr;
  Receiving* receive = nullptr;

 private:
  const Shape from_, to_;
  const std::uint64_t epochs_;
  const bool direct_;
  bool started_ = false;
  std::uint64_t ready_ = 0;
  std::uint64_t sent_ = 0, received_ = 0;
  std::uint64_t clock_ = kLater;
};

}  // namespace

TEST_CASE("each epoch's bytes come to their place in every interleaving", "[partitioned]") {
  struct Program {
    Pair::Shape from, to;
    std::uint64_t epochs;
    std::size_t room;  // of a frame
    bool keeps;        // the frames refer to the program's memory
    bool direct;       // the sender can write to the receiver's memory
  };
  const Program program = GENERATE(
      Program{{2, 2}, {2, 2}, 1, 8, false, false}, Program{{1, 6}, {3, 2}, 3, 8, false, false},
      Program{{2, 3}, {3, 2}, 1, 4, true, false}, Program{{1, 0}, {2, 0}, 2, 8, false, false},
      Program{{0, 4}, {1, 4}, 1, 8, true, false}, Program{{2, 3}, {3, 2}, 1, 8, false, true},
      Program{{1, 4}, {2, 2}, 2, 3, true, true});
  const std::size_t runs = for_all([&](const auto& choose) {
    Pair(program.from, program.to, program.epochs, program.room, program.keeps, program.direct)
        .run(choose);
  });
  CHECK(runs > 10);
}

TEST_CASE("bytes come to their place in random interleavings of larger programs", "[partitioned]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::uint64_t total =
        random.below(4) == 0 ? random.below(30000) * 6 : random.below(40) * 6;
    const auto split = [&] {
      static constexpr std::uint64_t kParts[] = {1, 2, 3, 6};
      const std::uint64_t parts = kParts[random.below(4)];
      return Pair::Shape{parts, total / parts};
    };
    const Pair::Shape from = split();
    const Pair::Shape to = split();
    Pair pair(from, to, 1 + random.below(30), total > 300 ? 5000 : 1 + random.below(20),
              random.chance(500), random.chance(500));
    pair.run([&](std::size_t n) { return random.below(n); });
  }
}

TEST_CASE("a send that is ahead fills what its receiver has room for, and waits", "[partitioned]") {
  ProtocolWorld world(1024);
  std::vector<std::byte> data(8), place(8);
  Sending& send = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 1, 8);
  Receiving& receive = world.side(1).expect(ProtocolWorld::key(), nullptr, place.data(), 1, 8);
  world.deliver_all();
  std::uint64_t sent = 0;
  while (!send.active) {
    refill(data, sent + 1);
    world.side(0).start(send);
    REQUIRE(world.side(0).ready(send, 0, 0, kLater * (sent + 2)));
    sent += send.active ? 0 : 1;
  }
  CHECK(sent == kMostAhead);
  world.deliver_all();
  CHECK(send.active);
  for (std::uint64_t epoch = 1; epoch <= sent + 1; ++epoch) {
    world.side(1).start(receive);
    world.deliver_all();
    CHECK_FALSE(receive.active);
    CHECK(place == contents(8, epoch));
  }
  CHECK_FALSE(send.active);
  CHECK(world.side(1).totals().early == sent + 1);  // the last left when half were taken
}

TEST_CASE("a large send waits for its receive to be started", "[partitioned]") {
  const std::size_t size = kEarly + 1;
  ProtocolWorld world(4096);
  std::vector<std::byte> data = contents(size, 1), place(size);
  Sending& send = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 1, size);
  Receiving& receive = world.side(1).expect(ProtocolWorld::key(), nullptr, place.data(), 1, size);
  world.side(0).start(send);
  REQUIRE(world.side(0).ready(send, 0, 0, kLater));
  world.deliver_all();
  CHECK(send.active);
  CHECK(world.side(0).totals().frames == 0);
  world.side(1).start(receive);
  world.deliver_all();
  CHECK_FALSE(send.active);
  CHECK(place == data);
}

TEST_CASE("small partitions of one moment leave in one frame", "[partitioned]") {
  ProtocolWorld world(1024);
  std::vector<std::byte> data = contents(640, 1), place(640);
  Sending& send = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 64, 10);
  Receiving& receive = world.side(1).expect(ProtocolWorld::key(), nullptr, place.data(), 64, 10);
  world.deliver_all();
  world.side(0).start(send);
  world.side(1).start(receive);
  for (std::uint64_t i = 0; i < 64; ++i)
    REQUIRE(world.side(0).ready(send, i * 37 % 64, i * 37 % 64, kLater + i));
  CHECK(world.side(0).totals().frames == 2);  // the first one leaves alone
  world.deliver_all();
  CHECK(place == data);
  SECTION("but do not wait for ever") {
    world.side(0).start(send);
    world.side(1).start(receive);
    REQUIRE(world.side(0).ready(send, 0, 1, kLater + 100));
    CHECK_FALSE(world.side(1).arrived(receive, 0, 1));
    world.deliver_all();
    CHECK(world.side(1).arrived(receive, 0, 1));
  }
}

TEST_CASE("the k-th send is for the k-th receive of its key", "[partitioned]") {
  for (const bool receives_first : {false, true}) {
    ProtocolWorld world(64);
    std::vector<std::vector<std::byte>> data, places(4, std::vector<std::byte>(8));
    for (std::uint64_t i = 0; i < 4; ++i) data.push_back(contents(8, i));
    std::vector<Sending*> sends;
    std::vector<Receiving*> receives;
    const auto expect = [&] {
      for (std::size_t i = 0; i < 4; ++i)
        receives.push_back(&world.side(1).expect(ProtocolWorld::key(i < 2 ? 7 : 8), nullptr,
                                                 places[i].data(), 1, 8));
    };
    if (receives_first) expect();
    for (std::size_t i = 0; i < 4; ++i)
      sends.push_back(
          &world.side(0).offer(ProtocolWorld::key(i < 2 ? 7 : 8), nullptr, data[i].data(), 1, 8));
    while (world.under_way() > 0) world.deliver(world.under_way() - 1);
    if (!receives_first) expect();
    for (Sending* send : sends) {
      world.side(0).start(*send);
      REQUIRE(world.side(0).ready(*send, 0, 0, kLater));
    }
    for (Receiving* receive : receives) world.side(1).start(*receive);
    while (world.under_way() > 0) world.deliver(world.under_way() - 1);
    CHECK(places == data);
  }
}

TEST_CASE("a receive that is too short is cut, and one that is too long gets the number of bytes",
          "[partitioned]") {
  const std::size_t room = GENERATE(as<std::size_t>{}, 6, 40);
  ProtocolWorld world(5);
  std::vector<std::byte> data = contents(20, 1), place(room + 8);
  Sending& send = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 4, 5);
  Receiving& receive =
      world.side(1).expect(ProtocolWorld::key(), nullptr, place.data(), 2, room / 2);
  world.side(1).start(receive);
  world.side(0).start(send);
  REQUIRE(world.side(0).ready(send, 0, 3, kLater));
  world.deliver_all();
  bool told = false;
  for (const ProtocolWorld::Ended& ended : world.ended()) {
    if (ended.request != &receive) continue;
    told = true;
    CHECK(ended.status == (room < 20 ? Status::truncated : Status::ok));
    CHECK(ended.bytes == std::min<std::size_t>(room, 20));
  }
  CHECK(told);
  CHECK(std::equal(place.begin(),
                   place.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(room, 20)),
                   data.begin()));
  CHECK(place[room] == std::byte{0});
}

TEST_CASE("partitions that cannot be ready are refused", "[partitioned]") {
  ProtocolWorld world;
  std::vector<std::byte> data(8);
  Sending& send = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 4, 2);
  CHECK_FALSE(world.side(0).ready(send, 0, 0, kLater));
  world.side(0).start(send);
  CHECK(world.side(0).ready(send, 1, 2, kLater));
  CHECK_FALSE(world.side(0).ready(send, 2, 3, kLater));
  CHECK_FALSE(world.side(0).ready(send, 3, 4, kLater));
  CHECK_FALSE(world.side(0).ready(send, 3, 0, kLater));
  CHECK(world.side(0).ready(send, 3, 3, kLater));
}

TEST_CASE("a lost peer ends all epochs, also later ones", "[partitioned]") {
  ProtocolWorld world;
  std::vector<std::byte> data(8), place(8);
  Sending& send = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 2, 4);
  Receiving& receive = world.side(1).expect(ProtocolWorld::key(), nullptr, place.data(), 2, 4);
  if (GENERATE(false, true)) world.deliver_all();
  world.side(0).start(send);
  world.side(1).start(receive);
  REQUIRE(world.side(0).ready(send, 0, 0, kLater));
  for (int side = 0; side < 2; ++side) world.side(side).on_lost(5);
  std::vector<ProtocolWorld::Ended> ended = world.ended();
  REQUIRE(ended.size() == 2);
  CHECK(ended[0].status == Status::lost);
  CHECK(ended[1].status == Status::lost);
  CHECK(world.side(0).ready(send, 1, 1,
                            kLater));  // permitted for a caller that has not been notified
  world.side(0).start(send);
  world.side(1).start(receive);
  ended = world.ended();
  REQUIRE(ended.size() == 2);
  CHECK(ended[1].status == Status::lost);
}

TEST_CASE("requests that are freed leave nothing behind, and frames for them are dropped",
          "[partitioned]") {
  ProtocolWorld world;
  std::vector<std::byte> data(8), place(8);
  Sending& send = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 2, 4);
  Receiving& receive = world.side(1).expect(ProtocolWorld::key(), nullptr, place.data(), 2, 4);
  SECTION("before they have met") {
    world.side(1).drop(receive);
    world.deliver_all();
    world.side(0).drop(send);
  }
  SECTION("when they have met") {
    world.deliver_all();
    world.side(0).start(send);
    REQUIRE(world.side(0).ready(send, 0, 1, kLater));
    CHECK_FALSE(send.active);
    world.side(1).drop(receive);
    world.side(0).drop(send);
    world.deliver_all();
  }
  // The next two are the second of their key.
  Sending& second = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 2, 4);
  Receiving& other = world.side(1).expect(ProtocolWorld::key(), nullptr, place.data(), 2, 4);
  world.deliver_all();
  refill(data, 3);
  world.side(0).start(second);
  world.side(1).start(other);
  REQUIRE(world.side(0).ready(second, 0, 1, kLater));
  world.deliver_all();
  CHECK(place == data);
}

TEST_CASE("frames that cannot be break the connection", "[partitioned]") {
  ProtocolWorld world;
  std::vector<std::byte> data(8), place(8);
  Sending& send = world.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 2, 4);
  Receiving& receive = world.side(1).expect(ProtocolWorld::key(), nullptr, place.data(), 2, 4);
  world.deliver_all();
  world.side(1).start(receive);
  const auto frame = [](const Head& head, std::size_t size) {
    std::vector<std::byte> bytes(sizeof head + size);
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
  };
  Protocol& side = world.side(1);
  CHECK_FALSE(side.on_frame(5, std::vector<std::byte>(8)));
  CHECK_FALSE(side.on_frame(5, frame({.kind = Kind{9}}, 0)));
  CHECK_FALSE(side.on_frame(5, frame({.kind = Kind::offer}, 39)));
  CHECK_FALSE(side.on_frame(5, frame({.kind = Kind::offer}, 40)));  // its name 0 is invalid
  const std::uint64_t name = receive.name;
  const auto data_frame = [&](std::uint64_t epoch, std::uint64_t offset, std::size_t size) {
    return frame({.kind = Kind::data, .to = name, .epoch = epoch, .offset = offset}, size);
  };
  CHECK_FALSE(side.on_frame(6, data_frame(1, 0, 4)));  // of another peer
  CHECK_FALSE(side.on_frame(5, frame({.kind = Kind::data, .to = 12345}, 4)));
  CHECK_FALSE(side.on_frame(5, data_frame(1, 6, 4)));
  CHECK_FALSE(side.on_frame(5, data_frame(1, ~std::uint64_t{0}, 4)));
  CHECK_FALSE(side.on_frame(5, data_frame(1, 0, 0)));
  CHECK_FALSE(side.on_frame(5, data_frame(0, 0, 4)));
  CHECK_FALSE(side.on_frame(5, data_frame(2 + kMostAhead, 0, 4)));
  CHECK(side.on_frame(5, data_frame(2, 0, 8)));
  CHECK_FALSE(side.on_frame(5, data_frame(2, 0, 4)));  // more partitions than the epoch has
  CHECK(side.on_frame(5, data_frame(1, 0, 4)));
  CHECK_FALSE(side.on_frame(5, data_frame(1, 0, 4)));  // twice
  Protocol& sender = world.side(0);
  CHECK_FALSE(sender.on_frame(6, frame({.kind = Kind::open, .to = send.name, .epoch = 3}, 0)));
  CHECK_FALSE(sender.on_frame(5, frame({.kind = Kind::open, .to = 12345}, 0)));
  CHECK_FALSE(sender.on_frame(5, frame({.kind = Kind::accept, .to = send.name}, 16)));
  // Half a token: a write to the receive's memory would read beyond the token's end.
  ProtocolWorld other;
  Sending& large = other.side(0).offer(ProtocolWorld::key(), nullptr, data.data(), 2, 4);
  const std::size_t whole = sizeof(std::byte*);
  for (const std::size_t token : {std::size_t{1}, whole - 1, whole + 1, kMostToken}) {
    const Accept part{1, 0, static_cast<std::uint32_t>(token)};
    std::vector<std::byte> bytes =
        frame({.kind = Kind::accept, .to = large.name}, sizeof part + token);
    std::memcpy(bytes.data() + sizeof(Head), &part, sizeof part);
    CHECK_FALSE(other.side(0).on_frame(5, bytes));
  }
  // A peer that accepts twice.
  const Accept accept{1, 1, 0};
  std::vector<std::byte> again = frame({.kind = Kind::accept, .to = send.name}, sizeof accept);
  std::memcpy(again.data() + sizeof(Head), &accept, sizeof accept);
  CHECK_FALSE(sender.on_frame(5, again));
}

}  // namespace lfc::partitioned
