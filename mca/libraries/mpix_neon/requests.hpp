// Job: one put, get or notification of the program, of one or several operations, with its MPI
// request if it has one. Announced: an announcement with its persistent request.
//
// Both end under the endpoint's lock (`ended`). The next thread that makes progress delivers them: it completes their
// MPI requests. A request that is freed before ends then.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <vector>

#include "datatype_pieces.hpp"
#include "ompi_glue.h"
#include "window.hpp"

namespace lfc::neon {

int mpi_error(Status status) noexcept;

struct Job {
  explicit Job(Window& of) : window(of) {}
  void reset();
  // With the lock. An operation of this job, to be started at once.
  Operation& add();
  // With the lock, when all operations have been started; `begun` is the first refusal. Unlocks, and gives
  // the program its request, unless `request` is null.
  int begun(Status status, int target, MPI_Request* request);
  void deliver();

  static const lfc_request_hooks hooks;

  Window& window;
  MPI_Request request = MPI_REQUEST_NULL;
  int target = MPI_PROC_NULL;
  Status status = Status::ok;
  std::size_t open = 0;  // operations that have not ended
  std::size_t used = 0;  // of `operations`
  bool starting = true;  // inside the program's call
  bool orphan = false;   // its request was freed
  bool delivered = false;
  Job* next = nullptr;  // of those that have ended
  std::deque<Operation> operations;
  std::vector<Run> runs;         // of a notified put
  std::vector<std::byte> bytes;  // packed by us, or read for us
  // A get whose bytes are to be spread out: from `source` within `bytes` to `destination` at `result`.
  bool spreads = false;
  std::byte* result = nullptr;
  DatatypePieces source, destination;

 private:
  void spread();
  static int freed(void* object);
  static void on_done(Operation* op, Status status);
};

struct Announced : Announcement {
  explicit Announced(Window& of) : window(of) { window.retain(); }
  ~Announced() { window.release(); }
  // With the lock, so that no other thread frees it meanwhile: completes the request. False: it has been freed, and is
  // to be deleted without the lock.
  bool complete();

  static const lfc_request_hooks hooks;

  Window& window;
  MPI_Request request = MPI_REQUEST_NULL;
  Status outcome = Status::ok;
  bool listed = false;  // has ended, and its request is not complete
  bool freed = false;
  Announced* next = nullptr;  // of those that have ended

 private:
  static int start(void* object, int active);
  static Status start_persistent(Announced& self);
  static int free(void* object);
};

inline void Jobs::ended(Job& job) {
  jobs_.push(&job);
  news_.store(true, std::memory_order_relaxed);
}

inline void Jobs::ended(Announced& announced) {
  announced_.push(&announced);
  news_.store(true, std::memory_order_relaxed);
}

}  // namespace lfc::neon
