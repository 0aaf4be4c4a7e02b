// Window: an MPI window with NEON attached: its endpoint, its memory (extents.hpp), and the program's operations there
// (jobs.hpp).
//
//   Window* window = Window::find(win);          // null: not attached
//   window->deliver();                           // completes the requests of ended jobs
//
// It exists until the MPI window is freed and the last request on it has ended.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>

#include "endpoint.hpp"
#include "extents.hpp"
#include "jobs.hpp"
#include "ompi_glue.h"

namespace lfc::neon {

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
  // Reports the error, if it is one, to the window's error handler, and returns it.
  int fail(int error) const { return error == MPI_SUCCESS ? error : report(error); }
  bool closed() const { return closed_; }
  Extents& extents() { return extents_; }
  const Extents& extents() const { return extents_; }
  // With the endpoint locked.
  Jobs& jobs() { return jobs_; }
  MPI_Comm control() const { return control_; }

  // Completes the requests of ended jobs, and returns their number. Without the lock.
  int deliver() { return jobs_.deliver(*endpoint_); }
  // One round of progress and delivery.
  int poll();

  void retain() { ++users_; }
  void release();

 private:
  explicit Window(MPI_Win win) : win_(win) {}
  ~Window() = default;
  static int check_version();
  static void make_keyval();
  int join();
  int start();
  int report(int error) const;
  static void hand_on(MPI_Comm* comm, int* code, ...);
  static int on_free(MPI_Win win);
  static int on_delete(MPI_Win win, int keyval, void* value, void* extra);

  MPI_Win win_;                       // null: without
  lfc_window_free free_ = nullptr;    // Open MPI's, while on_free() is in its place
  MPI_Comm control_ = MPI_COMM_NULL;  // for collective calls; its error handler is the window's
  std::atomic<bool> closed_{false};
  std::atomic<int> users_{1};
  Extents extents_;
  std::unique_ptr<Endpoint> endpoint_;
  Jobs jobs_;
};

}  // namespace lfc::neon
