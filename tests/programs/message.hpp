// Messages as they are drawn, the calls that send them, and checks of the bytes that arrived.
//
//   const auto call = nonblocking_send(message.how);
//   call(data, message.here.count, type, to, tag, comm, &request);
//   check(world, message, memory, message.there);
#ifndef LFC_TESTS_PROGRAMS_MESSAGE_HPP
#define LFC_TESTS_PROGRAMS_MESSAGE_HPP

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "layout.hpp"
#include "world.hpp"

namespace programs {

enum class Send { kPlain, kSynchronous, kBuffered, kReady, kPersistent };
inline constexpr int kSends = 5;

struct Message {
  int from, to, tag;
  Send how;
  Layout here, there;
  std::uint64_t key;
  bool arrived = false;
};

// MPI_Send or another of its kind; a persistent one that has no request left is plain.
using BlockingSend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
BlockingSend blocking_send(Send how);
// MPI_Isend or another of its kind.
using NonblockingSend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
NonblockingSend nonblocking_send(Send how);

// Checks the contents of a message in this layout, and notes them.
void check(World& world, const Message& m, const std::vector<char>& memory, const Layout& layout);
// Does the same in memory that has room for a longer message, of elements without gaps.
void check_any(World& world, const Message& m, std::vector<char>& memory);

}  // namespace programs

#endif
