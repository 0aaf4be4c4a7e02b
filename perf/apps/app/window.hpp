// Window: one-sided access to memory of all ranks.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace app {

// Memory that MPI allocates is shared between the ranks of a node, and then they use no transport.
extern const std::vector<std::string> kWindows;
inline constexpr const char* kWindowsHelp = "windows by MPI_Win_create or by MPI_Win_allocate";

// A window of `bytes` zeroed bytes on each rank. If MPI offers no window, problem() is not empty.
class Window {
 public:
  // Collective. `how` is one of kWindows.
  Window(MPI_Aint bytes, const std::string& how);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  Window(Window&&) = delete;
  Window& operator=(Window&&) = delete;
  ~Window();

  // Collective. Begins passive-target access of all ranks to all, until the end.
  void lock_all();

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] MPI_Win get() const { return window_; }
  [[nodiscard]] char* memory() const { return memory_; }

 private:
  std::vector<double> own_;
  char* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  std::string problem_;
  bool locked_ = false;
};

}  // namespace app
