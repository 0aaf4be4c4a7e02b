#include "window.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/lasting.hpp"
#include "emulation.hpp"
#include "native.hpp"
#include "ompi_glue.h"
#include "requests.hpp"
#include "spin_lock.hpp"

namespace lfc::neon {
namespace {

std::atomic<int> keyval{MPI_KEYVAL_INVALID};  // made when a window is first attached
std::mutex keyval_making;
SpinLock windows_lock;
Lasting<std::vector<Window*>> windows;  // open ones
std::atomic<unsigned> changes{0};       // of the list

int poll_windows() {
  if (!windows_lock.try_lock())
    return 0;  // another thread holds it, or a caller of this function does
  int events = 0;
  for (Window* each : *windows) events += each->poll();
  windows_lock.unlock();
  return events;
}

void add_window(Window* window) {
  const std::lock_guard guard(windows_lock);
  windows->push_back(window);
  if (windows->size() == 1) lfc_progress_add(poll_windows);
}

void remove_window(Window* window) {
  const std::lock_guard guard(windows_lock);
  windows->erase(std::find(windows->begin(), windows->end(), window));
  if (windows->empty()) lfc_progress_remove(poll_windows);
  ++changes;
}

template <class T>
T attribute(MPI_Win win, int which, T otherwise) {
  void* value = nullptr;
  int found = 0;
  MPI_Win_get_attr(win, which, &value, &found);
  return found != 0 ? *static_cast<T*>(value) : otherwise;
}

// The group's members as a communicator, if all of them are in MPI_COMM_WORLD.
MPI_Comm part_of_world(MPI_Group group) {
  constexpr int kTag = 0x6e656f;  // distinguishes this creation from concurrent ones
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int ranks = 0;
  bool in_world = true;
  MPI_Group_size(group, &ranks);
  for (int i = 0; i < ranks; ++i) {
    int there = MPI_UNDEFINED;
    MPI_Group_translate_ranks(group, 1, &i, world, &there);
    in_world = in_world && there != MPI_UNDEFINED;
  }
  MPI_Comm comm = MPI_COMM_NULL;
  if (in_world) MPI_Comm_create_group(MPI_COMM_WORLD, group, kTag, &comm);
  MPI_Group_free(&world);
  return comm;
}

// Collective: a new communicator of the window's processes, in their order. The component that serves a window natively
// has one, for any processes. MPI_COMM_NULL: the window is emulated, and has processes outside MPI_COMM_WORLD.
MPI_Comm communicator_of(MPI_Win win) {
  MPI_Comm comm = native_communicator(win);
  if (comm != MPI_COMM_NULL) {
    MPI_Comm_dup(comm, &comm);
    return comm;
  }
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Win_get_group(win, &group);
  comm = lfc_has_world() != 0 ? part_of_world(group) : lfc_comm_of_group(group, "mpix_neon");
  MPI_Group_free(&group);
  return comm;
}

}  // namespace

Window* Window::find(MPI_Win win) {
  // Attributes are looked up by hashing and locking; most programs use one window at a time.
  struct Last {
    MPI_Win win;
    Window* window;
    unsigned change;
  };
  static thread_local Last last{MPI_WIN_NULL, nullptr, 0};
  const unsigned change = changes.load(std::memory_order_acquire);
  if (last.win == win && last.window != nullptr && last.change == change) return last.window;
  if (keyval == MPI_KEYVAL_INVALID || win == MPI_WIN_NULL) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (MPI_Win_get_attr(win, keyval, &value, &found) != MPI_SUCCESS || found == 0) return nullptr;
  last = {win, static_cast<Window*>(value), change};
  return last.window;
}

int Window::check_version() {
  if (lfc_glue_fits()) return MPI_SUCCESS;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::fprintf(stderr, "mpix_neon: built for another Open MPI than this (%.40s)\n", version);
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

int Window::attach(MPI_Win win, Window*& out) {
  out = find(win);
  if (out != nullptr) return MPI_SUCCESS;
  int error = check_version();
  if (error != MPI_SUCCESS) return error;
  make_keyval();
  auto* made = new Window(win);
  error = made->join();
  if (error != MPI_SUCCESS) {
    made->release();
    return error;
  }
  made->start();
  MPI_Win_set_attr(win, keyval, made);
  out = made;
  return MPI_SUCCESS;
}

void Window::make_keyval() {
  const std::lock_guard guard(keyval_making);
  if (keyval != MPI_KEYVAL_INVALID) return;
  int made = MPI_KEYVAL_INVALID;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &made, nullptr);
  keyval = made;
  lfc_at_end([] { keyval = MPI_KEYVAL_INVALID; });  // MPI's end frees it
}

int Window::open(MPI_Comm comm, Window*& out) {
  const int error = check_version();
  if (error != MPI_SUCCESS) return error;
  out = new Window(MPI_WIN_NULL);
  MPI_Comm_dup(comm, &out->control_);
  MPI_Comm_set_errhandler(out->control_, MPI_ERRORS_RETURN);
  out->extents_.set_own(nullptr, 0, true);
  out->start();
  return MPI_SUCCESS;
}

void Window::hand_on(MPI_Comm* comm, int* code, ...) {
  MPI_Win win = MPI_WIN_NULL;
  {
    const std::lock_guard guard(windows_lock);
    for (const Window* each : *windows)
      if (each->control_ == *comm) win = each->win_;
  }
  if (win != MPI_WIN_NULL) MPI_Win_call_errhandler(win, *code);
}

// Makes the communicator of the window's processes.
int Window::join() {
  control_ = communicator_of(win_);
  if (control_ == MPI_COMM_NULL) return MPI_ERR_UNSUPPORTED_OPERATION;

  // Requests report their errors to a communicator; this one hands them on to the window.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(hand_on, &handler);
  MPI_Comm_set_errhandler(control_, handler);
  MPI_Errhandler_free(&handler);

  void* base = nullptr;
  int found = 0;
  MPI_Win_get_attr(win_, MPI_WIN_BASE, &base, &found);
  const bool dynamic = attribute<int>(win_, MPI_WIN_CREATE_FLAVOR, 0) == MPI_WIN_FLAVOR_DYNAMIC;
  const MPI_Aint size = dynamic ? 0 : attribute<MPI_Aint>(win_, MPI_WIN_SIZE, 0);
  extents_.set_own(static_cast<std::byte*>(base), static_cast<std::uint64_t>(size), dynamic);
  return MPI_SUCCESS;
}

int Window::start() {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(control_, &rank);
  MPI_Comm_size(control_, &ranks);
  const int unit = win_ == MPI_WIN_NULL ? 1 : attribute<int>(win_, MPI_WIN_DISP_UNIT, 1);
  const std::uint64_t mine[2] = {extents_.own().size, static_cast<std::uint64_t>(unit)};
  std::vector<std::uint64_t> all(2 * static_cast<std::size_t>(ranks));
  MPI_Allgather(mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, control_);
  extents_.set_all(
      static_cast<Rank>(rank), static_cast<Rank>(ranks),
      [&](Rank of) { return all[2 * std::size_t{of}]; },
      [&](Rank of) { return static_cast<MPI_Aint>(all[2 * std::size_t{of} + 1]); });
  endpoint_ = open_native(win_, control_, extents_.own());
  if (endpoint_ == nullptr) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(control_, &comm);
    endpoint_ = std::make_unique<Emulation>(comm, extents_.own());
    if (win_ != MPI_WIN_NULL) free_ = lfc_set_window_free(win_, on_free);
  }
  add_window(this);
  return MPI_SUCCESS;
}

int Window::report(int error) const {
  if (win_ != MPI_WIN_NULL) MPI_Win_call_errhandler(win_, error);
  return error;
}

void Window::release() {
  if (--users_ == 0) delete this;
}

// Open MPI 4.1 deletes attributes after the window's memory is gone, which frames under way still write to.
int Window::on_free(MPI_Win win) {
  Window& window = *find(win);
  const lfc_window_free free = std::exchange(window.free_, nullptr);
  lfc_set_window_free(win, free);
  window.endpoint().close();
  return free(win);
}

int Window::on_delete(MPI_Win, int, void* value, void*) {
  static_cast<Window*>(value)->close();
  return MPI_SUCCESS;
}

void Window::close() {
  if (free_ != nullptr) lfc_set_window_free(win_, free_);  // Open MPI 5 has not freed it yet
  endpoint_->close();
  remove_window(this);
  {
    const std::lock_guard guard(*endpoint_);
    Neon& neon = endpoint_->neon();
    std::uint64_t unsent = 0;
    for (Rank rank = 0; rank < extents_.ranks(); ++rank) unsent += neon.origin().waiting(rank);
    const auto early = neon.target().early();
    if (!early.empty())
      std::fprintf(stderr,
                   "mpix_neon: rank %u frees a window that has %zu rounds of puts which no "
                   "announcement took; the first: from rank %u, tag %u\n",
                   extents_.rank(), early.size(), early[0].origin, early[0].tag);
    if (unsent > 0)
      std::fprintf(stderr, "mpix_neon: rank %u frees a window with %llu own puts still waiting\n",
                   extents_.rank(), static_cast<unsigned long long>(unsent));
    for (Rank rank = 0; rank < extents_.ranks(); ++rank)
      neon.on_lost(rank);  // ends all open operations
    closed_ = true;
  }
  deliver();
  endpoint_.reset();
  MPI_Comm_free(&control_);
  release();
}

int Window::poll() {
  if (!endpoint_->is_due()) return deliver();
  if (!endpoint_->try_lock()) return 0;
  const int events = endpoint_->poll();
  jobs_.complete_announced();
  endpoint_->unlock();
  return events + deliver();
}

}  // namespace lfc::neon
