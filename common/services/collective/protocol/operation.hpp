// CollOperation: one collective operation of this rank on one communicator, from call to completion.
//
//   CollOperation operation(call);
//   communicator.submit(operation);
//   while (!operation.finished.load()) communicator.advance();      // operation.status
//
// It lives with its caller until `finished` (or until `done` has been called).
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

// Where an operation stands among those of its communicator.
struct CollStanding {
  // Its caller does nothing else in this communicator meanwhile, as all ranks' do.
  bool waited_for = false;
  bool fence = false;  // it begins when all before it are over, and those behind it when it is
  bool begun = false;
  bool aside = false;  // it is the NI's thread that takes it further now, and so has the NI's lock
  bool moved = false;  // something has happened in this turn
  std::uint64_t over_to = 0;  // of its steps those below are over at this rank
  std::uint64_t sent_to = 0;  // likewise, of which this node has said all that it has to say
  // Where its steps end, and those of operations behind it that were over before.
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
  // What has been found to be unlike others' calls, or was so from the start.
  std::atomic<bool> differs = false;
  Combiner combine = nullptr;
  bool direct = false;    // everybody reads everybody's lane; of a row: this rank's memory
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
  // What it waits for, if that is a flag on the board: until *flag is flag_value.
  std::atomic<const std::atomic<std::uint64_t>*> flag = nullptr;
  std::atomic<std::uint64_t> flag_value = 0;

  std::size_t offset_of(std::uint64_t index) const noexcept {
    return static_cast<std::size_t>(index) * chunk;
  }
  std::size_t size_of(std::uint64_t index) const noexcept {
    const std::size_t offset = offset_of(index);
    return bytes - offset < chunk ? bytes - offset : chunk;
  }
  // Where a chunk lies.
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

  // Allreduces of one and of two steps for each chunk are not alike.
  static constexpr std::uint8_t kTwoSteps = Label::kKinds - 1;
  static std::uint8_t label_kind(lfc_coll_kind kind, std::uint64_t per_chunk) noexcept {
    return kind == LFC_COLL_ALLREDUCE && per_chunk == 2 ? kTwoSteps
                                                        : static_cast<std::uint8_t>(kind);
  }
  // Of what elements are combined how. (No bytes: nothing is.)
  static std::uint8_t label_what(const lfc_coll_call& call) noexcept {
    constexpr unsigned kTypes = static_cast<unsigned>(LFC_ELEMENT_F64) + 1;
    if (!lfc_coll_is_reduction(call.kind) || call.bytes == 0) return 0;
    return static_cast<std::uint8_t>(1 + static_cast<unsigned>(call.op) * kTypes +
                                     static_cast<unsigned>(call.type));
  }
  // Of a step of this chunk, in which so many bytes lie in a lane or packet.
  Label label(std::uint64_t index, std::size_t size) const noexcept {
    return {label_kind(kind, per_chunk),
            differs.load(std::memory_order_relaxed),
            index + 1 == chunks,
            label_what(*this),
            static_cast<std::uint32_t>(root),
            static_cast<std::uint32_t>(size)};
  }
  // Of the whole operation, to compare when it has waited for long.
  Label whole() const noexcept { return label(chunks - 1, 0); }
};
static_assert(LFC_COLL_KINDS < CollOperation::kTwoSteps);

}  // namespace lfc
