// Window: an MPI window with NEON attached: its endpoint, and what the program has under way there.
//
//   Window* window = Window::find(win);          // null: not attached
//   window->deliver();                           // completes the requests of what has ended
//
// It lives until the MPI window is freed and the last request on it has ended.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "endpoint.hpp"

namespace lfc::neon {

struct Job;
struct Announced;

class Window {
 public:
  static Window* find(MPI_Win win);
  // Collective. An MPI error code, not reported.
  static int attach(MPI_Win win, Window*& out);
  // Collective over `comm`: NEON without an MPI window; displacements are addresses.
  static int open(MPI_Comm comm, Window*& out);
  // Collective: the end of such a one.
  void close();

  Endpoint& endpoint() { return *endpoint_; }
  // Reports the error to the window's error handler, and returns it.
  int fail(int error) const;
  Rank rank() const { return rank_; }
  Rank ranks() const { return static_cast<Rank>(sizes_.size()); }
  bool closed() const { return closed_; }
  bool dynamic() const { return dynamic_; }
  MPI_Aint unit(Rank rank) const { return units_[rank]; }
  std::uint64_t size(Rank rank) const { return sizes_[rank]; }
  Exposure& memory() { return memory_; }
  MPI_Comm control() const { return control_; }
  // The caller's memory at a displacement; null: not all of it in the window.
  std::byte* place(MPI_Aint disp, std::uint64_t size) const;

  // Jobs are recycled. With the endpoint locked.
  Job* take_job();
  void recycle(Job* job);
  // What has ended, until deliver() tells the program. With the endpoint locked.
  void ended(Job& job);  // requests.hpp, where both are known
  void ended(Announced& announced);
  // How a put without a request ended; the first error is kept for MPIX_Neon_complete.
  void note(int error) {
    if (error_ == MPI_SUCCESS) error_ = error;
  }
  int take_error() { return std::exchange(error_, MPI_SUCCESS); }

  // Completes the requests of what has ended. Without the lock; the number of requests.
  int deliver();
  // One round of progress and delivery.
  int poll();

  void retain() { ++users_; }
  void release();

 private:
  explicit Window(MPI_Win win) : win_(win) {}
  ~Window();
  static int check_version();
  int join();
  int start();
  static void hand_on(MPI_Comm* comm, int* code, ...);
  static int on_delete(MPI_Win win, int keyval, void* value, void* extra);

  MPI_Win win_;                       // null: without
  MPI_Comm control_ = MPI_COMM_NULL;  // for collective calls; its error handler is the window's
  Rank rank_ = 0;
  bool dynamic_ = false;
  std::atomic<bool> closed_{false};
  std::atomic<int> users_{1};
  Exposure memory_;
  std::vector<std::uint64_t> sizes_;  // bytes, by rank
  std::vector<MPI_Aint> units_;
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<Job*> jobs_idle_;
  Fifo<Job> jobs_ended_;
  Fifo<Announced> announced_ended_;
  std::atomic<bool> news_{false};  // something has ended; the lists are looked at under the lock
  int error_ = MPI_SUCCESS;
};

}  // namespace lfc::neon
