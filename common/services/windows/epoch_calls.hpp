// EpochCalls: the host's calls that begin and end epochs of a window. A call that waits drives the rest of the process
// meanwhile, and ends with `lost` when a member of the window is lost.
//
//   window.lock(target, true, false);
//   window.put(target, origin, there, nullptr);
//   window.unlock(target);
//
// The state is the protocol's (epochs.hpp), under the lock of the service; nothing here holds it while it waits.
// Threads: any, when the NI has threads. Source: MPI-3.1 11.5.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/windows/protocol/protocol.hpp"
#include "services/windows/store_order.hpp"

namespace lfc {

class WindowService;

// Calls since the NI was last driven. Concurrent threads may lose a count, because the number only decides when to
// drive.
class QuietCalls {
 public:
  unsigned add(unsigned calls) noexcept {
    const unsigned now = calls_.load(std::memory_order_relaxed) + calls;
    calls_.store(now, std::memory_order_relaxed);
    return now;
  }
  void reset() noexcept { calls_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<unsigned> calls_{0};
};

class EpochCalls {
 public:
  EpochCalls(const EpochCalls&) = delete;
  EpochCalls& operator=(const EpochCalls&) = delete;

  const rma::OriginPeer& peer(std::uint32_t rank) const noexcept {
    return protocol_.origin.peer(rank);
  }
  // For tests, which read and change it.
  rma::Protocol& protocol() noexcept { return protocol_; }
  // Waits until no operation of this process is under way.
  WindowStatus drain();

  // Returns whether a fence may begin or end now.
  WindowStatus fence_allowed() noexcept { return protocol_.epochs.fence_allowed(); }
  // Waits until the epoch's operations are locally complete, and stores the number of fragments sent to each rank in
  // `sent`.
  WindowStatus fence_leave(std::span<std::uint32_t> sent);
  // Waits until `count` fragments of the epoch have arrived here.
  WindowStatus fence_arrived(std::uint32_t count);
  // Begins a fence epoch if `open`; else none begins.
  void fence_enter(bool open) noexcept;

  WindowStatus start(std::span<const std::uint32_t> group, bool no_check);
  WindowStatus complete();  // waits: for local completion
  WindowStatus post(std::span<const std::uint32_t> group, bool no_check);
  WindowStatus wait();  // waits
  WindowStatus test(bool& flag);

  // These two report no errors of earlier operations: when they fail, no lock is held.
  WindowStatus lock(std::uint32_t target, bool exclusive,
                    bool no_check);           // waits if mapped, or for one begun before
  WindowStatus lock_all(bool no_check);       // waits for mapped ones
  WindowStatus unlock(std::uint32_t target);  // waits
  WindowStatus unlock_all();                  // waits
  // Returns whether flush() and flush_local() have nothing to wait for, because all was done by stores. StoreOrder
  // keeps later loads behind them.
  bool flushed_at_once(std::uint32_t target) noexcept {
    const rma::OriginPeer& to = peer(target);
    if (!to.reach.mapped || to.lock < rma::OriginPeer::Lock::held || to.first != nullptr ||
        protocol_.origin.trouble() || quiet_calls_.add(1) > kQuietCalls)
      return false;
    order_.flush();
    return true;
  }
  WindowStatus flush(std::uint32_t target);        // waits
  WindowStatus flush_all();                        // waits
  WindowStatus flush_local(std::uint32_t target);  // waits
  WindowStatus flush_local_all();                  // waits

 protected:
  struct Placement {
    Flavor flavor;
    std::byte* memory;
    std::uint64_t size;
    WindowControl* control;  // null: no local peer maps it
    std::uint32_t rank, ranks;
    bool threads;
  };
  EpochCalls(WindowService& windows, const Placement& placement, rma::Carrier& carrier);
  ~EpochCalls() = default;

  // `copies`: of the kernel, within this call. Each takes as long as many calls; a few take some 20 us.
  void drive_if_quiet(unsigned copies = 0) {
    if (quiet_calls_.add(1 + copies * kQuietCalls / 4) > kQuietCalls) drive();
  }
  // Waits until another operation towards this target may be issued.
  WindowStatus await_room(std::uint32_t target);
  // A process on this node whose memory or lock is mapped here. No link watches it.
  void watch_local_peer(std::uint32_t process) { local_peers_.push_back(process); }

  WindowService& windows_;
  WindowControl own_control_;  // when there is no other
  rma::Protocol protocol_;
  StoreOrder& order_;        // of all windows
  std::size_t signals_ = 0;  // frames without data that wait for a credit

 private:
  // Calls between two passes that had nothing to wait for. So a rank that only polls its own or its local peers' memory
  // still serves the others. Held by "a rank that polls mapped memory serves the others".
  static constexpr unsigned kQuietCalls = 64;

  enum class Errors : bool { kept, reported };
  template <class Ready>
  WindowStatus wait_until(Ready ready, Errors errors = Errors::reported);
  void drive();
  WindowStatus settle_locks();
  void end_one_lock(const rma::OriginPeer& peer);
  WindowStatus acquire(rma::OriginPeer& peer);
  WindowStatus release(rma::OriginPeer& peer);

  std::vector<std::uint32_t> local_peers_;
  QuietCalls quiet_calls_;
};

}  // namespace lfc
