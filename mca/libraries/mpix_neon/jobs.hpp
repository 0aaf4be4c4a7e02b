// Jobs: the operations of a program in a window: jobs for reuse, and ended ones that MPI has not been notified of.
//
//   Job& job = *jobs.take(window);                // with the endpoint locked, as all but deliver()
//   jobs.ended(job);
//   jobs.deliver(endpoint);                       // without: completes the requests of ended jobs
//
// Each job that has ended is delivered once, by the first thread that calls deliver(), in the order of ending
// (tests/neon/scenarios.c). Threads: any, with the lock as above.
#pragma once

#include <mpi.h>

#include <atomic>
#include <utility>
#include <vector>

#include "endpoint.hpp"

namespace lfc::neon {

class Window;
struct Job;
struct Announced;

class Jobs {
 public:
  Jobs() = default;
  ~Jobs();
  Jobs(const Jobs&) = delete;

  Job* take(Window& of);
  void recycle(Job* job);
  // Notes an ended job, until deliver() completes its request.
  void ended(Job& job);  // requests.hpp, where both are known
  void ended(Announced& announced);
  // How a put without a request ended; the first error is kept for MPIX_Neon_complete.
  void note(int error) {
    if (error_ == MPI_SUCCESS) error_ = error;
  }
  int take_error() { return std::exchange(error_, MPI_SUCCESS); }
  // Completes the requests of announcements that have ended, and returns their number.
  int complete_announced();
  // The number of requests.
  int deliver(Endpoint& endpoint) {
    return news_.load(std::memory_order_relaxed) ? deliver_ended(endpoint) : 0;
  }

 private:
  int deliver_ended(Endpoint& endpoint);

  std::vector<Job*> idle_;
  Fifo<Job> jobs_;
  Fifo<Announced> announced_;
  Fifo<Announced> freed_;          // to be deleted without the lock
  std::atomic<bool> news_{false};  // something has ended; the lists are looked at under the lock
  int error_ = MPI_SUCCESS;
};

}  // namespace lfc::neon
