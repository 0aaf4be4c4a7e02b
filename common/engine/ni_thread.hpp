// NiThread: the thread that drives the control program while the host computes (Policy::floating)
// or always (Policy::fixed). It does the NI's work only: messages for the host wait in the
// HostQueue, unless upcalls were requested.
//
//   NiThread thread(turn, lock);   // begins; the NI's links are open
//   thread.wake();                 // there is work that no link wakes it for
//
// With `floating` it sleeps in the kernel: by a timer while the host is inside MPI, and on the links' descriptors once
// the host is away. engine/watchdog.hpp decides that; see also arm() in link/link.hpp.
//
// Threads: any may call wake(); its owner makes and ends it. It blocks all signals.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <poll.h>

#include "engine/departure.hpp"
#include "engine/linger.hpp"
#include "engine/watchdog.hpp"

namespace lfc {

class Turn;

class NiThread {
 public:
  // The longest linger is more than the round trip of a small message between nodes. The shortest finds a frame that
  // follows at once. A thread that must be woken on a busy processor serves later by 80 us, the requester's wake-up
  // included; the measurement at start finds less, because no rank computes then.
  static constexpr Linger::Limits kLinger{
      std::chrono::microseconds(4), std::chrono::microseconds(20), std::chrono::microseconds(80)};

  // Starts it. With `floating` it first measures the cost of a wake-up; no caller waits for that.
  NiThread(Turn& turn, const SendLock& lock);
  ~NiThread();
  NiThread(const NiThread&) = delete;
  NiThread& operator=(const NiThread&) = delete;

  void wake() noexcept;
  Departure& departure() noexcept { return departure_; }
  // Whether the caller is such a thread, which must not touch anything of the host's.
  static bool is_current() noexcept;

 private:
  template <class>
  friend struct Insight;  // lfc-look
  enum class Woken { by_time, by_wake, by_leave, by_link };

  void run() noexcept;
  void prepare() noexcept;
  void measure() noexcept;
  void float_around() noexcept;
  std::uint64_t presence() noexcept;
  // The limit for the present load of the machine.
  std::chrono::nanoseconds longest_rest() const noexcept;
  void own() noexcept;
  void be_idle(int fruitless) noexcept;
  // Waits for wake(), the host's departure or the time. Meanwhile watches the frames that links have batched, if that
  // was requested.
  Woken rest(std::chrono::nanoseconds time) noexcept;
  // Waits for wake(), the host's departure, the time and, with `links`, for the events for which the links were armed.
  Woken wait(std::chrono::nanoseconds time, bool links) noexcept;

  Turn& turn_;
  std::vector<pollfd> fds_;  // wake(), the timer of departure_, then the links
  Departure departure_;
  std::chrono::nanoseconds delay_;
  Linger linger_;              // how long it polls for more before it sleeps again
  std::uint64_t streams_ = 0;  // the last value seen
  int fruitless_watches_ = 0;  // since the streams have changed
  std::atomic<bool> stop_{false};
  // For lfc-look: its present action, and when it last saw the host's presence change.
  std::atomic<Watchdog::Action> action_{Watchdog::Action::rest};
  std::atomic<std::uint64_t> presence_{0};
  std::atomic<std::int64_t> presence_changed_{0};  // steady clock
  std::thread thread_;
};

}  // namespace lfc
