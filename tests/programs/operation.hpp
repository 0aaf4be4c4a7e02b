// One-sided operations: as drawn, as played by the model, and as given to MPI.
#ifndef LFC_TESTS_PROGRAMS_OPERATION_HPP
#define LFC_TESTS_PROGRAMS_OPERATION_HPP

#include <mpi.h>

#include <string>
#include <vector>

#include "layout.hpp"

namespace programs {

struct Operation {
  enum Kind { kPut, kGet, kAccumulate, kGetAccumulate, kFetchAndOp, kCompareAndSwap, kKinds } kind;
  enum Op { kSum, kMax, kXor, kReplace, kNoOp, kOps } op;
  int origin, target;
  bool request;        // the R-variant, in passive epochs
  int flush;           // after it, in passive epochs: 0 none, 1 flush, 2 flush_all, 3 flush_local
  bool shared;         // in the part of the window that all origins update
  std::size_t offset;  // bytes, in the slice of the origin or the shared part
  Layout here, result, there;
  std::uint64_t key;

  bool fetches() const { return kind == kGet || kind >= kGetAccumulate; }
  bool one_element() const;  // as fetch_and_op and compare_and_swap want it
  bool updates() const { return kind >= kAccumulate; }
  std::string text() const;
};

// Whether MPI and the model (no rounding) allow it.
bool allowed(Operation::Op op, Element element);
// Draws kind, operation and layouts; needs at most `room` bytes of the window.
Operation draw_operation(Draw& draw, Element element, std::size_t room);
// Draws an operation for the part of the window that all origins update. The model gives the same result in any
// order.
constexpr std::size_t kSharedBytes = 4096;
Operation::Op draw_common(Draw& draw, Element element);
// Makes the drawn operation, of kSharedBytes at most, an update of that part.
void update_shared(Operation& op, Draw& draw, Operation::Op common);
// A get of many unequal blocks, many fragments large.
Operation draw_irregular_get(Draw& draw, Element element, std::size_t room);

// Packed operands.
std::vector<char> operands(const Operation& op);
// memory: the begin of the operation's slice in a model. Returns the packed result of a fetch.
std::vector<char> play(const Operation& op, char* memory);

// An operation that has been issued; it must not be moved until it has ended.
struct Running {
  const Operation* op;
  std::vector<char> origin, result, expected;
  char compare[8];
  MPI_Request request = MPI_REQUEST_NULL;
};
// `model`: the origin's own model of the slice; the operation is played there as well.
void issue(Running& running, const Operation& op, char* model, int target_rank,
           MPI_Aint displacement, bool with_request, MPI_Win win);
void check(const Running& running);
// The flush that was drawn to follow it.
void flush_after(const Operation& op, int target_rank, MPI_Win win);

}  // namespace programs

#endif
