// NiThread: the thread that drives the control program while the host computes (Policy::floating)
// or always (Policy::fixed). It does the NI's work only: what is for the host waits in the
// HostQueue, unless upcalls were asked for.
//
//   NiThread thread(turn);   // begins; the NI's links are open
//   thread.wake();           // something has to be looked at that no link tells
//
// With `floating` it sleeps in the kernel: by the clock while the host is about, on the links'
// descriptors once the host is away (engine/watchdog.hpp decides; link/link.hpp, arm()).
//
// Threads: any may call wake(); its owner makes and ends it. Signals are none of its business: it
// blocks them all.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <poll.h>

#include "engine/linger.hpp"
#include "engine/watchdog.hpp"

namespace lfc {

class Turn;

class NiThread {
 public:
  // Starts it. With `floating` it first measures what a wake-up costs; nobody waits for that.
  explicit NiThread(Turn& turn);
  ~NiThread();
  NiThread(const NiThread&) = delete;
  NiThread& operator=(const NiThread&) = delete;

  void wake() noexcept;
  // Whether the caller is such a thread: it must not touch anything of the host's.
  static bool is_current() noexcept;

 private:
  template <class>
  friend struct Insight;  // lfc-look
  enum class Woken { by_time, by_wake, by_link };

  void run() noexcept;
  void prepare() noexcept;
  void measure() noexcept;
  void float_around() noexcept;
  std::uint64_t presence() noexcept;
  // By what the machine is like now.
  std::chrono::nanoseconds longest_rest() const noexcept;
  void own() noexcept;
  void be_idle(int fruitless) noexcept;
  // Waits for wake() or the time, and meanwhile watches what links have batched, if that has been asked for.
  Woken rest(std::chrono::nanoseconds time) noexcept;
  // Waits for wake(), for the time, and, with `links`, for what they were armed for.
  Woken wait(std::chrono::nanoseconds time, bool links) noexcept;

  Turn& turn_;
  std::vector<pollfd> fds_;  // wake() first, then the links
  std::chrono::nanoseconds delay_;
  Linger linger_;              // how long it looks for more before it goes to sleep again
  std::uint64_t streams_ = 0;  // seen lately
  int fruitless_watches_ = 0;  // since they have changed
  std::atomic<bool> stop_{false};
  // For who looks from outside: what it is about, and when the host's presence has last changed as far as it knows.
  std::atomic<Watchdog::Action> action_{Watchdog::Action::rest};
  std::atomic<std::uint64_t> presence_{0};
  std::atomic<std::int64_t> presence_changed_{0};  // steady clock
  std::thread thread_;
};

}  // namespace lfc
