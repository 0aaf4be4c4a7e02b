// Alltoall, and gathers and scatters of unequal blocks, among ranks of one node that may read each other's memory.
//
// A rank that gives blocks writes a row into its room: the place of the block for each lane. Small blocks lie in the
// room as well. Larger ones stay in the writer's memory, and the reader copies them from there, once. So only the
// writer and the reader of a block need to know its size. In a second step each rank publishes that it has read all its
// blocks: a rank whose memory is read does not return before. If the kernel lets a rank read another one's memory no
// longer, the writer copies the block into a room of the reader, on request (lent_memory.hpp).
#include <cstring>

#include "base/limits.hpp"
#include "services/collective/algorithms/exchange.hpp"

namespace lfc {
namespace {

using Block = CollOperation::Block;

// A room: one entry for each lane; then blocks, if they lie there.
struct Entry {
  std::uint64_t bytes;  // kNone: this rank's call cannot be done
  std::uint64_t place;  // offset in the room, or the address of a block that is lent
  std::uint64_t lent;
};
constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::size_t kAlign = 8;

std::size_t aligned(std::size_t bytes) noexcept { return (bytes + kAlign - 1) / kAlign * kAlign; }

// --- Writers and readers ---

bool reads(const CollOperation& operation, std::uint32_t reader, std::uint32_t writer) noexcept {
  switch (operation.kind) {
    case LFC_COLL_GATHERV: return reader == operation.top;
    case LFC_COLL_SCATTERV: return writer == operation.top;
    default: return true;
  }
}

Block of_rank(const lfc_coll_block* blocks, std::size_t bytes, std::uint32_t rank) noexcept {
  return blocks == nullptr ? Block{rank * bytes, bytes} : blocks[rank];
}

// The block of this rank for a member.
Block given_to(const CommunicatorState& state, const CollOperation& operation,
               std::uint32_t member) noexcept {
  if (operation.kind == LFC_COLL_GATHERV) return {0, operation.bytes};
  return of_rank(operation.in_blocks, operation.bytes, state.rank_of(member));
}

// The block that this rank gets from a member.
Block got_from(const CommunicatorState& state, const CollOperation& operation,
               std::uint32_t member) noexcept {
  if (operation.kind == LFC_COLL_SCATTERV) return {0, operation.bytes};
  return of_rank(operation.blocks, operation.bytes, state.rank_of(member));
}

// --- The row of this rank ---

// Calls `each` with the lane and the block of each rank that reads this rank's row.
template <class Each>
void for_readers(const CommunicatorState& state, const CollOperation& operation, Each each) {
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane) {
    const std::uint32_t member = state.local()[lane];
    if (lane != state.lane() && reads(operation, member, state.self()))
      each(lane, given_to(state, operation, member));
  }
}

bool gives(const CommunicatorState& state, const CollOperation& operation) {
  bool any = false;
  for_readers(state, operation, [&](std::uint32_t, Block) { any = true; });
  return any;
}

// The label of both steps of an operation that can be done. It has no block sizes, because the row contains them.
Label label_of(const CollOperation& operation, std::size_t size) noexcept {
  Label label = operation.label(0, size);
  label.wrong = false;
  return label;
}

void write_row(CommunicatorState& state, CollOperation& operation) {
  std::size_t place = sizeof(Entry) * state.lanes();
  std::size_t all = 0;
  std::size_t readers = 0;
  for_readers(state, operation, [&](std::uint32_t, Block block) {
    all += aligned(block.bytes);
    ++readers;
  });
  const bool lent = all > limits::kCollRow * readers || all > Board::kRoom - place;
  std::byte* const room = state.board().room(state.lane(), operation.first, Board::kRoom);
  const auto* const in = static_cast<const std::byte*>(operation.in);
  for_readers(state, operation, [&](std::uint32_t lane, Block block) {
    Entry entry{operation.mismatch ? kNone : block.bytes, place, lent ? 1u : 0u};
    if (lent) {
      entry.place = reinterpret_cast<std::uintptr_t>(in + block.offset);
    } else if (!operation.mismatch && block.bytes > 0) {
      std::memcpy(room + place, in + block.offset, block.bytes);
      place += aligned(block.bytes);
    }
    std::memcpy(room + lane * sizeof entry, &entry, sizeof entry);
  });
  operation.direct = lent && !operation.mismatch;
  Label label = label_of(operation, Board::kRoom);
  label.wrong = operation.mismatch;
  state.board().publish(state.lane(), operation.first, label);
}

// --- Blocks for this rank ---

void take_own(const CommunicatorState& state, CollOperation& operation) {
  const auto* const in = static_cast<const std::byte*>(operation.in);
  auto* const out = static_cast<std::byte*>(operation.out);
  if (!reads(operation, state.self(), state.self()) || in == nullptr || out == nullptr) return;
  const Block from = given_to(state, operation, state.self());
  const Block to = got_from(state, operation, state.self());
  if (from.bytes != to.bytes)
    operation.differs.store(true, std::memory_order_relaxed);
  else if (to.bytes > 0 && in + from.offset != out + to.offset)
    std::memcpy(out + to.offset, in + from.offset, to.bytes);
}

using Fetched = LentMemory::Fetched;

// Copies the block from a lane that is ready.
Fetched take(CommunicatorState& state, CollOperation& operation, std::uint32_t lane) {
  // With another label it is no row; is_ready() has noted that.
  if (!state.board().agrees(lane, operation.first, label_of(operation, Board::kRoom)))
    return Fetched::done;
  const std::byte* const room = state.board().room(lane, operation.first, Board::kRoom);
  Entry entry;
  std::memcpy(&entry, room + state.lane() * sizeof entry, sizeof entry);
  const Block to = got_from(state, operation, state.local()[lane]);
  if (entry.bytes != to.bytes || (operation.out == nullptr && to.bytes > 0)) {
    state.disagree(operation, false);
    return Fetched::done;
  }
  if (to.bytes == 0) return Fetched::done;
  std::byte* const out = static_cast<std::byte*>(operation.out) + to.offset;
  if (entry.lent != 0)
    return state.fetch(state, operation, state.board(),
                       state.board().writable(operation.first + 1, Board::kRoom), lane, out,
                       entry.place, to.bytes);
  std::memcpy(out, room + entry.place, to.bytes);
  return Fetched::done;
}

// Copies blocks of this rank for readers that may not read its memory.
void serve(CommunicatorState& state, CollOperation& operation) {
  Board& board = state.board();
  if (!operation.direct) return;
  for_readers(state, operation, [&](std::uint32_t lane, Block block) {
    Mailbox::Request request;
    if (!board.mailbox(lane).has_request(request) || request.owner != state.lane() ||
        request.step != operation.first)
      return;
    const std::byte* const from = static_cast<const std::byte*>(operation.in) + block.offset;
    const std::uint64_t offset = request.from - reinterpret_cast<std::uintptr_t>(from);
    if (request.bytes > Board::kRoom || offset > block.bytes ||
        request.bytes > block.bytes - offset)
      return;
    std::memcpy(board.room(lane, operation.first + 1, Board::kRoom), from + offset, request.bytes);
    board.mailbox(lane).reply(request);
    operation.moved = true;
  });
}

// Copies all blocks, beginning with this rank's own lane, so that not all ranks read the same lane at a time. False: a
// block is still missing.
bool take_all(CommunicatorState& state, CollOperation& operation) {
  for (; operation.read < state.lanes(); ++operation.read) {
    const auto lane = static_cast<std::uint32_t>((state.lane() + operation.read) % state.lanes());
    if (lane == state.lane()) {
      take_own(state, operation);
    } else if (reads(operation, state.self(), state.local()[lane])) {
      if (!state.is_ready(operation, lane, operation.first, label_of(operation, Board::kRoom)))
        return false;
      const Fetched fetched = take(state, operation, lane);
      if (fetched == Fetched::lost) state.end(Board::End::lost);
      if (fetched != Fetched::done) return false;
    }
    operation.moved = true;
  }
  return true;
}

// Whether all readers have read this rank's memory.
bool has_back(CommunicatorState& state, CollOperation& operation) {
  for (std::uint32_t lane = 0; operation.direct && lane < state.lanes(); ++lane)
    if (lane != state.lane() && reads(operation, state.local()[lane], state.self()) &&
        !state.is_ready(operation, lane, operation.first + 1, label_of(operation, 0)))
      return false;
  return true;
}

bool walk(CommunicatorState& state, CollOperation& operation) {
  Board& board = state.board();
  if (operation.written == 0) {
    const std::size_t size = gives(state, operation) ? Board::kRoom : 0;
    if (!board.writable(operation.first, size) || !board.writable(operation.first + 1, 0))
      return false;
    if (size > 0) write_row(state, operation);
    operation.written = 1;
    operation.moved = true;
  }
  serve(state, operation);
  if (!take_all(state, operation)) return false;
  if (operation.combined == 0) {
    board.publish(state.lane(), operation.first + 1, label_of(operation, 0));
    state.finish(operation, operation.first);
    operation.combined = 1;
  }
  if (!has_back(state, operation)) return false;
  state.finish(operation, operation.first + 1);
  // A rank that has failed may have returned and changed its memory while it was read here.
  return state.failure() == LFC_COLL_OK;
}

bool walk_alltoall(CommunicatorState& state, CollOperation& operation) {
  return state.tree() != nullptr ? walk_exchange(state, operation) : walk(state, operation);
}

}  // namespace

std::uint32_t most_in_row() noexcept { return Board::kRoom / 2 / sizeof(Entry); }

constinit const Collective kAlltoall{.walk = walk_alltoall,
                                     .traits = {.synchronises = true, .whole = 2, .exchange = 2}};
constinit const Collective kGatherv{.walk = walk, .traits = {.whole = 2}};
constinit const Collective kScatterv{.walk = walk, .traits = {.whole = 2}};

}  // namespace lfc
