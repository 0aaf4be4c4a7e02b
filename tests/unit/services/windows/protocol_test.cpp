// The protocol of windows without an NI. Small programs of a few members run in all interleavings of their calls and
// frames; larger ones run in random interleavings. Frames overtake each other wherever the protocol does not wait.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "link/sim/random.hpp"
#include "unit/services/windows/protocol_world.hpp"

namespace lfc::rma::protocol_test {
namespace {

// Chooses the next of several events: all possibilities one after the other, or one at random.
class Choices {
 public:
  explicit Choices(std::uint64_t seed = 0) : random_(seed), drawn_(seed != 0) {}
  std::size_t pick(std::size_t count) {
    if (drawn_) return random_.below(count);
    if (at_ == taken_.size()) taken_.push_back({0, count});
    return taken_[at_++].first;
  }
  // Selects the next possibility. False: there is no other.
  bool next() {
    at_ = 0;
    while (!taken_.empty() && ++taken_.back().first == taken_.back().second) taken_.pop_back();
    return !taken_.empty();
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> taken_;
  std::size_t at_ = 0;
  Random random_;
  bool drawn_;
};

// A call: its action, and the condition that it waits for.
struct Call {
  std::function<void()> begin;
  std::function<bool()> over = [] { return true; };
};
using Program = std::vector<Call>;

// Runs the programs of all members, and delivers frames, in some order. Each member must reach the end.
template <class Law>
void run(ProtocolWorld& world, std::vector<Program> programs, Choices& choices, Law law) {
  std::vector<std::size_t> at(programs.size(), 0);
  std::vector<bool> waits(programs.size(), false);
  for (;;) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < programs.size(); ++i)
      if (!waits[i] && at[i] < programs[i].size()) ready.push_back(i);
    const std::size_t count = ready.size() + world.on_their_way();
    if (count == 0) break;
    const std::size_t pick = choices.pick(count);
    if (pick < ready.size()) {
      programs[ready[pick]][at[ready[pick]]].begin();
      waits[ready[pick]] = true;
    } else {
      world.deliver(pick - ready.size());
    }
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < programs.size(); ++i) {
        if (!waits[i]) continue;
        if (!programs[i][at[i]].over()) {
          world.at(static_cast<Rank>(i)).origin.send_bundles();  // as every wait does
          if (!programs[i][at[i]].over()) continue;
        }
        waits[i] = false;
        ++at[i];
        more = true;
      }
    }
    law();
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (at[i] != programs[i].size()) FAIL("member " << i << " waits for ever");
  }
  REQUIRE(world.operations().count() == 0);
}

constexpr Rank kTarget = 0;

void lock(ProtocolWorld& world, Rank self, bool exclusive) {
  ProtocolWorld::expect(world.at(self).epochs.begin_lock(kTarget, exclusive, false) ==
                        WindowStatus::ok);
}

// Does the same as Window::unlock(), step by step.
struct Unlock {
  void begin() {
    Epochs::let_unlock_ride(peer);
    begun = true;
  }
  bool over() {
    if (!begun) begin();
    if (!peer.locally_complete() || !own.epochs.unlock_step(peer)) return false;
    Epochs::end_lock(peer);
    own.epochs.end_one_lock();
    return true;
  }
  Protocol& own;
  OriginPeer& peer = own.origin.use(kTarget);
  bool begun = false;
};

// Checks that an exclusive lock has one holder.
void check_holders(ProtocolWorld& world, Rank members) {
  Rank holders = 0;
  bool exclusive = false;
  for (Rank rank = 0; rank < members; ++rank) {
    const TargetPeer& peer = world.at(kTarget).target.peer(rank);
    holders += peer.holds ? 1 : 0;
    exclusive = exclusive || (peer.holds && peer.holds_exclusive);
  }
  if (exclusive && holders != 1) FAIL("somebody is beside an exclusive lock");
}

// Members 1, 2, ... change word 0 of member 0 under locks. Exclusive ones read, add one and write. Shared ones
// accumulate one to word 1, and unlock at once or after it has left.
void run_locks(const std::vector<bool>& exclusive, int rounds, bool rides, std::size_t credits,
               Choices& choices) {
  const auto members = static_cast<Rank>(exclusive.size() + 1);
  ProtocolWorld world(members, credits);
  std::vector<std::uint64_t> seen(members, 0);
  std::vector<Program> programs(members);
  std::uint64_t writes = 0;
  for (Rank self = 1; self < members; ++self)
    for (int round = 0; round < rounds; ++round) {
      auto unlock = std::make_shared<Unlock>(Unlock{world.at(self)});
      if (!exclusive[self - 1]) {
        programs[self].push_back(
            {[&, self, rides, unlock] {
               lock(world, self, false);
               world.add(self, kTarget, 1, 1);
               if (rides) unlock->begin();
             },
             [&, self, unlock] {
               Origin& own = world.at(self).origin;
               return (unlock->begun || own.peer(kTarget).locally_complete()) && unlock->over();
             }});
        continue;
      }
      ++writes;
      programs[self].push_back({[&, self] {
                                  lock(world, self, true);
                                  world.get(self, kTarget, 0, seen[self]);
                                },
                                [&, self, unlock] {
                                  if (!unlock->begun) {
                                    Origin& own = world.at(self).origin;
                                    if (!own.peer(kTarget).locally_complete()) return false;
                                    world.put(self, kTarget, 0, seen[self] + 1);
                                  }
                                  return unlock->over();
                                }});
    }
  run(world, programs, choices, [&] { check_holders(world, members); });
  REQUIRE(world.word(kTarget, 0) == writes);
  REQUIRE(world.word(kTarget, 1) == exclusive.size() * static_cast<std::size_t>(rounds) - writes);
}

// Each member puts to all others in several epochs, each with separate words.
void run_fences(Rank members, int epochs, Choices& choices) {
  ProtocolWorld world(members, 1);
  std::vector<Program> programs(members);
  // The result of a fence's reduce_scatter: how many fragments are on their way to each member.
  std::vector<std::vector<std::uint32_t>> due(static_cast<std::size_t>(epochs),
                                              std::vector<std::uint32_t>(members, 0));
  std::vector<Rank> left(static_cast<std::size_t>(epochs), 0);
  for (Rank self = 0; self < members; ++self) {
    Protocol& own = world.at(self);
    own.epochs.fence_enter(true);
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const auto number = static_cast<std::size_t>(epoch);
      const auto place = [number, members](Rank from) { return number * members + from; };
      programs[self].push_back({[&world, self, members, place] {
        for (Rank to = 0; to < members; ++to)
          if (to != self) world.put(self, to, place(self), 100 + self);
      }});
      auto has_left = std::make_shared<bool>(false);
      auto told = std::make_shared<bool>(false);
      programs[self].push_back({[] {},
                                [&, self, number, place, has_left, told] {
                                  if (!*has_left) {
                                    if (!own.origin.all_left()) return false;
                                    std::vector<std::uint32_t> sent(members);
                                    own.epochs.fence_leave(sent);
                                    for (Rank to = 0; to < members; ++to)
                                      due[number][to] += sent[to];
                                    ++left[number];
                                    *has_left = true;
                                  }
                                  if (left[number] < members) return false;
                                  if (!std::exchange(*told, true))
                                    own.epochs.fence_expect(due[number][self]);
                                  if (!own.epochs.fence_arrived()) return false;
                                  own.epochs.fence_next();
                                  for (Rank from = 0; from < members; ++from)
                                    if (from != self)
                                      REQUIRE(world.word(self, place(from)) == 100 + from);
                                  return true;
                                }});
    }
  }
  run(world, programs, choices, [] {});
}

// Members 1, 2, ... write to member 0 in access epochs. It exposes its memory to them as often.
void run_access(Rank origins, int rounds, int puts, std::size_t credits, Choices& choices) {
  ProtocolWorld world(origins + 1, credits);
  std::vector<Program> programs(origins + 1);
  std::vector<Rank> group;
  for (Rank self = 1; self <= origins; ++self) group.push_back(self);
  for (int round = 1; round <= rounds; ++round) {
    const auto value = static_cast<std::uint64_t>(round);
    for (Rank self = 1; self <= origins; ++self) {
      Protocol& own = world.at(self);
      programs[self].push_back({[&, self, value] {
        REQUIRE(own.epochs.start(std::vector<Rank>{kTarget}, false) == WindowStatus::ok);
        for (int i = 0; i < puts; ++i) world.add(self, kTarget, self, 1);
      }});
      programs[self].push_back({[] {},
                                [&own] {
                                  if (!own.epochs.complete_step()) return false;
                                  own.epochs.end_access();
                                  return true;
                                }});
    }
    Protocol& target = world.at(kTarget);
    programs[kTarget].push_back(
        {[&] { REQUIRE(target.epochs.post(group, false) == WindowStatus::ok); },
         [&, value] {
           if (!target.epochs.exposure_ended()) return false;
           target.epochs.end_exposure();
           // All of this epoch has arrived, and nothing of the next.
           for (const Rank self : group)
             REQUIRE(world.word(kTarget, self) == value * static_cast<std::uint64_t>(puts));
           return true;
         }});
  }
  run(world, programs, choices, [] {});
}

// Runs all possibilities of a case, at most this many; returns how many.
template <class Case>
std::size_t all(Case one) {
  constexpr std::size_t kMost = 200000;
  Choices choices;
  std::size_t count = 0;
  do {
    one(choices);
    ++count;
  } while (choices.next() && count < kMost);
  REQUIRE(count < kMost);
  return count;
}

}  // namespace

TEST_CASE("locks in all interleavings: an exclusive one is alone and all get theirs",
          "[windows][exhaustive]") {
  for (const std::vector<bool>& exclusive :
       {std::vector<bool>{true}, {false}, {false, false}, {true, false}, {true, true}})
    for (const bool rides : {false, true}) {
      CAPTURE(exclusive.size(), exclusive[0], rides);
      CHECK(all([&](Choices& choices) { run_locks(exclusive, 1, rides, 4, choices); }) > 0);
    }
}

TEST_CASE("locks of three origins with few credits in random order", "[windows]") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    Choices choices(seed);
    const std::vector<bool> exclusive{(seed & 1) != 0, (seed & 2) != 0, (seed & 4) != 0};
    run_locks(exclusive, 3, (seed & 8) != 0, 1 + seed % 3, choices);
  }
}

TEST_CASE("fences in all interleavings: nothing of the next epoch counts", "[windows]") {
  CHECK(all([](Choices& choices) { run_fences(2, 1, choices); }) > 0);
  CHECK(all([](Choices& choices) { run_fences(2, 2, choices); }) > 0);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Choices choices(seed);
    run_fences(3, 2, choices);
  }
}

TEST_CASE("access epochs in all interleavings: completes are never early", "[windows]") {
  CHECK(all([](Choices& choices) { run_access(1, 1, 2, 4, choices); }) > 0);
  CHECK(all([](Choices& choices) { run_access(1, 2, 1, 1, choices); }) > 0);
  CHECK(all([](Choices& choices) { run_access(2, 1, 1, 4, choices); }) > 0);
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    Choices choices(seed);
    run_access(3, 3, 2, 1 + seed % 3, choices);
  }
}

// Members 2 and 3 each hold a lock and request the other's. A writer waits for each lock.
TEST_CASE("locks of all: a writer that waits delays no holder of another lock", "[windows]") {
  for (const bool all_at_once : {true, false}) {
    ProtocolWorld world(6);
    const auto arrive = [&] {
      while (world.deliver(0)) {
      }
    };
    const auto open = [&](Rank self, Rank target, bool exclusive) {
      REQUIRE(world.at(self).epochs.begin_lock(target, exclusive, false) == WindowStatus::ok);
    };
    for (const Rank self : {2u, 3u}) {
      if (all_at_once) {
        REQUIRE(world.at(self).epochs.begin_lock_all(false) == WindowStatus::ok);
      } else {
        open(self, self - 2, false);
      }
      world.add(self, self - 2, 0, 1);
    }
    arrive();
    for (const Rank self : {4u, 5u}) {
      open(self, self - 4, true);
      world.add(self, self - 4, 0, 10);
    }
    arrive();
    CHECK((world.word(0, 0) == 1 && world.word(1, 0) == 1));
    for (const Rank self : {2u, 3u}) {
      if (!all_at_once) open(self, 3 - self, false);
      world.add(self, 3 - self, 0, 1);
    }
    arrive();
    CHECK((world.word(0, 0) == 2 && world.word(1, 0) == 2));
    for (const Rank self : {2u, 3u})
      for (const Rank target : {0u, 1u}) {
        Epochs::let_unlock_ride(world.at(self).origin.use(target));
        CHECK_FALSE(world.at(self).epochs.unlock_step(world.at(self).origin.use(target)));
      }
    arrive();
    CHECK((world.word(0, 0) == 12 && world.word(1, 0) == 12));
  }
}

TEST_CASE("a target takes its state at its first use", "[windows]") {
  ProtocolWorld world(5);
  Protocol& own = world.at(0);
  Origin& origin = own.origin;
  REQUIRE(origin.used().size() == 1);  // this member itself
  SECTION("calls for all members, losses and forged grants make none") {
    std::array<std::uint32_t, 5> sent{1, 1, 1, 1, 1};
    own.epochs.fence_leave(sent);
    CHECK(std::count(sent.begin(), sent.end(), 0u) == 5);
    REQUIRE(own.epochs.begin_lock_all(false) == WindowStatus::ok);
    own.epochs.prepare_lock_all(false);
    std::size_t next = 0;
    CHECK(own.epochs.try_lock_all(next));
    CHECK(origin.all_remotely_complete());
    CHECK(own.on_head(4, head_of(WindowKind::granted, 0), {}) == Verdict::malformed);
    origin.on_lost(4);
    CHECK(origin.used().size() == 1);
    CHECK((origin.find(4) == nullptr && origin.peer(4).lock == OriginPeer::Lock::none));
    Epochs::end_lock(origin.use(0));
    own.epochs.end_lock_all();
  }
  SECTION("an operation, a post and a group make it, and it stays") {
    own.epochs.fence_enter(true);
    world.add(0, 1, 2, 5);
    OriginPeer* const first = origin.find(1);
    REQUIRE(first != nullptr);
    CHECK((first->size == 8 * ProtocolWorld::kWords && first->displacement_unit == 8));
    CHECK(own.on_head(2, head_of(WindowKind::post, 0), {}) == Verdict::release);
    const Rank group[] = {3, 4};
    REQUIRE(own.epochs.start(group, true) == WindowStatus::ok);
    REQUIRE(origin.used().size() == 5);
    CHECK(origin.find(1) == first);
    for (Rank rank = 0; rank < 5; ++rank)
      CHECK((origin.find(rank) == &origin.peer(rank) && origin.peer(rank).rank == rank));
    CHECK(origin.peer(2).posts == 1);
  }
}

TEST_CASE("the memory of a target that was never used has its own bounds", "[windows]") {
  ProtocolWorld world(3);
  Origin& origin = world.at(0).origin;
  origin.describe(
      false, [](Rank rank) { return std::uint64_t{8} * rank; }, [](Rank rank) { return rank + 1; });
  CHECK((origin.displacement_unit(1) == 2 && origin.displacement_unit(2) == 3));
  const Run run{0, 8, 0, 1};
  WindowCall call;
  call.kind = WindowCall::Kind::put;
  call.bytes = 8;
  call.origin = {nullptr, 0, {&run, 1}, 8, 1, 8};
  for (const Rank target : {1u, 2u}) {
    call.target = target;
    for (std::int64_t word = 0; word < 3; ++word) {
      call.there = {nullptr, 8 * word, {&run, 1}, 8, 1, 8};
      const bool inside = word < static_cast<std::int64_t>(target);
      CHECK(origin.check(call) == (inside ? WindowStatus::ok : WindowStatus::range));
    }
  }
  CHECK(origin.find(1) == nullptr);
  CHECK((origin.use(1).size == 8 && origin.use(2).displacement_unit == 3));
}

}  // namespace lfc::rma::protocol_test
