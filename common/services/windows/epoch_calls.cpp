#include "services/windows/epoch_calls.hpp"

#include <algorithm>

#include "machine/process_watch.hpp"
#include "services/windows/window_service.hpp"

namespace lfc {
namespace {

// Passes until a waiting call queries the kernel whether the local peers still run, because no link watches a peer that
// is reached by loads and stores alone. Some milliseconds.
constexpr unsigned kWatchPasses = 1 << 15;

// One in so many passes of a wait drives the whole process, the others only the NI. The awaited event comes through the
// NI, and short passes detect it earlier.
constexpr unsigned kPassesPerDrive = 4;

bool any_exited(const std::vector<std::uint32_t>& processes) noexcept {
  return std::any_of(processes.begin(), processes.end(),
                     [](std::uint32_t process) { return ProcessWatch(process).dead(); });
}

// The wait of a flush may have made the stores of waiting operations.
WindowStatus flushed(StoreOrder& order, WindowStatus status) noexcept {
  order.all();
  return status;
}

}  // namespace

EpochCalls::EpochCalls(WindowService& windows, const Placement& placement, rma::Carrier& carrier)
    : windows_(windows),
      protocol_(placement.rank, placement.ranks, placement.flavor, placement.memory, placement.size,
                placement.control != nullptr ? placement.control : &own_control_,
                windows.operations(), carrier),
      order_(windows.store_order_) {
  if (placement.threads) protocol_.memory.control().singles.shut_out();
}

// Lets everything else of the process go on.
void EpochCalls::drive() {
  quiet_calls_.reset();
  windows_.host().progress();
}

// Waits while everything else of the process goes on. `ready` is called with the lock held. An error that a target has
// reported meanwhile is returned, or kept for a later call.
template <class Ready>
WindowStatus EpochCalls::wait_until(Ready ready, Errors errors) {
  rma::Origin& origin = protocol_.origin;
  drive_if_quiet();
  for (unsigned pass = 0;; ++pass) {
    const bool dead = pass % kWatchPasses == kWatchPasses - 1 && any_exited(local_peers_);
    WindowStatus status = WindowStatus::ok;
    const bool over = windows_.locked([&] {
      if (dead) origin.trouble().lost = true;
      if (pass == 0) {
        origin.note_wait();
        origin.send_bundles(true);
      }
      const bool is_ready = ready();
      origin.send_bundles();
      if (origin.trouble().lost) {
        status = WindowStatus::lost;
      } else if (is_ready && errors == Errors::reported) {
        status = origin.trouble().take_error();
      }
      return origin.trouble().lost || is_ready;
    });
    if (over) return status;
    if (windows_.operations().host_wanted()) windows_.serve_host();
    if (pass % kPassesPerDrive == kPassesPerDrive - 1) {
      drive();
    } else {
      windows_.engine_.progress();
    }
  }
}

WindowStatus EpochCalls::await_room(std::uint32_t target) {
  rma::Origin& origin = protocol_.origin;
  return wait_until([&] { return origin.make_room(origin.use(target)); }, Errors::kept);
}

// No call waits for a post to a member that puts nothing, so drain() waits until such posts have left. Held by "posts
// have left when a window is freed".
WindowStatus EpochCalls::drain() {
  return wait_until([&] { return protocol_.origin.all_remotely_complete() && signals_ == 0; });
}

// --- Fence ---

WindowStatus EpochCalls::fence_leave(std::span<std::uint32_t> sent) {
  const WindowStatus status = wait_until([&] { return protocol_.origin.all_left(); });
  windows_.locked([&] { protocol_.epochs.fence_leave(sent); });
  order_.all();
  return status;
}

WindowStatus EpochCalls::fence_arrived(std::uint32_t count) {
  protocol_.epochs.fence_expect(count);
  const WindowStatus status = wait_until([&] { return protocol_.epochs.fence_arrived(); });
  protocol_.epochs.fence_next();
  order_.all();
  return status;
}

void EpochCalls::fence_enter(bool open) noexcept {
  protocol_.epochs.fence_enter(open);
  order_.all();
}

// --- Post, start, complete, wait ---

WindowStatus EpochCalls::start(std::span<const std::uint32_t> group, bool no_check) {
  return windows_.locked([&] { return protocol_.epochs.start(group, no_check); });
}

WindowStatus EpochCalls::complete() {
  if (!protocol_.epochs.started()) return WindowStatus::sync;
  order_.all();
  const WindowStatus status = wait_until([&] { return protocol_.epochs.complete_step(); });
  windows_.locked([&] { protocol_.epochs.end_access(); });
  return status;
}

WindowStatus EpochCalls::post(std::span<const std::uint32_t> group, bool no_check) {
  order_.all();
  return windows_.locked([&] { return protocol_.epochs.post(group, no_check); });
}

WindowStatus EpochCalls::wait() {
  if (!protocol_.epochs.exposed()) return WindowStatus::sync;
  const WindowStatus status = wait_until([&] { return protocol_.epochs.exposure_ended(); });
  protocol_.epochs.end_exposure();
  order_.all();
  return status;
}

WindowStatus EpochCalls::test(bool& flag) {
  flag = false;
  if (!protocol_.epochs.exposed()) return WindowStatus::sync;
  windows_.engine_.progress();
  windows_.serve_host();
  WindowStatus status = WindowStatus::ok;
  windows_.locked([&] {
    flag = protocol_.epochs.exposure_ended();
    if (protocol_.origin.trouble().lost) {
      status = WindowStatus::lost;
    } else if (flag) {
      status = protocol_.origin.trouble().take_error();
    }
  });
  if (status == WindowStatus::lost || !flag) return status;
  protocol_.epochs.end_exposure();
  order_.all();
  return status;
}

// --- Lock ---

// Takes a lock that is mapped here, and waits for its turn. Earlier errors are left to a call that ends an epoch: an
// error here would leave open whether the lock is held.
WindowStatus EpochCalls::acquire(rma::OriginPeer& peer) {
  const std::uint32_t ticket = peer.past ? 0 : peer.control->lock.draw();
  const bool at_once = windows_.locked(
      [&] { return !protocol_.origin.trouble().lost && rma::Epochs::try_lock(peer, ticket); });
  if (at_once) return WindowStatus::ok;  // the unlock drives, if need be
  const WindowStatus status =
      wait_until([&] { return rma::Epochs::try_lock(peer, ticket); }, Errors::kept);
  // A member is lost, but this process may still have got the lock.
  if (status != WindowStatus::ok) windows_.locked([&] { rma::Epochs::end_lock(peer); });
  return status;
}

// Waits until the locks that were begun before are held, before the next is requested.
WindowStatus EpochCalls::settle_locks() {
  if (windows_.lock_order().settled()) return WindowStatus::ok;
  return wait_until([&] { return windows_.lock_order().settle(); }, Errors::kept);
}

WindowStatus EpochCalls::lock(std::uint32_t target, bool exclusive, bool no_check) {
  const WindowStatus settled = settle_locks();
  if (settled != WindowStatus::ok) return settled;
  const WindowStatus begun = windows_.locked([&] {
    rma::OriginPeer& peer = protocol_.origin.use(target);
    LockOrder& order = windows_.lock_order();
    protocol_.origin.access().beside = order.any();
    peer.beside = order.others();
    const WindowStatus status = protocol_.epochs.begin_lock(target, exclusive, no_check);
    if (status == WindowStatus::ok) order.opened(protocol_.origin, peer);
    return status;
  });
  if (begun != WindowStatus::ok) return begun;
  rma::OriginPeer& peer = *protocol_.origin.find(target);
  if (no_check || !peer.lock_is_mapped()) {
    order_.all();
    return WindowStatus::ok;
  }
  const WindowStatus status = acquire(peer);
  if (status != WindowStatus::ok) end_one_lock(peer);
  return status;
}

// Takes the lock of the service, because another thread may begin one.
void EpochCalls::end_one_lock(const rma::OriginPeer& peer) {
  windows_.locked([&] {
    protocol_.epochs.end_one_lock();
    windows_.lock_order().closed(peer);
  });
}

// Waits until all operations are done at the target, and then frees the lock.
WindowStatus EpochCalls::release(rma::OriginPeer& peer) {
  order_.all();
  // Another thread's next lock may request this one meanwhile, so only code under the service's lock reads its state.
  const WindowStatus status = wait_until([&] {
    const bool over = protocol_.epochs.unlock_step(peer);
    if (over) rma::Epochs::end_lock(peer);
    return over;
  });
  if (peer.lock != rma::OriginPeer::Lock::none)
    windows_.locked([&] { rma::Epochs::end_lock(peer); });
  return status;
}

WindowStatus EpochCalls::unlock(std::uint32_t target) {
  if (protocol_.origin.access().lock_all || peer(target).lock == rma::OriginPeer::Lock::none)
    return WindowStatus::sync;
  rma::OriginPeer& peer = *protocol_.origin.find(target);
  WindowStatus status = WindowStatus::ok;
  if (peer.lock != rma::OriginPeer::Lock::held || !peer.lock_is_mapped()) {
    windows_.locked([&] { rma::Epochs::let_unlock_ride(peer); });
    status = flush_local(target);  // the lock has been granted if anything needs it
  }
  const WindowStatus released = release(peer);
  end_one_lock(peer);
  return status != WindowStatus::ok ? status : released;
}

WindowStatus EpochCalls::lock_all(bool no_check) {
  const WindowStatus settled = settle_locks();
  if (settled != WindowStatus::ok) return settled;
  const WindowStatus begun = windows_.locked([&] {
    const WindowStatus status = protocol_.epochs.begin_lock_all(no_check);
    if (status != WindowStatus::ok) return status;
    protocol_.epochs.prepare_lock_all(windows_.lock_order().others());
    windows_.lock_order().opened();
    return status;
  });
  if (begun != WindowStatus::ok) return begun;
  order_.all();
  if (no_check) return WindowStatus::ok;
  std::size_t next = 0;
  const bool at_once = windows_.locked(
      [&] { return !protocol_.origin.trouble().lost && protocol_.epochs.try_lock_all(next); });
  if (at_once) return WindowStatus::ok;  // the unlock drives, if need be
  const WindowStatus status =
      wait_until([&] { return protocol_.epochs.try_lock_all(next); }, Errors::kept);
  if (status != WindowStatus::ok) (void)unlock_all();
  return status;
}

WindowStatus EpochCalls::unlock_all() {
  if (!protocol_.origin.access().lock_all) return WindowStatus::sync;
  windows_.locked([&] {
    for (const auto& peer : protocol_.origin.used()) rma::Epochs::let_unlock_ride(*peer);
  });
  WindowStatus status = flush_local_all();
  std::size_t index = 0;
  const auto next = [&] {
    return windows_.locked([&] { return protocol_.origin.used_at(index++); });
  };
  while (rma::OriginPeer* const target = next()) {
    if (target->lock == rma::OriginPeer::Lock::none) continue;
    const WindowStatus released = release(*target);
    if (status == WindowStatus::ok) status = released;
  }
  windows_.locked([&] {
    protocol_.epochs.end_lock_all();
    windows_.lock_order().closed();
  });
  return status;
}

// --- Flush ---

WindowStatus EpochCalls::flush(std::uint32_t target) {
  if (!protocol_.origin.passive(peer(target))) return WindowStatus::sync;
  return flushed(order_, wait_until([&] { return peer(target).remotely_complete(); }));
}

WindowStatus EpochCalls::flush_local(std::uint32_t target) {
  if (!protocol_.origin.passive(peer(target))) return WindowStatus::sync;
  return flushed(order_, wait_until([&] { return peer(target).locally_complete(); }));
}

WindowStatus EpochCalls::flush_all() {
  if (!protocol_.epochs.any_lock()) return WindowStatus::sync;
  return flushed(order_, wait_until([&] { return protocol_.origin.all_remotely_complete(); }));
}

WindowStatus EpochCalls::flush_local_all() {
  if (!protocol_.epochs.any_lock()) return WindowStatus::sync;
  return flushed(order_, wait_until([&] { return protocol_.origin.all_locally_complete(); }));
}

}  // namespace lfc
