// Environment: the services of a process that a communicator needs: the boards of its node, local peers' memory, and
// connections to other processes.
//
//   std::byte* memory = environment.board(first, key, lanes, users, failed);
//   if (!environment.read(name, to, address, size)) ...
//   PeerId peer = environment.peer(name);
//
// Processes (processes.hpp) implements it for MPI processes, tests/sim for simulated ranks.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace lfc {

class Environment {
 public:
  virtual ~Environment() = default;
  // Returns the memory of the board with so many lanes that process `first` makes for `users` ranks of its node. Null:
  // it is not there yet; with `failed`, it never will be.
  virtual std::byte* board(ProcessName first, std::uint64_t key, std::uint32_t lanes,
                           std::uint32_t users, bool& failed) = 0;
  // Reserves room for this board, in the memory of process `first` and in the address space of this process;
  // cancel_board() gives it back. Later groups leave that room free. False: there is no room. With `few`, process
  // `first` may make fewer boards, because another component can serve the group.
  virtual bool reserve_board(ProcessName /*first*/, std::uint64_t /*key*/, std::uint32_t /*lanes*/,
                             bool /*few*/) {
    return true;
  }
  virtual void cancel_board(ProcessName /*first*/, std::uint64_t /*key*/) noexcept {}
  // Returns the process's peer, connecting if necessary; kNoPeer: it is out of reach.
  virtual PeerId peer(ProcessName name) = 0;
  // Copies from the memory of a process on this node. False: not all was copied; the process may have ended.
  virtual bool read(ProcessName owner, std::byte* to, std::uint64_t from, std::size_t size) = 0;
  // Whether a process on this node has ended.
  virtual bool has_ended(ProcessName name) = 0;
  // Returns a name of the process for messages to the user.
  virtual std::string describe(ProcessName name) { return "rank " + std::to_string(name.rank); }
};

}  // namespace lfc
