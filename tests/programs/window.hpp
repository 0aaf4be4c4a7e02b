// A window of any flavour: its memory, the place of an operation in it, and the check of its bytes at the end.
//
//   window_.flavor = Window::kDynamic, window_.unit = 8;
//   window_.make(world, bytes);                 // collective; the caller attaches memory to a dynamic one
//   issue(running, op, model, target, window_.displacement(target, place), passive, window_.win);
//   window_.check(world, should, slice);
//   window_.free();
#ifndef LFC_TESTS_PROGRAMS_WINDOW_HPP
#define LFC_TESTS_PROGRAMS_WINDOW_HPP

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "world.hpp"

namespace programs {

struct Window {
  enum Flavor { kCreate, kAllocate, kShared, kDynamic, kFlavors };

  // "dynamic window of 64 bytes each"; `slice`: of each origin.
  std::string text(std::size_t slice) const;
  // All its memory is zero. Other ranks may not be there yet.
  void make(World& world, std::size_t bytes);
  // The displacement of byte `at` of the target's memory.
  MPI_Aint displacement(int target, std::size_t at) const;
  // Fails unless this process's memory is as it should; `slice` is for the message.
  void check(World& world, const std::vector<char>& should, std::size_t slice) const;
  void free();

  Flavor flavor = kCreate;
  int unit = 1;
  MPI_Win win = MPI_WIN_NULL;
  char* memory = nullptr;

 private:
  std::vector<char> own_;        // of a created or dynamic window
  std::vector<MPI_Aint> bases_;  // of dynamic windows
};

}  // namespace programs

#endif
