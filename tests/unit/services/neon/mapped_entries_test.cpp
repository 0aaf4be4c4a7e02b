// The entry by which two processes hand an announced buffer over, in all interleavings of their steps.
#include "services/neon/protocol/mapped_entries.hpp"

#include <array>
#include <vector>

#include "catch.hpp"

namespace lfc::neon::mapped_entries_test {
namespace {

using State = MappedEntry::State;

constexpr std::uint32_t kOld = 0xffffffff;  // the last generation before they begin anew
constexpr std::uint32_t kNew = 1;
constexpr int kBytes = 2;

// One origin and one target, whose steps are drawn. The origin puts a part and the final part of the old generation,
// and then a final put of the new one. A put that it cannot claim goes by frames, and so does the rest of
// that generation. If `carries`, the entry carries the final puts.
// The target announces the old generation, withdraws it or waits for it, and then announces the new one.
struct Run {
  MappedEntry entry{};
  std::array<std::array<int, kBytes>, 2> buffers{};  // by generation: old, new
  bool withdraws = false, carries = false;

  // --- The origin ---
  int put = 0;          // 0, 1: old; 2: new; 3: ended
  int copied = -1;      // bytes of the put that runs; -1: it has not been claimed
  bool loaded = false;  // the entry has the bytes of the put
  bool claimed[3] = {};
  bool by_frames = false;  // the old generation

  // --- The target ---
  int stage = 0;  // 0: announces; 1: waits or withdraws; 2: announces again; 3: waits; 4: ended
  bool blocked = false;       // its last step found nothing new
  State ended = State::open;  // how the old generation ended
  bool owned = false;         // the old buffer is the owner's again

  std::uint32_t generation() const { return put < 2 ? kOld : kNew; }

  // A step of a final put that the entry carries.
  void carry() {
    const auto value = static_cast<std::byte>(put + 1);
    const std::byte bytes[kBytes] = {value, value};
    if (!loaded) {
      loaded = entry.load(generation(), 0, bytes, kBytes);
      if (loaded) return;
    } else {
      claimed[put] = entry.carry(generation(), kBytes);
      loaded = false;
    }
    by_frames = by_frames || (put < 2 && !claimed[put]);
    ++put;
  }

  // The target copies what the entry carries.
  void land(std::array<int, kBytes>& buffer) const {
    const MappedEntry::Carried carried = entry.carried();
    REQUIRE(carried.size == (carries ? kBytes : 0));
    for (std::size_t i = 0; i < carried.size; ++i)
      buffer[i] = static_cast<int>(carried.words[0] >> 8 * i & 0xff);
  }

  void origin() {
    blocked = false;
    if (carries && put != 0 && !(put == 1 && by_frames)) return carry();
    if (copied < 0) {
      claimed[put] = !(put == 1 && by_frames) && entry.claim(generation());
      if (claimed[put]) {
        copied = 0;
        return;
      }
      by_frames = by_frames || put < 2;
      ++put;
      return;
    }
    if (copied < kBytes) {
      const auto buffer = static_cast<std::size_t>(entry.buffer().place);
      REQUIRE(buffer == (put < 2 ? 0 : 1));
      REQUIRE_FALSE((put < 2 && owned));
      buffers[buffer][static_cast<std::size_t>(copied++)] = put + 1;
      return;
    }
    entry.release(generation(), put != 0);
    copied = -1;
    ++put;
  }

  void target() {
    switch (stage) {
      case 0:
        entry.open(kOld, {0, kBytes});
        ++stage;
        return;
      case 1:
        if (withdraws) {
          ended = entry.close(kOld);
          blocked = ended == State::busy;
        } else {
          ended = entry.is_done(kOld) ? State::done : State::open;
          // A final put by frames ends the generation as well.
          if (ended == State::open && by_frames && put > 1) ended = entry.close(kOld);
          blocked = ended == State::open || ended == State::busy;
        }
        if (blocked) return;
        if (ended == State::done) land(buffers[0]);
        owned = true;
        if (ended == State::done) REQUIRE(buffers[0] == std::array{2, 2});
        ++stage;
        return;
      case 2:
        entry.open(kNew, {1, kBytes});
        ++stage;
        return;
      default:
        blocked = !entry.is_done(kNew);
        if (blocked) return;
        land(buffers[1]);
        REQUIRE(buffers[1] == std::array{3, 3});
        ++stage;
    }
  }

  bool origin_may_go() const { return put < 3; }
  bool target_may_go() const { return stage < 4 && !blocked; }
};

}  // namespace

TEST_CASE("an entry hands its buffer over in all interleavings", "[neon]") {
  const bool withdraws = GENERATE(false, true);
  const bool carries = GENERATE(false, true);
  std::vector<bool> choices;  // true: the target, where both could go
  std::size_t runs = 0, final_first = 0, withdrawn = 0, mapped = 0;
  for (bool more = true; more; ++runs) {
    Run run;
    run.withdraws = withdraws;
    run.carries = carries;
    std::size_t at = 0;
    while (run.origin_may_go() || run.target_may_go()) {
      bool target = run.target_may_go();
      if (target && run.origin_may_go()) {
        if (at == choices.size()) choices.push_back(false);
        target = choices[at++];
      }
      target ? run.target() : run.origin();
    }
    // Both sides agree about each final put.
    if (run.claimed[1]) REQUIRE(run.ended == State::done);
    if (run.stage > 1 && !run.claimed[1]) REQUIRE(run.ended == State::closed);
    REQUIRE((run.stage == 4) == run.claimed[2]);
    final_first += run.ended == State::done;
    withdrawn += run.ended == State::closed;
    mapped += run.claimed[2];
    while (!choices.empty() && choices.back()) choices.pop_back();
    more = !choices.empty();
    if (more) choices.back() = true;
  }
  REQUIRE(runs > 100);
  REQUIRE(final_first > 0);
  REQUIRE(withdrawn > 0);
  REQUIRE(mapped > 0);
}

TEST_CASE("a table of entries keeps each key at one place, and is full at last", "[neon]") {
  const std::size_t count = GENERATE(1, 8, 64);
  std::vector<MappedEntry> memory(count);
  MappedEntries table(reinterpret_cast<std::byte*>(memory.data()), count);
  std::vector<MappedEntry*> made;
  for (std::uint32_t tag = 0; tag < 4 * count; ++tag) made.push_back(table.make(tag % 3, tag));
  std::size_t kept = 0;
  for (std::uint32_t tag = 0; tag < 4 * count; ++tag) {
    REQUIRE(table.find(tag % 3, tag) == made[tag]);
    REQUIRE(table.find(tag % 3 + 1, tag) == nullptr);
    REQUIRE(table.make(tag % 3, tag) == made[tag]);
    if (made[tag] == nullptr) continue;
    ++kept;
    REQUIRE(std::count(made.begin(), made.end(), made[tag]) == 1);
  }
  REQUIRE(kept <= count);
  REQUIRE(2 * kept >= count);
}

}  // namespace lfc::neon::mapped_entries_test
