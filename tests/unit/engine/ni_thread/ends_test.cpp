// Upcalls from the thread, its end, and hosts that wait for it to leave.
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "catch.hpp"
#include "engine/open.hpp"
#include "engine/service.hpp"
#include "unit/engine/ni_thread/world.hpp"

namespace lfc::thread_world {

// Returns how often this thread has given up its processor to wait, while it opened an engine.
static long waits_to_open() {
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  const Station station(0, "shm", "floating");
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_nvcsw - before.ru_nvcsw;
}

TEST_CASE("ni thread: opening waits for no measurement of a wake-up") {
  constexpr long kMeasurements = 7;  // each would be a wait
  long fewest = waits_to_open();
  // The kernel adds waits of its own, for memory: not at each opening.
  for (int i = 0; fewest >= kMeasurements && i < 50; ++i)
    fewest = std::min(fewest, waits_to_open());
  CHECK(fewest < kMeasurements);
}

TEST_CASE("ni thread: upcalls reach a host that is away") {
  NiOptions options = short_delays();
  options.threads = true;
  options.upcalls = true;
  Station target(1, "shm", "floating", options);
  Station origin(0, "shm", "single");
  const PeerId peer = origin.meet(target);
  REQUIRE(add_one(origin, peer, target));
  const std::uint32_t number = 0;
  const Slice slice{&number, sizeof number};
  REQUIRE(origin.ni->try_send(peer, 0, &slice, 1));
  Deadline deadline(10s);
  while (target.received == 0 && !deadline.is_over()) std::this_thread::sleep_for(1ms);
  CHECK(target.received == 1);
}

TEST_CASE("ni thread: it can be ended at any time") {
  for (const std::string policy : kAutonomous) {
    for (const std::string idle : {"spin", "yield", "backoff", "block"}) {
      INFO(policy << " " << idle);
      NiOptions options = short_delays();
      options.idle = idle.c_str();
      for (int i = 0; i < 20; ++i) {
        Station station(1, "shm", policy, options);
        spin(std::chrono::microseconds(i * 20));
      }
      Station target(1, "shm", policy, options);
      Station origin(0, "shm", "single");
      const PeerId peer = origin.meet(target);
      for (int i = 0; i < 50; ++i) REQUIRE(add_one(origin, peer, target));
    }
  }
}

// Holds the thread inside the control program until `go` is set.
struct Slow final : Service {
  Verdict on_frame(PeerId, FrameType, std::span<const std::byte>) override {
    return Verdict::malformed;
  }
  void on_lost(PeerId) override {}
  bool work() override {
    inside = true;
    Deadline deadline(10s);
    while (!go && !deadline.is_over()) std::this_thread::sleep_for(100us);
    return false;
  }
  std::atomic<bool> inside{false};
  std::atomic<bool> go{false};
};

template <class Condition>
bool await(Condition condition) {
  Deadline deadline(10s);
  while (!condition() && !deadline.is_over()) std::this_thread::sleep_for(100us);
  return condition();
}

// Components enter through Ni::Access, which is compiled into them; the thread's half is in the library. The word on
// which one side sleeps must be the word that the other side checks.
TEST_CASE("ni thread: a host that waits until it leaves is woken across libraries") {
  // If the test fails, a signal ends the sleep.
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  REQUIRE(sigaction(SIGUSR1, &nothing, nullptr) == 0);
  Station station(0, "tcp", "floating", short_delays());
  for (int round = 0; round < 10; ++round) {
    Slow slow;
    station.ni->services().attach(ServiceId::test, &slow);
    std::atomic<bool> entered{false};
    std::thread host([&] {
      {
        const Ni::Access access(*station.ni);
        station.ni->services().wake(ServiceId::test);
      }
      while (!slow.inside) std::this_thread::yield();
      const Ni::Access access(*station.ni);
      entered = true;
    });
    const bool began = await([&] { return slow.inside.load(); });
    slow.inside = true;
    std::this_thread::sleep_for(20ms);  // it sleeps by now
    CHECK_FALSE(entered);
    slow.go = true;
    const bool woken = await([&] { return entered.load(); });
    if (!woken) pthread_kill(host.native_handle(), SIGUSR1);
    host.join();
    station.ni->services().attach(ServiceId::test, nullptr);
    REQUIRE(began);
    REQUIRE(woken);
  }
}

}  // namespace lfc::thread_world
