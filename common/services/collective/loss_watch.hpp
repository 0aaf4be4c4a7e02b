// LossWatch: what a rank that waits for long looks for: dead ranks of its node, and ranks that wait in another
// call; and what it says on standard error when a collective has failed, once for each communicator.
//
//   watch.look(communicator, environment);        // now and then while waiting
//   watch.moved();                                 // the wait is over
//   watch.explain(communicator, operation.status);
//
// Threads: any; several may wait for operations of one communicator.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "services/collective/communicator.hpp"

namespace lfc {

class LossWatch {
 public:
  void look(Communicator& communicator, Environment& environment);
  void moved() noexcept { looked_.store(0, std::memory_order_relaxed); }
  // An operation has ended so: what MPI's error code does not say.
  void explain(const Communicator& communicator, Environment& environment, lfc_coll_status status);

 private:
  void tell_loss(const std::string& what, std::uint32_t job);
  void tell(const std::string& what);

  std::mutex mutex_;
  std::atomic<std::chrono::steady_clock::rep> looked_ = 0;  // 0: not since it has moved
  std::uint64_t looks_ = 0;                                 // since then
  bool told_ = false;
};

}  // namespace lfc
