// Turn: decides which thread drives the control program, and when: the host, inside progress(), or the NI's thread in
// its stead (engine/README.md). One look is a bounded visit of the links and of the work that is left over.
//
//   turn.progress();                      // the host: pass() and serve_host()
//   turn.pass();                          // the NI's part of it, if the host may drive
//   turn.take_turn(linger, events);       // the thread, until nothing has come for a while
//
// Invariants: one of them drives at a time; a nested progress() does nothing; the thread never waits for the host
// (tests/unit/engine/ni_thread); while the links are armed the host leaves no work half done.
// Threads: any thread of the host calls the host's functions, and the NI's thread those of the thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/activity.hpp"
#include "engine/config.hpp"
#include "engine/linger.hpp"
#include "engine/watchdog.hpp"
#include "link/link.hpp"
#include "stats/counters.hpp"
#include "sync/send_lock.hpp"

namespace lfc {

class NiThread;
class Outcomes;
class PeerTable;
class Receiver;
class Sender;
class Services;

class Turn {
 public:
  // The parts that are driven.
  struct Parts {
    PeerTable& peers;
    Sender& sender;
    Receiver& receiver;
    Services& services;
    Outcomes& outcomes;
  };

  Turn(const Config& config, SendLock& lock, Counters& counters, const Parts& parts);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Starts the policy's thread. The links are open.
  void start();
  void end();
  Activity& activity() noexcept { return activity_; }

  // --- The host ---

  int progress() noexcept { return activity_.is_unused() && may_skip() ? 0 : pass_and_serve(); }
  // `away`: the host cannot be called back from here; callbacks wait until it makes progress. For one thread.
  int pass(bool away = false) noexcept;
  int serve_host() noexcept;

  // --- The NI thread ---

  // Drives the control program in the host's stead until nothing has come for linger.time(), then arms
  // the links. With upcalls it then serves the host as well. `events` counts.
  Watchdog::Outcome take_turn(Linger& linger, int& events) noexcept;
  // Makes one look for a thread that polls anyway; 0 also if the host is inside.
  int take_short_turn() noexcept;
  // Changes with every poll of the host, and with every look while some thread attends.
  std::uint64_t presence() noexcept {
    if (activity_.host_is_polling()) ++looks_;
    return lock_.visits() + (looks_ << 40) + (activity_.streams() << 20);
  }
  // Flushes frames that links have batched for long enough, unless the host is inside MPI and flushes them itself.
  // `last`: nothing is batched from now on. Returns when to call it again.
  std::chrono::nanoseconds flush_batched(bool last) noexcept;
  bool is_host_waiting() const noexcept { return lock_.is_wanted(); }
  const Config& config() const noexcept { return config_; }
  Counters& counters() noexcept { return counters_; }
  const std::vector<std::unique_ptr<Link>>& links() const noexcept;

 private:
  template <class>
  friend struct Insight;  // lfc-look
  [[gnu::noinline]] bool may_skip() noexcept;
  int pass_and_serve() noexcept;
  int look(bool all_links) noexcept;
  [[gnu::noinline]] void do_afterwork() noexcept;
  Watchdog::Outcome claim() noexcept;
  void release_claim() noexcept;
  int serve_host_if_requested() noexcept { return config_.upcalls ? serve_host() : 0; }
  Link::Armed look_until_quiet(Linger& linger, std::uint64_t visits, int& events) noexcept;
  Link::Armed arm_links() noexcept;
  void disarm_links() noexcept;

  Activity activity_;
  std::atomic<unsigned> passes_{0};  // a hint
  const Config& config_;
  SendLock& lock_;
  Counters& counters_;
  const Parts parts_;
  std::uint64_t looks_ = 0;  // of the NI thread
  bool all_wake_ = true;     // no link has to be polled
  bool settling_ = false;    // the thread's last turn ended so
  std::unique_ptr<NiThread> thread_;
};

}  // namespace lfc
