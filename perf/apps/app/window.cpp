#include "app/window.hpp"

#include <cstddef>
#include <cstring>

namespace app {

const std::vector<std::string> kWindows = {"create", "allocate"};

Window::Window(MPI_Aint bytes, const std::string& how) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int made = MPI_SUCCESS;
  if (how == "allocate") {
    made = MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
  } else {
    own_.resize(static_cast<std::size_t>(bytes / 8 + 1));
    memory_ = reinterpret_cast<char*>(own_.data());
    made = MPI_Win_create(memory_, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  int ok = made == MPI_SUCCESS ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (ok == 0) {
    problem_ = "this MPI offers no window here";
    return;
  }
  std::memset(memory_, 0, static_cast<std::size_t>(bytes));
}

Window::~Window() {
  if (!problem_.empty()) return;
  if (locked_) MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

void Window::lock_all() {
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  locked_ = true;
  MPI_Win_sync(window_);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace app
