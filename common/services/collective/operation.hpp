// CollOperation: one collective operation of this rank on one communicator, from call to completion.
//
// It lives with its caller until `finished` (or until `done` has been called). Buffers are plain
// bytes; what type they have matters to reductions only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "services/collective/combine.hpp"
#include "services/collective/label.hpp"
#include "services/multicast/tree.hpp"

namespace lfc {

struct CollOperation {
  enum class Kind : std::uint8_t { bcast, reduce, allreduce, allgather, gather, scatter };
  enum class Status : std::uint8_t { ok, lost, mismatch, no_memory };

  // --- By the caller ---
  Kind kind = Kind::bcast;
  std::uint32_t root = 0;         // member, in the order of names; not of allreduce
  const std::byte* in = nullptr;  // what this rank gives
  std::byte* out = nullptr;       // what it gets; may be `in`
  std::size_t bytes = 0;  // a barrier is an allreduce of none; gathers: of the largest block
  CombineOp op = CombineOp::max;  // of reductions with bytes
  CombineType type = CombineType::uint8;
  // Of gathers, whose result (and a scatter's input) has a block for each rank, in their order.
  struct Block {
    std::size_t offset, bytes;
  };
  const Block* blocks = nullptr;         // by rank; null: all of `bytes`, one after the other
  const std::uint32_t* ranks = nullptr;  // by member
  void (*done)(CollOperation* self) = nullptr;  // called at the end if there is one
  // What the caller has found wrong already: its own block's size is not the same in both buffers. Others
  // may find more while it goes on.
  std::atomic<bool> mismatch = false;

  // --- The result ---
  Status status = Status::ok;
  std::atomic<bool> finished = false;

  // --- By the group ---
  Combine combine = nullptr;
  bool begun = false;
  bool direct = false;  // everybody reads everybody's lane
  TreeShape shape = TreeShape::monotone;
  std::uint8_t fan = 1;
  std::uint64_t first = 0;  // step
  std::uint64_t steps = 0;
  std::uint64_t chunks = 0;
  std::uint64_t per_chunk = 1;  // steps
  std::size_t chunk = 0;        // bytes of each but the last
  std::uint64_t written = 0;
  std::uint64_t combined = 0;
  std::uint64_t read = 0;
  std::atomic<std::uint32_t> unsent = 0;   // packets of `in` that the NI still needs
  std::atomic<std::uint64_t> arrived = 0;  // chunks that the NI has placed in `out`
  // What it waits for, if that is a flag on the board: until *flag is flag_value.
  const std::atomic<std::uint64_t>* flag = nullptr;
  std::uint64_t flag_value = 0;
  CollOperation* next = nullptr;

  // Of an operation of one step.
  Label whole_label(std::size_t size) const noexcept {
    return {label_kind(kind, 1), false, true, root, static_cast<std::uint32_t>(size)};
  }
  // Allreduces of one and of two steps for each chunk are not alike.
  static std::uint8_t label_kind(Kind kind, std::uint64_t per_chunk) noexcept {
    constexpr std::uint8_t kTwoSteps = 6;
    return per_chunk == 2 ? kTwoSteps : static_cast<std::uint8_t>(kind);
  }
  // Of a step of this chunk, in which so many bytes lie in a lane or packet.
  Label label(std::uint64_t index, std::size_t size) const noexcept {
    return {label_kind(kind, per_chunk), mismatch.load(std::memory_order_relaxed),
            index + 1 == chunks, root, static_cast<std::uint32_t>(size)};
  }
  std::size_t size_of(std::uint64_t index) const noexcept {
    const std::size_t offset = static_cast<std::size_t>(index) * chunk;
    return bytes - offset < chunk ? bytes - offset : chunk;
  }
  Block block_of(std::uint32_t member) const noexcept {
    const std::uint32_t rank = ranks[member];
    return blocks == nullptr ? Block{rank * bytes, bytes} : blocks[rank];
  }
  // The part of a block in one chunk.
  Block part_of(Block block, std::uint64_t index) const noexcept {
    const std::size_t offset = offset_of(index);
    if (offset >= block.bytes) return {block.offset + block.bytes, 0};
    const std::size_t rest = block.bytes - offset;
    return {block.offset + offset, rest < chunk ? rest : chunk};
  }
  std::size_t offset_of(std::uint64_t index) const noexcept {
    return static_cast<std::size_t>(index) * chunk;
  }
};

}  // namespace lfc
