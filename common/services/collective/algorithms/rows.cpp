// Alltoall, and gathers and scatters of unequal blocks, among ranks of one node that may read each other's memory.
//
// Who gives something writes a row into its room: where the block for each lane lies. Few bytes lie in the room as
// well; more stay where they are in the writer's memory, and whoever gets them copies them from there, once. So only
// writer and reader of a block need to know its size. In a second step everybody says that it has read all that was for
// it: until then a rank whose memory is read does not return.
#include <cstring>

#include "base/limits.hpp"
#include "services/collective/algorithms/exchange.hpp"

namespace lfc {
namespace {

using Block = CollOperation::Block;

// A room: one entry for each lane; then blocks, if they lie there.
struct Entry {
  std::uint64_t bytes;  // kNone: this rank's call cannot be done
  std::uint64_t place;  // from the room's start, or, of a block that is lent, its address
  std::uint64_t lent;
};
constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::size_t kAlign = 8;

std::size_t aligned(std::size_t bytes) noexcept { return (bytes + kAlign - 1) / kAlign * kAlign; }

// --- Who gives what to whom ---

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

// What this rank has for a member.
Block given_to(const Site& site, const CollOperation& operation, std::uint32_t member) noexcept {
  if (operation.kind == LFC_COLL_GATHERV) return {0, operation.bytes};
  return of_rank(operation.in_blocks, operation.bytes, site.rank_of(member));
}

// What it gets from a member.
Block got_from(const Site& site, const CollOperation& operation, std::uint32_t member) noexcept {
  if (operation.kind == LFC_COLL_SCATTERV) return {0, operation.bytes};
  return of_rank(operation.blocks, operation.bytes, site.rank_of(member));
}

// --- The row of this rank ---

// Calls `each` with the lane and the block for all to whom this rank gives something.
template <class Each>
void for_readers(const Site& site, const CollOperation& operation, Each each) {
  for (std::uint32_t lane = 0; lane < site.lanes(); ++lane) {
    const std::uint32_t member = site.local()[lane];
    if (lane != site.lane() && reads(operation, member, site.self()))
      each(lane, given_to(site, operation, member));
  }
}

bool gives(const Site& site, const CollOperation& operation) {
  bool any = false;
  for_readers(site, operation, [&](std::uint32_t, Block) { any = true; });
  return any;
}

// Of both steps of an operation that can be done; how large blocks are, the row says.
Label label_of(const CollOperation& operation, std::size_t size) noexcept {
  Label label = operation.label(0, size);
  label.wrong = false;
  return label;
}

void write_row(Site& site, CollOperation& operation) {
  std::size_t place = sizeof(Entry) * site.lanes();
  std::size_t all = 0;
  std::size_t readers = 0;
  for_readers(site, operation, [&](std::uint32_t, Block block) {
    all += aligned(block.bytes);
    ++readers;
  });
  const bool lent = all > limits::kCollRow * readers || all > Board::kRoom - place;
  std::byte* const room = site.board().room(site.lane(), operation.first, Board::kRoom);
  const auto* const in = static_cast<const std::byte*>(operation.in);
  for_readers(site, operation, [&](std::uint32_t lane, Block block) {
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
  site.board().publish(site.lane(), operation.first, label);
}

// --- What others have for this rank ---

void take_own(const Site& site, CollOperation& operation) {
  const auto* const in = static_cast<const std::byte*>(operation.in);
  auto* const out = static_cast<std::byte*>(operation.out);
  if (!reads(operation, site.self(), site.self()) || in == nullptr || out == nullptr) return;
  const Block from = given_to(site, operation, site.self());
  const Block to = got_from(site, operation, site.self());
  if (from.bytes != to.bytes)
    operation.differs.store(true, std::memory_order_relaxed);
  else if (to.bytes > 0 && in + from.offset != out + to.offset)
    std::memcpy(out + to.offset, in + from.offset, to.bytes);
}

// From a lane that is ready. False: its rank is lost.
bool take(Site& site, CollOperation& operation, std::uint32_t lane) {
  // Else it is no row: that has been noted already.
  if (!site.board().agrees(lane, operation.first, label_of(operation, Board::kRoom))) return true;
  const std::byte* const room = site.board().room(lane, operation.first, Board::kRoom);
  Entry entry;
  std::memcpy(&entry, room + site.lane() * sizeof entry, sizeof entry);
  const Block to = got_from(site, operation, site.local()[lane]);
  if (entry.bytes != to.bytes || (operation.out == nullptr && to.bytes > 0)) {
    site.disagree(operation, false);
    return true;
  }
  if (to.bytes == 0) return true;
  std::byte* const out = static_cast<std::byte*>(operation.out) + to.offset;
  if (entry.lent != 0) return site.read(lane, out, entry.place, to.bytes);
  std::memcpy(out, room + entry.place, to.bytes);
  return true;
}

// Beginning with the next lane: not all from the same one at the same time. False: something is missing yet.
bool take_all(Site& site, CollOperation& operation) {
  for (; operation.read < site.lanes(); ++operation.read) {
    const auto lane = static_cast<std::uint32_t>((site.lane() + operation.read) % site.lanes());
    if (lane == site.lane()) {
      take_own(site, operation);
    } else if (reads(operation, site.self(), site.local()[lane])) {
      if (!site.is_ready(operation, lane, operation.first, label_of(operation, Board::kRoom)))
        return false;
      if (!take(site, operation, lane)) {
        site.end(Board::End::lost);
        return false;
      }
    }
    operation.moved = true;
  }
  return true;
}

// Whether all have read what lies in this rank's memory.
bool has_back(Site& site, CollOperation& operation) {
  for (std::uint32_t lane = 0; operation.direct && lane < site.lanes(); ++lane)
    if (lane != site.lane() && reads(operation, site.local()[lane], site.self()) &&
        !site.is_ready(operation, lane, operation.first + 1, label_of(operation, 0)))
      return false;
  return true;
}

bool walk(Site& site, CollOperation& operation) {
  Board& board = site.board();
  if (operation.written == 0) {
    const std::size_t size = gives(site, operation) ? Board::kRoom : 0;
    if (!board.writable(operation.first, size) || !board.writable(operation.first + 1, 0))
      return false;
    if (size > 0) write_row(site, operation);
    operation.written = 1;
    operation.moved = true;
  }
  if (!take_all(site, operation)) return false;
  if (operation.combined == 0) {
    board.publish(site.lane(), operation.first + 1, label_of(operation, 0));
    site.finish(operation, operation.first);
    operation.combined = 1;
  }
  if (!has_back(site, operation)) return false;
  site.finish(operation, operation.first + 1);
  // Who has given up may have changed what was read meanwhile.
  return site.failure() == LFC_COLL_OK;
}

bool walk_alltoall(Site& site, CollOperation& operation) {
  return site.tree() != nullptr ? walk_exchange(site, operation) : walk(site, operation);
}

}  // namespace

std::uint32_t most_in_row() noexcept { return Board::kRoom / 2 / sizeof(Entry); }

constinit const Collective kAlltoall{.walk = walk_alltoall,
                                     .traits = {.synchronises = true, .whole = 2, .exchange = 2}};
constinit const Collective kGatherv{.walk = walk, .traits = {.whole = 2}};
constinit const Collective kScatterv{.walk = walk, .traits = {.whole = 2}};

}  // namespace lfc
