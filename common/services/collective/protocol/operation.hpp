// CollOperation: one collective operation of this rank on one communicator, from call to completion.
//
//   CollOperation operation(call);
//   communicator.submit(operation);
//   while (!operation.finished.load()) communicator.advance();      // operation.status
//
// The caller owns it and keeps it until `finished` is set (or until `done` has been called).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "elements/combine.hpp"
#include "lfc/collective_call.h"
#include "services/collective/protocol/label.hpp"
#include "services/multicast/protocol/tree.hpp"

namespace lfc {

struct CollOperation;

// The progress of an operation among those of its communicator.
struct CollStanding {
  // A blocking call: its caller, like those of all ranks, does nothing else in this communicator meanwhile.
  bool waited_for = false;
  bool fence = false;     // it begins when all before it are over, and those behind it when it is
  bool prepared = false;  // the host has mapped its board and connected to its root
  bool begun = false;
  bool aside = false;         // the NI's thread advances it now, with the NI's lock held
  bool moved = false;         // something has happened in this turn
  std::uint64_t over_to = 0;  // its steps below this one are over at this rank
  std::uint64_t sent_to = 0;  // this node has sent all its parts of the steps below this one
  // The end of its steps, and of those of younger operations that were over before it.
  std::uint64_t until = 0;
  CollOperation* next = nullptr;
};

struct CollOperation : lfc_coll_call, CollStanding {
  using Block = lfc_coll_block;

  CollOperation() noexcept : lfc_coll_call{} {}
  explicit CollOperation(const lfc_coll_call& call) noexcept
      : lfc_coll_call(call), differs(call.mismatch) {}

  void (*done)(CollOperation* self) = nullptr;  // called at the end if there is one

  // --- The result ---
  lfc_coll_status status = LFC_COLL_OK;
  std::atomic<bool> finished = false;

  // --- By the communicator ---
  // Its call differs from another rank's, or cannot be done.
  std::atomic<bool> differs = false;
  Combiner combine = nullptr;
  bool direct = false;    // each rank reads all lanes; in rows: others read this rank's memory
  std::uint32_t top = 0;  // member at the top of its tree
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
  // If it waits for a flag on the board: until *flag is flag_value.
  std::atomic<const std::atomic<std::uint64_t>*> flag = nullptr;
  std::atomic<std::uint64_t> flag_value = 0;

  std::size_t offset_of(std::uint64_t index) const noexcept {
    return static_cast<std::size_t>(index) * chunk;
  }
  std::size_t size_of(std::uint64_t index) const noexcept {
    const std::size_t offset = offset_of(index);
    return bytes - offset < chunk ? bytes - offset : chunk;
  }
  const std::byte* given(std::uint64_t index) const noexcept {
    return static_cast<const std::byte*>(in) + offset_of(index);
  }
  std::byte* got(std::uint64_t index) const noexcept {
    return static_cast<std::byte*>(out) + offset_of(index);
  }
  std::uint64_t step_of(std::uint64_t index) const noexcept { return first + index * per_chunk; }
  std::uint64_t end() const noexcept { return first + steps; }
  bool covers(std::uint64_t step) const noexcept { return step >= first && step - first < steps; }

  Block block_of(std::uint32_t rank) const noexcept {
    return blocks == nullptr ? Block{rank * bytes, bytes} : blocks[rank];
  }
  // The part of a block in one chunk.
  Block part_of(Block block, std::uint64_t index) const noexcept {
    const std::size_t offset = offset_of(index);
    if (offset >= block.bytes) return {block.offset + block.bytes, 0};
    const std::size_t rest = block.bytes - offset;
    return {block.offset + offset, rest < chunk ? rest : chunk};
  }

  // An allreduce with two steps for each chunk has a kind of its own in labels.
  static constexpr std::uint8_t kTwoSteps = Label::kKinds - 1;
  static std::uint8_t label_kind(lfc_coll_kind kind, std::uint64_t per_chunk) noexcept {
    return kind == LFC_COLL_ALLREDUCE && per_chunk == 2 ? kTwoSteps
                                                        : static_cast<std::uint8_t>(kind);
  }
  // Operation and type of a reduction; 0 without bytes.
  static std::uint8_t label_what(const lfc_coll_call& call) noexcept {
    constexpr unsigned kTypes = static_cast<unsigned>(LFC_ELEMENT_F64) + 1;
    if (!lfc_coll_is_reduction(call.kind) || call.bytes == 0) return 0;
    return static_cast<std::uint8_t>(1 + static_cast<unsigned>(call.op) * kTypes +
                                     static_cast<unsigned>(call.type));
  }
  // The label of a step of this chunk with `size` bytes in a lane or packet.
  Label label(std::uint64_t index, std::size_t size) const noexcept {
    return {label_kind(kind, per_chunk),
            differs.load(std::memory_order_relaxed),
            index + 1 == chunks,
            label_what(*this),
            static_cast<std::uint32_t>(root),
            static_cast<std::uint32_t>(size)};
  }
  // The label of the whole operation, which ranks compare when they have waited for long.
  Label whole() const noexcept { return label(chunks - 1, 0); }
};
static_assert(LFC_COLL_KINDS <= CollOperation::kTwoSteps);

}  // namespace lfc
