// Credits and their application to frames (Flow): the conservation law, checked after every event of randomised
// schedules.
#include "flow/credits.hpp"

#include <array>
#include <cstdint>
#include <deque>

#include "catch.hpp"
#include "engine/flow.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

// How many credits are owed before a frame of their own returns them.
std::uint32_t due(std::uint32_t window) { return OwedCredits::refresh(window); }

struct ModelFrame {
  bool data;
  std::uint32_t credits;
};

// Two NIs and their two FIFO channels, in the order of events that the NI uses.
class Pair {
 public:
  Pair(std::uint32_t initial, std::uint32_t maximum, std::uint64_t cap)
      : sides_{Side(initial, maximum, cap), Side(initial, maximum, cap)} {
    check();
  }

  bool send(int from) {
    Side& side = sides_[from];
    if (!side.flow.may_depart(FrameType::message)) return false;
    const bool refused = refuse_next_;
    refuse_next_ = false;
    const std::uint32_t returned = side.flow.returnable(FrameType::message);
    if (!refused) {  // otherwise the link had no room
      side.flow.departed(FrameType::message, returned);
      side.out.push_back({true, returned});
      ++sent_;
    }
    check();
    return !refused;
  }
  bool receive(int to) {
    Side& side = sides_[to];
    std::deque<ModelFrame>& channel = sides_[1 - to].out;
    if (channel.empty()) return false;
    const ModelFrame frame = channel.front();
    channel.pop_front();
    if (!side.flow.credited(frame.credits)) FAIL("credits that no window has");
    const FrameType type = frame.data ? FrameType::message : FrameType::credit;
    if (!side.flow.arrived(type)) FAIL("a frame came without a credit");
    side.held += frame.data ? 1 : 0;
    check();
    return true;
  }
  bool release(int at) {
    Side& side = sides_[at];
    if (side.held == 0) return false;
    --side.held;
    if (side.flow.release(side.budget, side.counters)) {
      const std::uint32_t returned = side.flow.returnable(FrameType::credit);
      side.flow.departed(FrameType::credit, returned);
      side.out.push_back({false, returned});
      ++explicit_frames_;
    }
    check();
    return true;
  }
  void refuse_next() { refuse_next_ = true; }

  std::uint64_t sent() const { return sent_; }
  std::uint64_t explicit_frames() const { return explicit_frames_; }
  std::uint64_t growths() const {
    return sides_[0].counters.get(Counter::window_growths) +
           sides_[1].counters.get(Counter::window_growths);
  }
  std::uint32_t window(int at) const { return sides_[at].flow.window().window(); }
  std::uint32_t owed(int at) const { return sides_[at].flow.window().owed(); }
  std::uint32_t credits(int at) const { return sides_[at].flow.credits().available(); }

 private:
  struct Side {
    Side(std::uint32_t initial, std::uint32_t maximum, std::uint64_t cap)
        : flow(initial, initial), budget(maximum, cap) {
      budget.admit(initial);
    }
    Flow flow;
    WindowBudget budget;
    Counters counters;
    std::uint32_t held = 0;
    std::deque<ModelFrame> out;
  };

  void check() const {
    for (int sender : {0, 1}) {
      const Side& from = sides_[sender];
      const Side& to = sides_[1 - sender];
      const ReceiveWindow& window = to.flow.window();
      std::uint32_t data = 0;
      std::uint32_t back = 0;
      for (const ModelFrame& frame : from.out) data += frame.data ? 1 : 0;
      for (const ModelFrame& frame : to.out) back += frame.credits;
      const std::uint32_t sum =
          from.flow.credits().available() + data + to.held + window.owed() + back;
      if (sum != window.window()) FAIL("credits: " << sum << " of " << window.window());
      if (data + to.held > window.window()) FAIL("a receive buffer was overrun");
      if (window.held() != to.held) FAIL("held " << window.held() << " not " << to.held);
      if (window.window() > to.budget.granted()) FAIL("window beyond what was granted");
    }
  }

  std::array<Side, 2> sides_;
  bool refuse_next_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t explicit_frames_ = 0;
};

void settle(Pair& pair) {
  bool moved = true;
  while (moved) {
    moved = false;
    for (int side : {0, 1}) {
      while (pair.receive(side)) moved = true;
      while (pair.release(side)) moved = true;
    }
  }
}

}  // namespace

TEST_CASE("credits are conserved in random schedules", "[credits][exhaustive]") {
  const std::uint32_t initial = GENERATE(1u, 2u, 3u, 8u, 64u);
  const std::uint32_t maximum = GENERATE(1u, 16u, 300u, 5000u);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("window " << initial << ".." << maximum << " seed " << seed);
    Random random(seed);
    Pair pair(initial, maximum, 4096);
    // One-sided, two-sided and changing loads: each side's rates are drawn anew every 200 events.
    std::array<std::uint64_t, 6> weight{};
    for (int event = 0; event < 4000; ++event) {
      if (event % 200 == 0)
        for (auto& w : weight) w = random.below(4);
      const int side = static_cast<int>(random.below(2));
      if (random.chance(50)) pair.refuse_next();
      for (auto n = weight[side]; n > 0; --n) pair.send(side);
      for (auto n = weight[2 + side]; n > 0; --n) pair.receive(side);
      for (auto n = weight[4 + side]; n > 0; --n) pair.release(side);
    }
    settle(pair);
    REQUIRE(pair.sent() > 100);
    for (int side : {0, 1}) {
      REQUIRE(pair.owed(side) < due(pair.window(side)));
      REQUIRE(pair.credits(1 - side) + pair.owed(side) == pair.window(side));
      REQUIRE(pair.credits(1 - side) > 0);  // never stalled
      REQUIRE(pair.window(side) <= std::max(initial, maximum));
    }
  }
}

TEST_CASE("a one-way stream is returned one credit frame per half window", "[credits]") {
  const std::uint32_t window = GENERATE(1u, 2u, 3u, 4u, 7u, 8u, 64u, 600u);
  const int messages = 5000;
  Pair pair(window, window, window);
  for (int sent = 0; sent < messages;) {
    while (sent < messages && pair.send(0)) ++sent;
    settle(pair);
  }
  INFO("window " << window);
  REQUIRE(due(window) == std::max(1u, window / 2));  // all other tests rely on this value
  REQUIRE(pair.explicit_frames() == messages / due(window));
  REQUIRE(pair.growths() == 0);
}

TEST_CASE("balanced two-way traffic needs no credit frames", "[credits]") {
  const std::uint32_t window = GENERATE(4u, 8u, 64u);
  if (due(window) == 1) return;  // each is returned at once
  Pair pair(window, window, window);
  for (int round = 0; round < 5000; ++round)
    for (int side : {0, 1}) {
      REQUIRE(pair.send(side));
      REQUIRE(pair.receive(1 - side));
      REQUIRE(pair.release(1 - side));
    }
  INFO("window " << window);
  REQUIRE(pair.explicit_frames() == 0);
}

TEST_CASE("a window of one works, one frame at a time", "[credits]") {
  Pair pair(1, 1, 1);
  for (int round = 0; round < 100; ++round) {
    REQUIRE(pair.send(0));
    REQUIRE_FALSE(pair.send(0));
    settle(pair);
  }
  REQUIRE(pair.explicit_frames() == 100);
}

TEST_CASE("a busy window doubles until its maximum, and not past the cap", "[credits]") {
  struct Limits {
    std::uint32_t maximum;
    std::uint64_t cap;
    std::uint32_t expected;
  };
  const Limits limits =
      GENERATE(Limits{64, 4096, 64}, Limits{64, 20, 20}, Limits{8, 4096, 8}, Limits{100, 4096, 100},
               Limits{64, 4, 8} /* the initial window is never withdrawn */);
  Pair pair(8, limits.maximum, limits.cap);
  for (int sent = 0; sent < 2000;) {
    while (sent < 2000 && pair.send(0)) ++sent;
    settle(pair);
  }
  REQUIRE(pair.window(1) == limits.expected);
  REQUIRE(pair.window(0) == 8);  // no frame came that way
}

TEST_CASE("an idle window does not grow", "[credits]") {
  ReceiveWindow window(8);
  for (int i = 0; i < 7; ++i) {
    REQUIRE(window.accept());
    window.release();
  }
  REQUIRE_FALSE(window.wants_growth());
  REQUIRE(window.accept());
  window.release();
  REQUIRE(window.wants_growth());
  window.grow(8);
  REQUIRE_FALSE(window.wants_growth());
  REQUIRE(window.window() == 16);
  REQUIRE(window.owed() == 16);
}

TEST_CASE("a peer that sends without a credit is caught", "[credits]") {
  ReceiveWindow window(3);
  for (int i = 0; i < 3; ++i) REQUIRE(window.accept());
  REQUIRE_FALSE(window.accept());
  REQUIRE(window.held() == 3);
  window.release();
  REQUIRE_FALSE(window.accept());  // the owed credit is not yet returned
  REQUIRE(window.owed() == 1);
  window.collect(1);
  REQUIRE(window.accept());
  REQUIRE_FALSE(window.accept());
}

TEST_CASE("a peer that returns more credits than any window has is caught", "[credits]") {
  SendCredits credits(3);
  REQUIRE(credits.add(kMaxCredits - 3));
  REQUIRE_FALSE(credits.add(1));
  REQUIRE_FALSE(credits.add(~0u));
  REQUIRE(credits.available() == kMaxCredits);
}

TEST_CASE("a frame takes a credit, and returns what is owed, when it has left and not before",
          "[credits]") {
  WindowBudget budget(8, 64);
  Counters counters;
  Flow flow(1, 8);
  REQUIRE(flow.arrived(FrameType::message));
  REQUIRE_FALSE(flow.release(budget, counters));
  for (int attempt = 0; attempt < 3; ++attempt) {
    REQUIRE(flow.may_depart(FrameType::message));
    REQUIRE(flow.returnable(FrameType::message) == 1);
  }
  flow.departed(FrameType::message, 1);
  REQUIRE_FALSE(flow.may_depart(FrameType::message));
  REQUIRE(flow.may_depart(FrameType::get_data));  // needs no credit
  REQUIRE(flow.returnable(FrameType::message) == 0);
  REQUIRE(flow.arrived(FrameType::put));
  REQUIRE(flow.returnable(FrameType::put_ack, true) == 1);  // with the reply the buffer is free
  REQUIRE(flow.window().owed() == 0);
}

TEST_CASE("the window of a lost peer does not grow", "[credits]") {
  WindowBudget budget(64, 64);
  Counters counters;
  Flow flow(1, 2);
  budget.admit(2);
  for (int i = 0; i < 2; ++i) REQUIRE(flow.arrived(FrameType::message));
  flow.end(budget, true);
  REQUIRE(budget.granted() == 0);
  for (int i = 0; i < 2; ++i) flow.release(budget, counters);
  REQUIRE(budget.granted() == 0);
  REQUIRE(flow.window().window() == 2);
}

TEST_CASE("the budget covers all peers together", "[credits]") {
  WindowBudget budget(64, 100);
  for (int peer = 0; peer < 10; ++peer) budget.admit(8);
  REQUIRE(budget.granted() == 80);
  REQUIRE(budget.growth(8) == 8);
  REQUIRE(budget.growth(32) == 20);  // the rest below the cap
  REQUIRE(budget.growth(60) == 4);   // the rest below the maximum
  REQUIRE(budget.growth(64) == 0);
  budget.charge(20);
  REQUIRE(budget.growth(8) == 0);
  budget.admit(8);  // a new peer is admitted nevertheless
  REQUIRE(budget.granted() == 108);
  REQUIRE(budget.growth(8) == 0);
  budget.dismiss(28);
  REQUIRE(budget.growth(8) == 8);
  budget.dismiss(1000);  // never below 0
  REQUIRE(budget.granted() == 0);
}

}  // namespace lfc
