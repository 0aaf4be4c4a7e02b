// LossWatch: the checks of a rank that waits for long. It detects ranks of its node that have ended, ranks that wait in
// another call, and faults that the caller knows of. When a collective fails it prints the reason, once for each
// communicator.
//
//   watch.set_fault_query(fault, host);                // where the caller goes on without ranks that failed
//   watch.look(communicator, environment);        // now and then while waiting
//   watch.moved();                                 // the operation has moved
//   watch.explain(communicator, environment, operation.status);
//
// Threads: any; several may wait for operations of one communicator.
// Held by: tests/unit/services/collective/loss_watch_test.cpp, tests/fault/killed_in_collective.sh and
// tests/ulfm/collectives.c.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "lfc/collectives.h"
#include "services/collective/communicator.hpp"

namespace lfc {

class LossWatch {
 public:
  // `prints_losses`: whether a lost rank is worth a line; null: always.
  explicit LossWatch(bool (*prints_losses)() = nullptr) noexcept : prints_losses_(prints_losses) {}

  // Has each look call fault(host); null: no longer. Waits for a look that another thread has begun.
  void set_fault_query(lfc_coll_fault fault, const void* host);
  void look(Communicator& communicator, Environment& environment);
  void moved() noexcept { looked_.store(0, std::memory_order_relaxed); }
  // Prints the reason of a failed operation on standard error, because MPI's error code has none.
  void explain(const Communicator& communicator, Environment& environment, lfc_coll_status status);

 private:
  bool ends_by_caller(Communicator& communicator) const;
  void report_loss(const std::string& what, std::uint32_t job);
  void report(const std::string& what);

  bool (*const prints_losses_)();
  std::mutex mutex_;
  lfc_coll_fault fault_ = nullptr;
  const void* host_ = nullptr;
  std::atomic<std::chrono::steady_clock::rep> looked_ =
      0;                     // time of the last look; 0: none since the last move
  std::uint64_t looks_ = 0;  // since then
  bool reported_ = false;
};

}  // namespace lfc
