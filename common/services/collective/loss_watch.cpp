#include "services/collective/loss_watch.hpp"

#include <bit>
#include <cstdio>
#include <utility>

#include "machine/first_of_node.hpp"
#include "services/collective/protocol/environment.hpp"

namespace lfc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Clock::duration kPeriod = std::chrono::milliseconds(200);

}  // namespace

void LossWatch::set_fault_query(lfc_coll_fault fault, const void* host) {
  const std::lock_guard looking(mutex_);
  fault_ = fault;
  host_ = host;
}

// Ends the operations of the communicator if the caller knows of a fault. With the mutex held.
bool LossWatch::ends_by_caller(Communicator& communicator) const {
  const lfc_coll_status status = fault_ == nullptr ? LFC_COLL_OK : fault_(host_);
  if (status == LFC_COLL_OK) return false;
  communicator.set_failed(status == LFC_COLL_REVOKED ? Board::End::revoked : Board::End::lost);
  return true;
}

void LossWatch::look(Communicator& communicator, Environment& environment) {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  const std::unique_lock looking(mutex_, std::try_to_lock);
  if (!looking.owns_lock() || ends_by_caller(communicator)) return;
  const Clock::rep before = looked_.load(std::memory_order_relaxed);
  if (before != 0 && now - before < kPeriod.count()) return;
  looked_.store(now, std::memory_order_relaxed);
  looks_ = before == 0 ? 0 : looks_ + 1;
  if (looks_ == 0) return;
  for (const std::uint32_t member : communicator.local()) {
    const ProcessName name = communicator.members().name(member);
    if (!environment.has_ended(name)) continue;
    // A rank that leaves because of a loss has published it before it ends.
    if (communicator.has_failed()) break;
    communicator.set_failed(Board::End::lost);
    report_loss(
        environment.describe(name) +
            " has ended, a process of this node: its own output or that of mpirun has the reason",
        name.job);
  }
  // After 1, 2, 4, 8 ... looks: a rank that has not joined yet stores each query.
  if (std::has_single_bit(looks_)) communicator.query();
}

void LossWatch::explain(const Communicator& communicator, Environment& environment,
                        lfc_coll_status status) {
  const bool disagreed = status == LFC_COLL_MISMATCH && communicator.disagreed();
  if (!disagreed && status != LFC_COLL_LOST) return;
  const std::lock_guard looking(mutex_);
  if (disagreed) {
    report("ranks have called it with other bytes, another root or operation, or another call");
    return;
  }
  const auto& members = communicator.members();
  const std::uint32_t member = communicator.lost_member();
  report_loss(member < members.size()
                  ? "no connection to " + environment.describe(members.name(member))
                  : "another rank of this communicator has lost a rank, and prints which",
              members.name(0).job);
}

// Prints the loss if no other rank of this node has, and the user does not expect losses. With the mutex held.
void LossWatch::report_loss(const std::string& what, std::uint32_t job) {
  if (prints_losses_ != nullptr && !prints_losses_()) return;
  if (!reported_ && !first_of_node(job, what)) reported_ = true;
  report(what);
}

// With the mutex held.
void LossWatch::report(const std::string& what) {
  if (std::exchange(reported_, true)) return;
  std::fprintf(stderr, "coll lfc: %s; collectives of this communicator fail from now on\n",
               what.c_str());
}

}  // namespace lfc
