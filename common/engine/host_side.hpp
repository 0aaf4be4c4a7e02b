// HostSide: the engine's HostPort, by which a service's rank side reaches the control program.
//
//   HostSide host(turn, lock);
//   const HostPort::Together together(host);
//
// Held by tests/unit/engine/ni_thread/streams_test.cpp. Threads: those of Turn.
#pragma once

#include "engine/host_port.hpp"
#include "engine/ni_thread.hpp"
#include "engine/turn.hpp"

namespace lfc {

class HostSide final : public HostPort {
 public:
  HostSide(Turn& turn, SendLock& lock) noexcept : turn_(turn), lock_(lock) {}

  bool has_threads() const noexcept override { return turn_.config().threads; }
  bool goes_on_alone() const noexcept override { return turn_.config().policy != Policy::single; }
  bool is_engine() const noexcept override { return NiThread::is_current(); }
  int progress() noexcept override { return turn_.progress(); }
  int pass_away() noexcept override { return turn_.pass(true); }
  void leaving() noexcept override {
    NiThread* const thread = turn_.activity().thread();
    if (thread != nullptr && turn_.config().policy == Policy::floating &&
        thread->departure().leave())
      turn_.counters().add(Counter::leave_timers);
  }

 private:
  void begin_polling() noexcept override { turn_.activity().begin_polling(); }
  void leave() noexcept override { turn_.activity().leave(); }
  bool begin_together() noexcept override {
    if (has_threads() || turn_.config().policy == Policy::fixed || turn_.activity().is_together())
      return false;
    turn_.activity().set_together(true);
    return true;
  }
  void end_together() noexcept override {
    turn_.activity().set_together(false);
    const SendLock::Guard guard(lock_);
    if (!turn_.activity().take_batched()) return;
    for (const auto& link : turn_.links()) link->flush();
  }

  Turn& turn_;
  SendLock& lock_;
};

}  // namespace lfc
