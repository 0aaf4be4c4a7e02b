// LentMemory: how a rank copies memory that another rank of its node has lent to an operation. The kernel copies it; if
// it does not permit that, or not any more, the owner copies it into a room of the reader (protocol/mailbox.hpp).
//
//   switch (state.lent().fetch(state, operation, board, has_room, lane, to, from, size)) ...
//
// Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/collective/protocol/board.hpp"
#include "services/collective/protocol/environment.hpp"
#include "services/collective/protocol/operation.hpp"
#include "services/collective/protocol/ranks.hpp"

namespace lfc {

class LentMemory {
 public:
  enum class Fetched : std::uint8_t { done, waits, lost };

  explicit LentMemory(Environment& environment) noexcept : environment_(environment) {}
  // Copies by the kernel. False: the rank with this lane is lost, or may not be read.
  bool read(const Ranks& ranks, std::uint32_t lane, std::byte* to, std::uint64_t from,
            std::size_t size) {
    return environment_.read(ranks.members().name(ranks.local()[lane]), to, from, size);
  }
  // Copies what the rank with this lane has lent, if necessary through the room of this rank on `board` in the step
  // behind operation.first, which is free if `has_room`. `waits`: call again, with the same arguments.
  Fetched fetch(const Ranks& ranks, const CollOperation& operation, Board& board, bool has_room,
                std::uint32_t lane, std::byte* to, std::uint64_t from, std::size_t size);

 private:
  Environment& environment_;
  const CollOperation* operation_ = nullptr;  // that waits for an owner
  std::size_t done_ = 0;                      // bytes that have come
  bool requested_ = false;
};

}  // namespace lfc
