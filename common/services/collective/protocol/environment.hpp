// Environment: what a communicator asks of the process that it is in: the boards of its node, its neighbours'
// memory, and how other processes are reached.
//
//   std::byte* memory = environment.board(first, key, lanes, users, failed);
//   if (!environment.read(name, to, address, size)) ...
//   PeerId peer = environment.peer(name);
//
// processes.hpp is the one of MPI processes; simulated ranks have their own (tests/sim).
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
  // The memory of the board of so many lanes that process `first` makes for so many ranks of its node. Null: it is not
  // there yet; `failed`: nor will it be.
  virtual std::byte* board(ProcessName first, std::uint64_t key, std::uint32_t lanes,
                           std::uint32_t users, bool& failed) = 0;
  // A group of that key will need a board of this process, or needs none any more. Groups that come later leave room
  // for it. False: there is none. Less of it is for persistent requests, which another component can serve.
  virtual bool reserve_board(std::uint64_t /*key*/, bool /*for_request*/) { return true; }
  virtual void cancel_board(std::uint64_t /*key*/) noexcept {}
  // kNoPeer: it is out of reach.
  virtual PeerId peer(ProcessName name) = 0;
  // Copies from the memory of a process of this node. False: not all of it; it may be dead.
  virtual bool read(ProcessName owner, std::byte* to, std::uint64_t from, std::size_t size) = 0;
  // Whether a process of this node is dead.
  virtual bool has_ended(ProcessName name) = 0;
  // What the user calls the process.
  virtual std::string describe(ProcessName name) { return "rank " + std::to_string(name.rank); }
};

}  // namespace lfc
