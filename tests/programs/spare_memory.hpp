// Memory that one thread attaches to a dynamic window and detaches while others use memory that stays attached. It
// consists of small pieces that no rank uses, a word that another thread uses, and memory lent to a neighbour for
// one put.
#ifndef LFC_TESTS_PROGRAMS_SPARE_MEMORY_HPP
#define LFC_TESTS_PROGRAMS_SPARE_MEMORY_HPP

#include <mpi.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "draw.hpp"
#include "world.hpp"

namespace programs {

class SpareMemory {
 public:
  explicit SpareMemory(Draw& draw);
  std::string text() const;

  // Collective. Attaches the pieces on both sides of `memory`, which moves in the window's list when they go.
  void prepare(World& world, MPI_Win win, void* memory, MPI_Aint bytes);
  // Detaches the pieces, some for each operation of the threads that are still `operating`.
  void detach_beside(const std::atomic<int>& operating);
  void passed() { ++operations_; }  // any thread has ended an operation
  // Puts to the word and gets it back until the pieces are detached; within lock_all.
  void use_word(World& world);
  // Collective, within lock_all: in each round a rank puts into memory that its neighbour has just attached.
  void lend(World& world);
  void end();

 private:
  using Piece = std::array<char, 64>;
  int pieces_, behind_, at_once_, rounds_, distance_;
  bool in_order_;
  std::size_t lent_;
  std::uint64_t key_;
  MPI_Win win_ = MPI_WIN_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<Piece> memory_;
  std::int64_t word_ = 0;
  std::atomic<int> operations_{0};
  std::atomic<bool> detached_{false};
};

}  // namespace programs

#endif
