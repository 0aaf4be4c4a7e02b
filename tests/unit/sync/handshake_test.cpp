// The three handshakes of the NI thread, in all interleavings of their steps on a machine with store buffers (x86's,
// TSO). No sleeper is forgotten (SleepWord, Gate), two threads are never inside (SendLock), and no report is lost
// (Departure). Each also runs without its fences, or without its second look. These runs must fail, which shows that
// the search finds such errors. The steps are those of sync/sleep_word.hpp, sync/gate.hpp, sync/send_lock.hpp and
// engine/departure.hpp.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "sync/send_lock.hpp"
#include "sync/sleep_word.hpp"

namespace {

using namespace lfc;

constexpr int kThreads = 3;
constexpr int kWords = 8;
constexpr int kBuffered = 6;

// Memory, and the stores of each thread that others cannot see yet. All members are bytes, so that states compare.
struct Machine {
  struct Thread {
    std::uint8_t step = 0;
    std::uint8_t value = 0;  // a register
    std::uint8_t round = 0;
    std::uint8_t inside = 0;
    std::uint8_t fence_due = 0;  // a membarrier waits for a fence
    std::uint8_t old = 0;        // how many buffered stores are older than the arming of a sleeper
    std::uint8_t buffered = 0;
    std::array<std::uint8_t, kBuffered> address{};
    std::array<std::uint8_t, kBuffered> stored{};
  };
  std::array<std::uint8_t, kWords> memory{};
  std::array<Thread, kThreads> threads{};

  bool operator<(const Machine& other) const noexcept {
    return std::memcmp(this, &other, sizeof *this) < 0;
  }

  void store(Thread& self, int address, int value) {
    REQUIRE(self.buffered < kBuffered);
    self.address[self.buffered] = static_cast<std::uint8_t>(address);
    self.stored[self.buffered++] = static_cast<std::uint8_t>(value);
  }
  int load(const Thread& self, int address) const {
    for (int i = self.buffered - 1; i >= 0; --i)
      if (self.address[static_cast<std::size_t>(i)] == address)
        return self.stored[static_cast<std::size_t>(i)];
    return memory[static_cast<std::size_t>(address)];
  }
  void flush_one(Thread& self) {
    memory[self.address[0]] = self.stored[0];
    for (std::size_t i = 1; i < self.buffered; ++i) {
      self.address[i - 1] = self.address[i];
      self.stored[i - 1] = self.stored[i];
    }
    --self.buffered;
    if (self.old != 0) --self.old;
    self.address[self.buffered] = self.stored[self.buffered] = 0;
  }
  void flush(Thread& self) {
    while (self.buffered != 0) flush_one(self);
  }
  bool exchange(Thread& self, int address, int expected, int desired) {
    flush(self);
    std::uint8_t& word = memory[static_cast<std::size_t>(address)];
    if (word != expected) return false;
    word = static_cast<std::uint8_t>(desired);
    return true;
  }
  // membarrier: one thread begins it, and each other thread passes a fence at any later time.
  void begin_heavy(Thread& self) {
    flush(self);
    for (Thread& other : threads)
      if (&other != &self) other.fence_due = 1;
  }
  bool heavy_is_over(const Thread& self) const {
    for (const Thread& other : threads)
      if (&other != &self && other.fence_due != 0) return false;
    return true;
  }
  // A time in which each core writes the present contents of its buffer.
  void begin_settling(const Thread& self) {
    for (Thread& other : threads)
      if (&other != &self) other.old = other.buffered;
  }
  bool is_settled(const Thread& self) const {
    for (const Thread& other : threads)
      if (&other != &self && other.old != 0) return false;
    return true;
  }
};
static_assert(sizeof(Machine) == kWords + kThreads * (7 + 2 * kBuffered));

// One step of one thread. False: it cannot go on now, or has ended.
using Program = bool (*)(Machine&, Machine::Thread&);

struct Search {
  std::vector<Program> programs;
  std::function<void(const Machine&)> check = [](const Machine&) {};  // every state
  std::function<void(const Machine&)> stuck = [](const Machine&) {};  // states without a next step
  std::set<Machine> seen;

  void run(const Machine& first) {
    std::vector<Machine> open{first};
    seen.insert(first);
    while (!open.empty()) {
      const Machine now = open.back();
      open.pop_back();
      check(now);
      bool any = false;
      const auto reach = [&](const Machine& next) {
        any = true;
        if (seen.insert(next).second) open.push_back(next);
      };
      // Threads without a program also pass fences; otherwise a wait for their fence would never end.
      for (std::size_t i = 0; i < kThreads; ++i) {
        if (now.threads[i].buffered != 0) {
          Machine next = now;
          next.flush_one(next.threads[i]);
          reach(next);
        }
        if (now.threads[i].fence_due != 0) {
          Machine next = now;
          next.flush(next.threads[i]);
          next.threads[i].fence_due = 0;
          reach(next);
        }
        if (i >= programs.size()) continue;
        Machine next = now;
        if (programs[i](next, next.threads[i])) reach(next);
      }
      if (!any) stuck(now);
    }
  }
};

// --- SleepWord ---

constexpr int kWord = 0;
constexpr int kBell = 1;
constexpr int kWork = 2;  // and one more for the second waker
constexpr int kRounds = 2;

bool looks_twice = true;

// Twice: publishes work after the last has been taken, and wakes the sleeper.
template <int kIndex>
bool waker(Machine& machine, Machine::Thread& self) {
  switch (self.step) {
    case 0:
      if (self.round == kRounds || machine.load(self, kWork + kIndex) != 0) return false;
      ++self.round;
      machine.store(self, kWork + kIndex, 1);
      self.step = 1;  // no fence, only program order
      return true;
    case 1:
      self.value = static_cast<std::uint8_t>(machine.load(self, kWord));
      self.step = (self.value & 1) != 0 ? 2 : 0;
      return true;
    case 2:  // a system call
      machine.flush(self);
      machine.memory[kBell] = 1;
      self.step = 3;
      return true;
    default:
      (void)machine.exchange(self, kWord, self.value, self.value + 1);
      self.value = 0;
      self.step = 0;
      return true;
  }
}

bool sleeper(Machine& machine, Machine::Thread& self) {
  switch (self.step) {
    case 0:
      machine.store(self, kWord, machine.load(self, kWord) + 1);
      machine.flush(self);
      machine.begin_settling(self);
      self.step = 1;
      return true;
    case 1: self.step = machine.load(self, kWork) != 0 ? 7 : 2; return true;
    case 2: self.step = machine.load(self, kWork + 1) != 0 ? 7 : looks_twice ? 3 : 6; return true;
    case 3:  // asleep, with a timer
      if (machine.memory[kBell] == 0 && !machine.is_settled(self)) return false;
      self.step = machine.memory[kBell] != 0 ? 7 : 4;
      return true;
    case 4: self.step = machine.load(self, kWork) != 0 ? 7 : 5; return true;
    case 5: self.step = machine.load(self, kWork + 1) != 0 ? 7 : 6; return true;
    case 6:
      machine.flush(self);
      if (machine.memory[kBell] == 0) return false;  // asleep
      self.step = 7;
      return true;
    case 7: {
      const int now = machine.load(self, kWord);
      if ((now & 1) != 0) (void)machine.exchange(self, kWord, now, now + 1);
      machine.flush(self);
      machine.memory[kBell] = 0;
      self.step = 8;
      return true;
    }
    case 8:
      if (machine.load(self, kWork) != 0) machine.store(self, kWork, 0);
      self.step = 9;
      return true;
    default:
      if (machine.load(self, kWork + 1) != 0) machine.store(self, kWork + 1, 0);
      self.step = 0;
      return true;
  }
}

int lost_wake_ups(bool with_second_look) {
  looks_twice = with_second_look;
  int lost = 0;
  Search search{{waker<0>, waker<1>, sleeper}};
  search.stuck = [&](const Machine& machine) {
    if (machine.memory[kWork] != 0 || machine.memory[kWork + 1] != 0) ++lost;
  };
  search.run({});
  REQUIRE(search.seen.size() > 1000);
  return lost;
}

// --- SendLock, biased, with the Gate that is its claim ---

constexpr int kDepth = 0;
constexpr int kClaimed = 1;
constexpr int kSleepers = 2;
constexpr int kAsleep = 3;  // the kernel's word

bool fenced = true;
bool opened_in_order = true;

// Waits for the NI thread where it cannot enter.
bool host(Machine& machine, Machine::Thread& self) {
  switch (self.step) {
    case 0:
      if (self.round == kRounds + 1) return false;
      ++self.round;
      machine.store(self, kDepth, 1);
      self.step = 1;  // fence.light()
      return true;
    case 1:
      if (machine.load(self, kClaimed) != 0) {
        self.step = 4;
      } else {
        self.inside = 1;
        self.step = 2;
      }
      return true;
    case 2:
      self.inside = 0;
      self.step = 3;
      return true;
    case 3:
      machine.store(self, kDepth, 0);
      self.step = 0;
      return true;
    case 4:
      machine.store(self, kDepth, 0);
      self.step = 5;
      return true;
    case 5:
      machine.flush(self);
      ++machine.memory[kSleepers];
      self.step = 6;
      return true;
    case 6:  // the kernel checks the word and suspends the thread in one step
      machine.flush(self);
      machine.memory[kAsleep] = machine.memory[kClaimed];
      self.step = 7;
      return true;
    case 7:
      if (machine.memory[kAsleep] != 0) return false;  // asleep
      self.step = 8;
      return true;
    default:
      machine.flush(self);
      --machine.memory[kSleepers];
      self.step = 0;
      return true;
  }
}

bool thread_of_ni(Machine& machine, Machine::Thread& self) {
  switch (self.step) {
    case 0:
      if (self.round == kRounds) return false;
      ++self.round;
      machine.store(self, kClaimed, 1);
      self.step = fenced ? 1 : 3;
      return true;
    case 1:
      machine.begin_heavy(self);
      self.step = 2;
      return true;
    case 2:
      if (!machine.heavy_is_over(self)) return false;
      self.step = 3;
      return true;
    case 3:
      if (machine.load(self, kDepth) == 0) {
        self.inside = 1;
        self.step = 4;
      } else {
        self.step = 5;
      }
      return true;
    case 4:
      self.inside = 0;
      self.step = 5;
      return true;
    case 5:
      machine.store(self, kClaimed, 0);
      if (opened_in_order) machine.flush(self);
      self.step = 6;
      return true;
    case 6: self.step = machine.load(self, kSleepers) != 0 ? 7 : 0; return true;
    default:  // a system call
      machine.flush(self);
      machine.memory[kAsleep] = 0;
      self.step = 0;
      return true;
  }
}

struct Found {
  int collisions = 0;
  int forgotten = 0;  // asleep without a wake-up
};

Found search_lock(bool with_fence, bool in_order) {
  fenced = with_fence;
  opened_in_order = in_order;
  Found found;
  int entries = 0;
  Search search{{host, thread_of_ni}};
  search.check = [&](const Machine& machine) {
    if (machine.threads[0].inside != 0 && machine.threads[1].inside != 0) ++found.collisions;
    entries += machine.threads[1].inside;
  };
  search.stuck = [&](const Machine& machine) { found.forgotten += machine.memory[kAsleep]; };
  Machine first;
  search.run(first);
  REQUIRE(entries > 0);
  return found;
}

// --- Departure ---

constexpr int kLeft = 0, kRelies = 1, kPending = 2, kTimer = 3;  // the timer is the kernel's
constexpr int kReports = 3;
struct Fences {
  bool host, rest, timer;
} fences{};
// Reports that it leaves, several times. Each report sets the timer unless it is pending.
bool leaving_host(Machine& machine, Machine::Thread& self) {
  switch (self.step) {
    case 0:
      if (self.round == kReports) return false;
      machine.store(self, kLeft, ++self.round);
      self.step = 1;
      return true;
    case 1:
      if (fences.host) machine.flush(self);
      self.step = 2;
      return true;
    case 2: self.step = machine.load(self, kRelies) != 0 ? 3 : 0; return true;
    case 3: self.step = machine.load(self, kPending) != 0 ? 0 : 4; return true;
    case 4: self.step = machine.exchange(self, kPending, 0, 1) ? 5 : 0; return true;
    default:  // a system call
      machine.flush(self);
      machine.memory[kTimer] = 1;
      self.step = 0;
      return true;
  }
}

// Begins a long rest, which only the timer ends. `value`: the last report that it has seen.
bool resting_thread(Machine& machine, Machine::Thread& self) {
  switch (self.step) {
    case 0:
      machine.store(self, kRelies, 1);
      self.step = 1;
      return true;
    case 1:
      if (fences.rest) machine.flush(self);
      self.step = 4;
      return true;
    case 2:  // the timer has ended
      machine.store(self, kPending, 0);
      self.step = 3;
      return true;
    case 3:
      if (fences.timer) machine.flush(self);
      self.step = 4;
      return true;
    case 4:
      self.value = static_cast<std::uint8_t>(machine.load(self, kLeft));
      self.step = 5;
      return true;
    default:  // in the kernel
      machine.flush(self);
      if (machine.memory[kTimer] == 0) return false;
      machine.memory[kTimer] = 0;
      self.step = 2;
      return true;
  }
}

int lost_reports(Fences with) {
  fences = with;
  int lost = 0;
  Search search{{leaving_host, resting_thread}};
  search.stuck = [&](const Machine& machine) {
    lost += machine.memory[kLeft] != machine.threads[1].value ? 1 : 0;
  };
  search.run({});
  return lost;
}

TEST_CASE("handshake: no report of a host that leaves is lost, in no interleaving") {
  CHECK(lost_reports({true, true, true}) == 0);
  CHECK(lost_reports({false, true, true}) != 0);
  CHECK(lost_reports({true, false, true}) != 0);
  CHECK(lost_reports({true, true, false}) != 0);
}

TEST_CASE("handshake: no wake-up is lost, in no interleaving", "[handshake][serial]") {
  CHECK(lost_wake_ups(true) == 0);
  CHECK(lost_wake_ups(false) != 0);
}

TEST_CASE("handshake: host and NI thread are never both inside, in no interleaving") {
  CHECK(search_lock(true, true).collisions == 0);
  CHECK(search_lock(false, true).collisions != 0);
}

TEST_CASE("handshake: a host that waits for the NI thread is not forgotten, in no interleaving") {
  CHECK(search_lock(true, true).forgotten == 0);
  CHECK(search_lock(true, false).forgotten != 0);
}

TEST_CASE("handshake: a late answer does not take back a later arming") {
  SleepWord word{};
  REQUIRE(word.asleep() == 0);
  word.arm();
  const std::uint32_t early = word.asleep();
  REQUIRE(early != 0);
  word.withdraw();
  REQUIRE(word.asleep() == 0);
  word.arm();
  word.disarm(early);
  CHECK(word.asleep() != 0);
  word.arm();  // again, without a withdrawal
  CHECK(word.asleep() != 0);
  word.disarm(word.asleep());
  CHECK(word.asleep() == 0);
  word.withdraw();
  CHECK(word.asleep() == 0);
}

TEST_CASE("handshake: a biased lock may be entered again by the host, and keeps the thread out") {
  SendLock lock(SendLock::Kind::biased);
  {
    const SendLock::Guard outer(lock);
    const SendLock::Guard inner(lock);
    CHECK_FALSE(lock.try_claim());
  }
  REQUIRE(lock.try_claim());
  CHECK(lock.try_enter() == SendLock::kRefused);
  lock.release_claim();
  const SendLock::Entry entry = lock.try_enter();
  CHECK(entry != SendLock::kRefused);
  CHECK_FALSE(lock.try_claim());
  lock.leave(entry);
  CHECK(lock.try_claim());
  lock.release_claim();
}

TEST_CASE("handshake: the NI thread sees polls of the host, and not its sends") {
  for (const auto kind : {SendLock::Kind::biased, SendLock::Kind::shared}) {
    SendLock lock(kind);
    const std::uint64_t before = lock.visits();
    lock.leave(lock.try_enter());
    CHECK(lock.visits() == before);
    lock.leave_visit(lock.try_enter());
    CHECK(lock.visits() != before);
  }
}

}  // namespace
