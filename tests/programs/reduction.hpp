// Reductions whose results are exact, so that every order of combining gives the same bytes; and one whose order
// matters: the composition of x -> a x + b, which does not commute.
#ifndef LFC_TESTS_PROGRAMS_REDUCTION_HPP
#define LFC_TESTS_PROGRAMS_REDUCTION_HPP

#include <mpi.h>

#include <string>
#include <vector>

#include "draw.hpp"

namespace programs {

struct Reduction {
  enum Type { kInt, kDouble, kFloat, kLong, kChar, kAffine } on = kInt;
  enum Op { kSum, kMax, kMin, kXor, kCompose } by = kSum;

  std::size_t size() const;
  MPI_Datatype type() const;
  MPI_Op op() const;
  std::string text() const;
  std::vector<char> operand(std::uint64_t key, std::size_t count) const;
  void combine(std::vector<char>& left,
               const std::vector<char>& right) const;  // left = left op right
};
Reduction draw_reduction(Draw& draw);
void make_reductions();  // before any other call
void free_reductions();

}  // namespace programs

#endif
