// Gathers and scatters over a board: each block is copied in once, and out by each rank that gets it.
#include <algorithm>
#include <cstring>

#include "services/collective/group.hpp"

namespace lfc {
namespace {

void copy_part(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  if (size > 0 && to != from) std::memcpy(to, from, size);
}

}  // namespace

// What that lane has written, or, of this rank's own lane, what lies in the input unless it is in its
// place already.
void CollGroup::take_part(const CollOperation& operation, std::uint32_t lane, std::uint64_t step,
                          CollOperation::Block part, const std::byte* own) const {
  std::byte* const to = operation.out + part.offset;
  if (lane != lane_)
    copy_part(to, board_.room(lane, step, part.bytes), part.bytes);
  else if (own != nullptr)
    copy_part(to, own, part.bytes);
}

// Whether all other lanes hold this chunk of their ranks' blocks.
bool CollGroup::blocks_ready(CollOperation& operation, std::uint64_t index,
                             std::uint64_t step) noexcept {
  for (std::uint32_t lane = 0; lane < board_.lanes(); ++lane) {
    const auto part = operation.part_of(operation.block_of(local_[lane]), index);
    if (lane != lane_ && !is_ready(operation, lane, step, operation.label(index, part.bytes)))
      return false;
  }
  return true;
}

// This chunk of all ranks' blocks, which are ready.
void CollGroup::take_blocks(const CollOperation& operation, std::uint64_t index,
                            std::uint64_t step) const {
  const std::byte* const own =
      operation.in == nullptr ? nullptr : operation.in + operation.offset_of(index);
  for (std::uint32_t lane = 0; lane < board_.lanes(); ++lane)
    take_part(operation, lane, step, operation.part_of(operation.block_of(local_[lane]), index),
              own);
}

bool CollGroup::allgather_at_once(const CollOperation& operation, unsigned looks) {
  const auto own = operation.block_of(self_);
  write(next_step_, operation.in == nullptr ? operation.out + own.offset : operation.in,
        operation.whole_label(own.bytes));
  for (std::uint32_t lane = 0; lane < board_.lanes(); ++lane) {
    const Label label = operation.whole_label(operation.block_of(local_[lane]).bytes);
    if (lane != lane_ && !await_at_once(lane, label, looks)) return false;
  }
  for (std::uint32_t lane = 0; lane < board_.lanes(); ++lane)
    take_part(operation, lane, next_step_, operation.block_of(local_[lane]), operation.in);
  return true;
}

bool CollGroup::allgather(CollOperation& operation, bool& moved) {
  const auto own = operation.block_of(self_);
  while (operation.read < operation.chunks) {
    for (; operation.written < operation.chunks; ++operation.written) {
      const std::uint64_t step = operation.first + operation.written;
      const auto [offset, size] = operation.part_of(own, operation.written);
      if (!board_.writable(step, size)) break;
      write(step,
            operation.in == nullptr ? operation.out + offset
                                    : operation.in + operation.offset_of(operation.written),
            operation.label(operation.written, size));
      moved = true;
    }
    const std::uint64_t step = operation.first + operation.read;
    if (operation.read == operation.written || !blocks_ready(operation, operation.read, step))
      return false;
    take_blocks(operation, operation.read, step);
    board_.finish(step + 1);
    ++operation.read;
    moved = true;
  }
  return true;
}

bool CollGroup::gather_root(CollOperation& operation, bool& moved) {
  for (; operation.read < operation.chunks; ++operation.read) {
    const std::uint64_t step = operation.first + operation.read;
    if (!blocks_ready(operation, operation.read, step)) return false;
    take_blocks(operation, operation.read, step);
    board_.finish(step + 1);
    moved = true;
  }
  return true;
}

// The parts of all ranks lie in the root's room, one after the other.
bool CollGroup::scatter_root(CollOperation& operation, bool& moved) {
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t step = operation.first + operation.written;
    const std::size_t size = operation.size_of(operation.written);
    if (!board_.writable(step, size * board_.lanes())) return false;
    std::byte* const room = board_.room(lane_, step, size * board_.lanes());
    for (std::uint32_t lane = 0; lane < board_.lanes(); ++lane) {
      const auto [offset, part] =
          operation.part_of(operation.block_of(local_[lane]), operation.written);
      std::byte* const own = operation.out == nullptr
                                 ? nullptr
                                 : operation.out + operation.offset_of(operation.written);
      std::byte* const to = lane == lane_ ? own : room + lane * size;
      if (to != nullptr) copy_part(to, operation.in + offset, part);
    }
    board_.publish(lane_, step, operation.label(operation.written, size));
    board_.finish(step + 1);
    moved = true;
  }
  return true;
}

bool CollGroup::scatter_other(CollOperation& operation, bool& moved) {
  const std::uint32_t root = lane_of(operation.root);
  for (; operation.read < operation.chunks; ++operation.read) {
    const std::uint64_t step = operation.first + operation.read;
    const std::size_t size = operation.size_of(operation.read);
    if (!is_ready(operation, root, step, operation.label(operation.read, size))) return false;
    copy_part(operation.out + operation.offset_of(operation.read),
              board_.room(root, step, size * board_.lanes()) + lane_ * size, size);
    board_.finish(step + 1);
    moved = true;
  }
  return true;
}

}  // namespace lfc
