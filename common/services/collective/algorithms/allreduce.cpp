// Allreduce, and the barrier, which is one of no bytes.
#include <cstring>

#include "services/collective/collective.hpp"
#include "services/collective/protocol/plan.hpp"

namespace lfc {
namespace {

// What all ranks have written in this step, in the order of lanes: everybody gets the same bits.
void combine_all(const Site& site, std::uint64_t step, const std::byte* own, std::byte* out,
                 std::size_t size, Combiner combine, Element type) {
  const Board& board = site.board();
  const std::size_t count = size / size_of(type);
  if (board.lanes() == 2) {
    const std::byte* const other = board.room(1 - site.lane(), step, size);
    combine(site.lane() == 0 ? own : other, site.lane() == 0 ? other : own, out, count);
    return;
  }
  const std::byte* sum = board.room(0, step, size);
  for (std::uint32_t lane = 1; lane < board.lanes(); ++lane) {
    combine(sum, board.room(lane, step, size), out, count);
    sum = out;
  }
}

// Writes this rank's chunks, as far as there is room in all the steps of each.
void write_some(Site& site, CollOperation& operation) {
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::size_t size = operation.size_of(operation.written);
    if (!site.board().writable(operation.step_of(operation.written + 1) - 1, size)) break;
    site.write(operation.step_of(operation.written), operation.given(operation.written),
               operation.label(operation.written, size));
    operation.moved = true;
  }
}

// Everybody combines everything.
bool direct(Site& site, CollOperation& operation) {
  while (operation.read < operation.chunks) {
    write_some(site, operation);
    const std::uint64_t index = operation.read;
    const std::uint64_t step = operation.step_of(index);
    const std::size_t size = operation.size_of(index);
    if (index == operation.written ||
        !site.others_ready(operation, step, operation.label(index, size)))
      return false;
    if (size > 0)
      combine_all(site, step, operation.given(index), operation.got(index), size, operation.combine,
                  static_cast<Element>(operation.type));
    site.finish(operation, step);
    ++operation.read;
  }
  return true;
}

// The elements of a chunk that a lane combines for all, as bytes.
CollOperation::Block part_of(const Site& site, std::uint32_t lane, std::size_t size,
                             std::size_t width) noexcept {
  const std::size_t count = size / width;
  const std::size_t begin = count * lane / site.lanes() * width;
  return {begin, count * (lane + 1) / site.lanes() * width - begin};
}

// Combines this rank's part of what all have written of a chunk.
void combine_part(Site& site, const CollOperation& operation, std::uint64_t step, Label label) {
  const std::size_t width = size_of(static_cast<Element>(operation.type));
  Board& board = site.board();
  const auto [begin, bytes] = part_of(site, site.lane(), label.size, width);
  std::byte* const out = board.room(site.lane(), step + 1, label.size) + begin;
  const std::byte* sum = board.room(0, step, label.size) + begin;
  for (std::uint32_t lane = 1; lane < site.lanes(); ++lane) {
    operation.combine(sum, board.room(lane, step, label.size) + begin, out, bytes / width);
    sum = out;
  }
  board.publish(site.lane(), step + 1, label);
}

// Chunk by chunk: all write theirs, each combines its part of all, all read all parts.
bool by_parts(Site& site, CollOperation& operation) {
  const std::size_t width = size_of(static_cast<Element>(operation.type));
  while (operation.read < operation.chunks) {
    write_some(site, operation);
    for (; operation.combined < operation.written; ++operation.combined) {
      const std::uint64_t step = operation.step_of(operation.combined);
      const Label label =
          operation.label(operation.combined, operation.size_of(operation.combined));
      if (!site.others_ready(operation, step, label)) break;
      combine_part(site, operation, step, label);
      operation.moved = true;
    }
    const std::uint64_t index = operation.read;
    const std::uint64_t step = operation.step_of(index) + 1;
    const std::size_t size = operation.size_of(index);
    if (index == operation.combined ||
        !site.others_ready(operation, step, operation.label(index, size)))
      return false;
    for (std::uint32_t lane = 0; lane < site.lanes(); ++lane) {
      const auto [begin, bytes] = part_of(site, lane, size, width);
      std::memcpy(operation.got(index) + begin, site.board().room(lane, step, size) + begin, bytes);
    }
    site.finish(operation, step);
    ++operation.read;
  }
  return true;
}

// Up the tree, chunk by chunk, while results come down.
bool among_nodes(Site& site, CollOperation& operation) {
  const bool leader = site.is_leader(operation);
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t index = operation.written;
    const std::uint64_t step = operation.step_of(index);
    const std::size_t size = operation.size_of(index);
    const Label label = operation.label(index, size);
    if (!leader) {
      if (!site.board().writable(step, size)) break;
      site.write(step, operation.given(index), label);
    } else {
      if (!site.may_contribute(step) ||
          (site.has_board() && !site.others_ready(operation, step, label)))
        break;
      const std::byte* const sum = combine_local(site, operation, index, step, site.scratch());
      site.tree()->contribute(operation, step, label, {sum, size});
    }
    operation.moved = true;
  }
  return read_results(site, operation, 0);
}

bool walk(Site& site, CollOperation& operation) {
  if (operation.direct) return direct(site, operation);
  return site.tree() == nullptr ? by_parts(site, operation) : among_nodes(site, operation);
}

bool at_once(Site& site, const lfc_coll_call& call, std::uint64_t step, unsigned looks) {
  if (!is_direct(call, 1, site.lanes())) return false;
  const Label label = label_at_once(call, call.bytes);
  const std::uint64_t flag = Board::flag_of(step, label);
  const auto* const in = static_cast<const std::byte*>(call.in);
  site.write(step, in, label);
  for (std::uint32_t lane = 0; lane < site.lanes(); ++lane)
    if (lane != site.lane() && !await_at_once(site.board(), lane, step, flag, looks)) return false;
  if (call.bytes == 0) return true;
  const auto type = static_cast<Element>(call.type);
  combine_all(site, step, in, static_cast<std::byte*>(call.out), call.bytes,
              number_combiner({static_cast<Accumulate>(call.op), type}), type);
  return true;
}

}  // namespace

constinit const Collective kAllreduce{
    .walk = walk, .at_once = at_once, .traits = {.synchronises = true, .aside = true}};

}  // namespace lfc
