// Windows over simulated links: operations, epochs and locks between NIs, with delays and one credit.
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "unit/services/windows/windows_world.hpp"

namespace lfc {

TEST_CASE("lock, put, flush, get, unlock", "[windows]") {
  Setting at(2);
  REQUIRE(at.at(0).lock(1, true, false) == WindowStatus::ok);
  std::array<std::uint64_t, 20> values;
  std::deque<Word> kept;
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    values[i] = 100 + i;
    const Word& from = kept.emplace_back(&values[i]);
    const Word& to = kept.emplace_back(nullptr, static_cast<std::int64_t>(i));
    REQUIRE(at.at(0).put(1, from.view, to.view, nullptr) == WindowStatus::ok);
  }
  REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
  for (std::uint64_t i = 0; i < values.size(); ++i) REQUIRE(at.words(1)[i] == 100 + i);
  std::uint64_t back = 0;
  REQUIRE(at.at(0).get(1, Word(&back).view, Word(nullptr, 7).view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
  REQUIRE(back == 107);
}

TEST_CASE("local peers take the locks of created windows without a frame", "[windows]") {
  Setting at(3, {.initial_window = 1, .maximum_window = 2}, Flavor::create, {.seed = 3}, 2);
  std::uint64_t value = 7;
  std::uint64_t late = 8;
  const Counters& sent = at.world.ni(0).counters();
  REQUIRE(at.at(0).lock(1, true, false) == WindowStatus::ok);
  REQUIRE(at.at(0).peer(1).lock == rma::OriginPeer::Lock::held);
  REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
  REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
  REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
  REQUIRE(sent.get(Counter::frames_sent) == 0);
  // A rank that requests the lock in frames waits for these holders as well.
  REQUIRE(at.at(0).lock(1, true, false) == WindowStatus::ok);
  REQUIRE(at.at(2).lock(1, true, false) == WindowStatus::ok);
  const Word from(&late);
  const Word there(nullptr);
  REQUIRE(at.at(2).put(1, from.view, there.view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).accumulate(1, kAdd, Word(&value).view, there.view, nullptr) == WindowStatus::ok);
  at.settle();
  REQUIRE(at.words(1)[0] == 7);
  REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
  REQUIRE(at.at(2).unlock(1) == WindowStatus::ok);
  REQUIRE(at.words(1)[0] == 8);
  REQUIRE(at.at(0).lock(1, false, false) == WindowStatus::ok);
  REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
}

TEST_CASE("a strided put and a fetch of many elements, in many fragments", "[windows]") {
  Setting at(2);
  std::array<std::uint64_t, 32> values;
  std::array<std::uint64_t, 32> old{};
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = i + 1;
  const Run packed{0, sizeof values, 0, 1};
  const Run every_other{0, 8, 16, 32};
  const View from{
      reinterpret_cast<std::byte*>(values.data()), 0, {&packed, 1}, 0, 1, sizeof values};
  const View result{reinterpret_cast<std::byte*>(old.data()), 0, {&packed, 1}, 0, 1, sizeof old};
  const View there{nullptr, 0, {&every_other, 1}, 0, 1, sizeof values};
  REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
  REQUIRE(at.at(0).put(1, from, there, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
  int request = 0;
  REQUIRE(at.at(0).fetch(1, kAdd, from, result, there, &request) == WindowStatus::ok);
  REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
  at.services[0]->serve_host();
  REQUIRE(finished.size() == 1);
  REQUIRE((finished[0].first == &request && finished[0].second == WindowStatus::ok));
  REQUIRE(old == values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(at.words(1)[2 * i] == 2 * values[i]);
    REQUIRE(at.words(1)[2 * i + 1] == 0);
  }
}

// Operations that fit into one frame are sent at once, others in fragments. The limit here is about 16 words.
TEST_CASE("strided operations around the size of a frame", "[windows]") {
  std::array<std::uint64_t, kWords> values;
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = i + 1;
  for (const std::size_t payload : {192, 196, 200, 232, 240}) {
    Setting at(2, {.initial_window = 4}, Flavor::create, {.seed = 5, .max_payload = payload});
    REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
    for (std::uint64_t count = 10; count <= 28; ++count) {
      CAPTURE(payload, count);
      std::fill_n(at.words(1), kWords, 0);
      const Strided from(count, values.data());
      const Strided there(count);
      REQUIRE(at.at(0).put(1, from.view, there.view, nullptr) == WindowStatus::ok);
      REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
      REQUIRE(at.at(0).accumulate(1, kAdd, from.view, there.view, nullptr) == WindowStatus::ok);
      REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
      for (std::uint64_t i = 0; i < kWords; ++i)
        REQUIRE(at.words(1)[i] == (i % 2 == 0 && i < 2 * count ? 2 * values[i] : 0));
    }
    REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
  }
}

// Two runs for each fragment and two frames for each reply, which take turns.
TEST_CASE("replies to several fragments of one get take turns", "[windows]") {
  const std::vector<Run> runs{{0, 64, 0, 1},   {72, 72, 0, 1},  {152, 64, 0, 1},
                              {224, 72, 0, 1}, {304, 64, 0, 1}, {376, 72, 0, 1}};
  constexpr std::uint64_t kBytes = 3 * (64 + 72);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Setting at(2, {.initial_window = 8}, Flavor::create,
               {.seed = seed, .max_payload = 128, .capacity = 2});
    for (std::size_t i = 0; i < kWords; ++i) at.words(1)[i] = 100 + i;
    std::array<std::uint64_t, kBytes / 8> got{};
    const Run packed{0, kBytes, 0, 1};
    const View result{reinterpret_cast<std::byte*>(got.data()), 0, {&packed, 1}, 0, 1, kBytes};
    REQUIRE(at.at(0).lock(1, false, false) == WindowStatus::ok);
    REQUIRE(at.at(0).get(1, result, {nullptr, 0, runs, 0, 1, kBytes}, nullptr) == WindowStatus::ok);
    REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
    std::size_t next = 0;
    for (const Run& run : runs)
      for (std::uint64_t i = 0; i < run.length / 8; ++i)
        REQUIRE(got[next++] == 100 + static_cast<std::uint64_t>(run.offset) / 8 + i);
  }
}

// The link's name does not matter, only that it does not involve the target's NI.
TEST_CASE("small puts and gets take the link's own way where it is one-sided", "[windows]") {
  Setting at(2, {.initial_window = 4}, Flavor::create, {.seed = 7, .remote_memory = true});
  REQUIRE(at.world.ni(0).link_traits(at.world.peer(0, 1)).one_sided);
  std::uint64_t one = 4711;
  std::uint64_t got = 0;
  REQUIRE(at.at(0).lock(1, false, false) == WindowStatus::ok);
  REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
  REQUIRE(at.at(0).put(1, Word(&one).view, Word(nullptr, 3).view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
  CHECK(at.words(1)[3] == 4711);
  REQUIRE(at.at(0).get(1, Word(&got).view, Word(nullptr, 3).view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
  CHECK(got == 4711);
  CHECK(at.world.ni(0).counters().get(Counter::put_native_bytes) == 8);
  CHECK(at.world.ni(0).counters().get(Counter::get_native_bytes) == 8);
}

TEST_CASE("a rank that polls mapped memory serves the others", "[windows]") {
  Setting at(2);
  std::uint64_t one = 1;
  std::uint64_t seen = 0;
  REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
  REQUIRE(at.at(1).lock_all(false) == WindowStatus::ok);
  REQUIRE(at.at(1).accumulate(0, kAdd, Word(&one).view, Word(nullptr).view, nullptr) ==
          WindowStatus::ok);
  int request = 0;
  const auto poll_by_loads = [&] {
    seen = *reinterpret_cast<std::uint64_t*>(at.at(0).stores(0, 0, 8));
    if (!at.at(0).flushed_at_once(0)) REQUIRE(at.at(0).flush(0) == WindowStatus::ok);
  };
  const auto poll_by_flush = [&] {
    REQUIRE(at.at(0).get(0, Word(&seen).view, Word(nullptr).view, nullptr) == WindowStatus::ok);
    REQUIRE(at.at(0).flush(0) == WindowStatus::ok);
  };
  const auto poll_by_request = [&] {  // it has finished when the call returns
    REQUIRE(at.at(0).get(0, Word(&seen).view, Word(nullptr).view, &request) == WindowStatus::ok);
  };
  const auto until_seen = [&](auto poll) {
    int polls = 0;
    while (seen == 0 && ++polls < 100000) poll();
    return seen == 1;
  };
  SECTION("by loads and flush") { REQUIRE(until_seen(poll_by_loads)); }
  SECTION("by get and flush") { REQUIRE(until_seen(poll_by_flush)); }
  SECTION("by requests") { REQUIRE(until_seen(poll_by_request)); }
  REQUIRE(at.at(1).unlock_all() == WindowStatus::ok);
  REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
}

TEST_CASE("a put before the post waits for it, and complete does not overtake it", "[windows]") {
  Setting at(2);
  const std::uint32_t target = 1;
  const std::uint32_t origin = 0;
  std::uint64_t value = 42;
  const Word from(&value);
  const Word to(nullptr, 5);
  for (int round = 0; round < 5; ++round) {
    ++value;
    REQUIRE(at.at(0).start({&target, 1}, false) == WindowStatus::ok);
    REQUIRE(at.at(0).put(1, from.view, to.view, nullptr) == WindowStatus::ok);
    at.settle();
    REQUIRE(at.words(1)[5] != value);
    REQUIRE(at.at(1).post({&origin, 1}, false) == WindowStatus::ok);
    bool done = true;
    REQUIRE(at.at(1).test(done) == WindowStatus::ok);
    REQUIRE_FALSE(done);
    REQUIRE(at.at(0).complete() == WindowStatus::ok);
    REQUIRE(at.at(1).wait() == WindowStatus::ok);
    REQUIRE(at.words(1)[5] == value);
  }
}

TEST_CASE("posts have left when a window is freed", "[windows]") {
  constexpr std::uint64_t kEpochs = 40;
  Setting at(2);
  const std::uint32_t target = 1;
  const std::uint32_t origin = 0;
  for (std::uint64_t i = 0; i < kEpochs; ++i) {  // ahead of the target's posts
    REQUIRE(at.at(0).start({&target, 1}, false) == WindowStatus::ok);
    REQUIRE(at.at(0).complete() == WindowStatus::ok);
  }
  at.settle();
  for (std::uint64_t i = 0; i < kEpochs; ++i) {
    REQUIRE(at.at(1).post({&origin, 1}, false) == WindowStatus::ok);
    REQUIRE(at.at(1).wait() == WindowStatus::ok);
  }
  REQUIRE(at.at(1).drain() == WindowStatus::ok);
  // The credits of the last ones may still release two.
  CHECK(at.at(0).protocol().origin.peer(1).posts + 2 >= kEpochs);
}

TEST_CASE("complete and unlock ride in the last fragment that waits", "[windows]") {
  Setting at(2, {.initial_window = 8});
  const std::uint32_t target = 1;
  const std::uint32_t origin = 0;
  std::array<std::uint64_t, 3> values{7, 8, 9};
  const Counters& counters = at.world.ni(0).counters();
  std::deque<Word> kept;
  // Small puts wait in one bundle. Those with a request wait one by one.
  void* const request = GENERATE(false, true) ? &values : nullptr;
  const std::size_t frames = request == nullptr ? 1 : values.size();
  const auto put_all = [&] {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Word& from = kept.emplace_back(&values[i]);
      const Word& to = kept.emplace_back(nullptr, static_cast<std::int64_t>(i));
      REQUIRE(at.at(0).put(1, from.view, to.view, request) == WindowStatus::ok);
    }
  };
  SECTION("complete") {
    REQUIRE(at.at(0).start({&target, 1}, false) == WindowStatus::ok);
    put_all();
    REQUIRE(at.at(1).post({&origin, 1}, false) == WindowStatus::ok);
    REQUIRE(at.at(0).complete() == WindowStatus::ok);
    REQUIRE(at.at(1).wait() == WindowStatus::ok);
    CHECK(counters.get(Counter::frames_sent) == frames);
  }
  SECTION("unlock") {
    REQUIRE(at.at(0).lock(1, true, false) == WindowStatus::ok);
    put_all();
    REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
    CHECK_FALSE(at.at(1).protocol().target.peer(0).holds);
    CHECK(counters.get(Counter::frames_sent) == frames + 1);  // the request for the lock
  }
  SECTION("an unlock rides while others wait for the lock") {
    REQUIRE(at.at(1).lock(1, true, false) == WindowStatus::ok);
    REQUIRE(at.at(0).lock(1, true, false) == WindowStatus::ok);
    put_all();
    at.settle();
    REQUIRE(at.at(1).unlock(1) == WindowStatus::ok);
    REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
    REQUIRE(at.at(1).lock(1, true, false) == WindowStatus::ok);
    REQUIRE(at.at(1).unlock(1) == WindowStatus::ok);
  }
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(at.words(1)[i] == values[i]);
}

TEST_CASE("a last fragment that overtakes the others ends nothing before them", "[windows]") {
  Setting at(2, {.initial_window = 8});
  const std::uint32_t origin = 0;
  REQUIRE(at.at(1).post({&origin, 1}, false) == WindowStatus::ok);
  WindowHead last = at.head(0, 1, WindowKind::put, 8, 1);
  last.flags = kComplete;
  last.count = 2;
  at.send(0, 1, last, {{8, 8, 0, 1}}, 8);
  at.settle();
  bool done = true;
  REQUIRE(at.at(1).test(done) == WindowStatus::ok);
  REQUIRE_FALSE(done);
  at.send(0, 1, at.head(0, 1, WindowKind::put, 8, 1), {{0, 8, 0, 1}}, 8);
  at.settle();
  REQUIRE(at.at(1).test(done) == WindowStatus::ok);
  REQUIRE(done);
}

TEST_CASE("an exclusive lock keeps all others out, in the order of their requests", "[windows]") {
  Setting at(3);
  std::uint64_t one = 1;
  std::uint64_t seen = 99;
  REQUIRE(at.at(0).lock(2, true, false) == WindowStatus::ok);
  REQUIRE(at.at(0).put(2, Word(&one).view, Word(nullptr).view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).flush(2) == WindowStatus::ok);
  REQUIRE(at.at(1).lock(2, false, false) == WindowStatus::ok);  // the first operation requests it
  REQUIRE(at.at(1).get(2, Word(&seen).view, Word(nullptr).view, nullptr) == WindowStatus::ok);
  at.settle();
  REQUIRE(seen == 99);
  REQUIRE(at.at(0).unlock(2) == WindowStatus::ok);
  REQUIRE(at.at(1).unlock(2) == WindowStatus::ok);
  REQUIRE(seen == 1);
}

TEST_CASE("a target refuses operations outside its attached memory", "[windows]") {
  Setting at(2, {.initial_window = 2}, Flavor::dynamic);
  std::uint64_t value = 3;
  const auto address = reinterpret_cast<std::int64_t>(at.words(1));
  REQUIRE(at.at(1).attach(at.words(1), kWords * 8) == WindowStatus::ok);
  REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
  Word inside(nullptr);
  inside.view.offset = address;
  REQUIRE(at.at(0).put(1, Word(&value).view, inside.view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).flush(1) == WindowStatus::ok);
  REQUIRE(at.words(1)[0] == 3);
  Word outside(nullptr);
  outside.view.offset = address + static_cast<std::int64_t>(kWords) * 8 - 4;
  REQUIRE(at.at(0).put(1, Word(&value).view, outside.view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).flush(1) == WindowStatus::range);
  REQUIRE(at.at(0).get(1, Word(&value).view, outside.view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(0).flush(1) == WindowStatus::range);
  REQUIRE(at.at(0).fetch(1, kAdd, Word(&value).view, Word(&value).view, outside.view, nullptr) ==
          WindowStatus::ok);
  REQUIRE(at.at(0).flush(1) == WindowStatus::range);
  REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
}

TEST_CASE("where nothing can lie nothing is attached", "[windows]") {
  WindowControl control;
  ExposedMemory memory(Flavor::dynamic, nullptr, 0, &control);
  CHECK(memory.attach(nullptr, 64) == WindowStatus::range);
  CHECK(memory.attach(reinterpret_cast<void*>(UINT64_MAX - 63), 128) == WindowStatus::range);
  CHECK(memory.attach(nullptr, 0) == WindowStatus::ok);
  const Run at_null{0, 8, 0, 1};
  std::int64_t base = 0;
  CHECK(memory.resolve({&at_null, 1}, base) == nullptr);
  CHECK(memory.detach(nullptr) == WindowStatus::ok);
  CHECK(memory.detach(nullptr) == WindowStatus::invalid);
}

TEST_CASE("attached regions that touch each other are one", "[windows]") {
  Setting at(2, {.initial_window = 4}, Flavor::dynamic);
  std::array<std::uint64_t, 8> values{1, 2, 3, 4, 5, 6, 7, 8};
  const Run packed{0, sizeof values, 0, 1};
  const View own{reinterpret_cast<std::byte*>(values.data()), 0, {&packed, 1}, 0, 1, sizeof values};
  const auto there = [&](std::uint64_t* place) {
    return View{nullptr, reinterpret_cast<std::int64_t>(place), {&packed, 1}, 0, 1, sizeof values};
  };
  for (const Node target : {1u, 0u}) {  // in frames, and by stores
    CAPTURE(target);
    std::uint64_t* const first = at.words(target);
    REQUIRE(at.at(target).attach(first + 20, 80) == WindowStatus::ok);
    REQUIRE(at.at(target).attach(first, 80) == WindowStatus::ok);
    REQUIRE(at.at(target).attach(first + 10, 80) == WindowStatus::ok);
    REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
    for (const int border : {10, 20}) {
      std::uint64_t* const place = first + border - 3;
      REQUIRE(at.at(0).put(target, own, there(place), nullptr) == WindowStatus::ok);
      REQUIRE(at.at(0).flush(target) == WindowStatus::ok);
      for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(place[i] == i + 1);
      REQUIRE(at.at(0).accumulate(target, kAdd, own, there(place), nullptr) == WindowStatus::ok);
      REQUIRE(at.at(0).flush(target) == WindowStatus::ok);
      values.fill(0);
      REQUIRE(at.at(0).get(target, own, there(place), nullptr) == WindowStatus::ok);
      REQUIRE(at.at(0).flush(target) == WindowStatus::ok);
      for (std::size_t i = 0; i < values.size(); ++i)
        REQUIRE(std::exchange(values[i], i + 1) == 2 * i + 2);
    }
    // Rejected: the end of the memory, and the middle after it was detached.
    const auto refused = [&](std::uint64_t* place) {
      const WindowStatus status = at.at(0).put(target, own, there(place), nullptr);
      return (status == WindowStatus::ok ? at.at(0).flush(target) : status) == WindowStatus::range;
    };
    REQUIRE(refused(first + 23));
    REQUIRE(at.at(target).detach(first + 10) == WindowStatus::ok);
    REQUIRE(refused(first + 7));
    REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
  }
}

TEST_CASE("an earlier error leaves no rank with half a lock", "[windows]") {
  Setting at(2, {.initial_window = 2}, Flavor::dynamic);
  std::uint64_t value = 3;
  Word outside(nullptr);
  outside.view.offset = reinterpret_cast<std::int64_t>(at.words(1));
  at.at(0).fence_enter(true);
  REQUIRE(at.at(0).put(1, Word(&value).view, outside.view, nullptr) == WindowStatus::ok);
  at.settle();  // the target has reported the error
  at.at(0).fence_enter(false);
  REQUIRE(at.at(0).lock(0, true, false) == WindowStatus::ok);  // by stores, with a ticket
  REQUIRE(at.at(0).unlock(0) == WindowStatus::range);
  REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
  REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
  REQUIRE(at.at(0).lock(0, true, false) == WindowStatus::ok);
  REQUIRE(at.at(0).unlock(0) == WindowStatus::ok);
}

TEST_CASE("offsets that 64 bits do not hold are outside", "[windows]") {
  for (const Flavor flavor : {Flavor::create, Flavor::dynamic}) {
    Setting at(2, {.initial_window = 2}, flavor);
    std::array<std::uint64_t, 2> values{};
    const Run word{0, 8, 0, 1};
    const View own{reinterpret_cast<std::byte*>(values.data()), 0, {&word, 1}, 8, 2, 8};
    REQUIRE(at.at(0).lock_all(false) == WindowStatus::ok);
    for (const Node target : {0u, 1u})
      for (const View& there : {View{nullptr, INT64_MAX - 4, {&word, 1}, 8, 2, 8},
                                View{nullptr, 8, {&word, 1}, INT64_MAX, 2, 8},
                                View{nullptr, -16, {&word, 1}, INT64_MIN, 2, 8}}) {
        REQUIRE(at.at(0).put(target, own, there, nullptr) == WindowStatus::range);
        REQUIRE(at.at(0).get(target, own, there, nullptr) == WindowStatus::range);
        REQUIRE(at.at(0).accumulate(target, kAdd, own, there, nullptr) == WindowStatus::range);
      }
    REQUIRE(at.at(0).unlock_all() == WindowStatus::ok);
  }
}

namespace {

// A page that cannot be read. The first access makes it readable, and then calls `touched`.
struct Watched {
  Watched() {
    page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    current = this;
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t*, void*) {
      ::mprotect(current->page, kBytes, PROT_READ | PROT_WRITE);
      current->touched();
    };
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &before);
  }
  ~Watched() {
    ::sigaction(SIGSEGV, &before, nullptr);
    ::munmap(page, kBytes);
  }
  void close() const { REQUIRE(::mprotect(page, kBytes, PROT_NONE) == 0); }
  std::uint64_t* words() const { return static_cast<std::uint64_t*>(page); }

  static constexpr std::size_t kBytes = 4096;
  static inline Watched* current = nullptr;
  void* page = nullptr;
  struct sigaction before {};
  std::function<void()> touched;
};

}  // namespace

// The view of another thread while a put that waited for its post makes its stores.
TEST_CASE("an operation on mapped memory is not done before its stores are", "[windows]") {
  Setting at(2);
  Watched origin;
  *origin.words() = 42;
  origin.close();
  const std::uint32_t self = 0;
  int touched = 0;
  bool waits = false;
  origin.touched = [&] {
    ++touched;
    waits = at.at(0).peer(0).first != nullptr;
    at.services[0]->serve_host();  // another thread finds no work
  };
  REQUIRE(at.at(0).start({&self, 1}, false) == WindowStatus::ok);
  REQUIRE(at.at(0).put(0, Word(origin.words()).view, Word(nullptr).view, nullptr) ==
          WindowStatus::ok);
  REQUIRE(at.at(0).post({&self, 1}, false) == WindowStatus::ok);
  REQUIRE(at.words(0)[0] == 0);
  at.services[0]->serve_host();
  REQUIRE(touched == 1);
  REQUIRE(waits);
  REQUIRE(at.words(0)[0] == 42);
  REQUIRE(at.at(0).complete() == WindowStatus::ok);
  REQUIRE(at.at(0).wait() == WindowStatus::ok);
  REQUIRE(at.services[0]->operations().count() == 0);
}

}  // namespace lfc
