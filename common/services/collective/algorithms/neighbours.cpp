// Neighbourhood collectives, among ranks of one node that may read each other's memory: each rank gives a part to each
// of its destinations, and takes one from each of its sources.
//
// A rank that gives parts writes a row onto its board: few bytes into the slot itself, more into the room. Parts that
// do not fit stay in its memory, and the reader copies them from there, once. Only the two ends of an edge need to know
// its size. A rank that has lent its memory returns when all its readers have finished the step.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/limits.hpp"
#include "services/collective/collective.hpp"
#include "services/collective/neighbourhood.hpp"

namespace lfc {
namespace {

using Part = lfc_coll_part;

// A row in a slot has the number of parts, their sizes in a byte each, and the parts.
// A row in a room has a Head, an entry for each part if there is space for them, and the parts if they are not lent.
struct Head {
  std::uint64_t count;
  std::uint64_t to;     // address of the writer's list of destinations
  std::uint64_t parts;  // address of its list of parts
  std::uint64_t lent;
};
struct Entry {
  std::uint64_t bytes;
  std::uint64_t place;  // offset in the room, or the address of a part that is lent
};
constexpr std::size_t kMostEntries = (Board::kRoom / 2 - sizeof(Head)) / sizeof(Entry);

Label label_of(const lfc_coll_call& call, std::size_t size) noexcept {
  return label_at_once(call, size);
}
std::uint64_t flag_of(const lfc_coll_call& call, std::uint64_t step, std::size_t size) noexcept {
  return Board::flag_of(step, label_of(call, size));
}

std::uint64_t address_of(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }

// --- The row of this rank ---

bool fits_slot(const Neighbourhood& hood, const lfc_coll_call& call) noexcept {
  return hood.is_known() && 1 + hood.destinations().size() + call.bytes <= Board::kInline;
}

void write_slot(Neighbourhood& hood, const lfc_coll_call& call, std::uint64_t step) noexcept {
  const std::size_t count = hood.destinations().size();
  std::byte* const slot = hood.own().room(0, step, Board::kInline);
  std::byte* to = slot + 1 + count;
  slot[0] = static_cast<std::byte>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Part& part = call.gives[i];
    slot[1 + i] = static_cast<std::byte>(part.bytes);
    if (part.bytes > 0) std::memcpy(to, part.at, part.bytes);
    to += part.bytes;
  }
  hood.own().publish(0, step, label_of(call, Board::kInline));
}

// Whether it is the same memory as the part before it, as in an allgather: it lies in the room once.
bool is_again(const Part* parts, std::size_t i) noexcept {
  return i > 0 && parts[i].at == parts[i - 1].at && parts[i].bytes == parts[i - 1].bytes;
}

void write_room(Neighbourhood& hood, CollOperation& operation) noexcept {
  const std::size_t count = hood.destinations().size();
  const Part* const parts = operation.gives;
  const bool listed = count <= kMostEntries;
  std::size_t place = sizeof(Head) + (listed ? count : 0) * sizeof(Entry);
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all += is_again(parts, i) ? 0 : parts[i].bytes;
  const bool lent = !listed || all > limits::kCollRow * count || all > Board::kRoom - place;
  std::byte* const room = hood.own().room(0, operation.first, Board::kRoom);
  const Head head{count, address_of(hood.destinations().data()), address_of(parts), lent ? 1u : 0u};
  std::memcpy(room, &head, sizeof head);
  for (std::size_t i = 0; listed && i < count; ++i) {
    const bool again = is_again(parts, i);
    if (again && !lent) place -= parts[i].bytes;
    const Entry entry{parts[i].bytes, lent ? address_of(parts[i].at) : place};
    std::memcpy(room + sizeof head + i * sizeof entry, &entry, sizeof entry);
    if (lent) continue;
    if (!again && entry.bytes > 0) std::memcpy(room + place, parts[i].at, entry.bytes);
    place += entry.bytes;
  }
  operation.direct = lent || !hood.is_known();  // readers also copy the list of its edges
  hood.own().publish(0, operation.first, label_of(operation, Board::kRoom));
}

// --- Parts for this rank ---

// A part in a slot. The first byte of the slot is the number of its parts.
struct InSlot {
  const std::byte* at;
  std::size_t bytes;
};
// For an edge that the writer does not have it returns a size that no reader expects.
InSlot in_slot(const std::byte* slot, std::int32_t edge) noexcept {
  const auto count = std::to_integer<std::int32_t>(slot[0]);
  if (edge < 0 || edge >= count) return {nullptr, ~std::size_t{0}};
  const std::byte* at = slot + 1 + count;
  for (std::int32_t i = 0; i < edge; ++i) at += std::to_integer<std::size_t>(slot[1 + i]);
  return {at, std::to_integer<std::size_t>(slot[1 + edge])};
}

void copy(const Part& to, const void* from) noexcept {
  if (to.bytes > 0) std::memcpy(to.at, from, to.bytes);
}

void take_own(CollOperation& operation, const Part& to, std::int32_t edge) noexcept {
  if (edge < 0 || operation.gives[edge].bytes != to.bytes)
    operation.differs.store(true, std::memory_order_relaxed);
  else
    copy(to, operation.gives[edge].at);
}

// Determines which of the writer's edges leads to this rank. False: the writer is lost.
bool know_edge(CommunicatorState& state, Neighbourhood& hood, const Head& head,
               const Neighbourhood::Source& source) {
  if (source.edge != Neighbourhood::kUnknown) return true;
  std::vector<int> to(head.count);
  if (!state.read(source.lane, reinterpret_cast<std::byte*>(to.data()), head.to,
                  to.size() * sizeof to[0]))
    return false;
  hood.learn(source.lane, to);
  return true;
}

// Copies the part of one source from its writer's room. False: the writer is lost.
bool take_from_room(CommunicatorState& state, CollOperation& operation,
                    const Neighbourhood::Source& source, const Part& to) {
  Neighbourhood& hood = operation.neighbours->hood;
  const std::byte* const room = hood.of(source.lane).room(0, operation.first, Board::kRoom);
  Head head;
  std::memcpy(&head, room, sizeof head);
  if (!know_edge(state, hood, head, source)) return false;
  if (source.edge < 0 || static_cast<std::uint64_t>(source.edge) >= head.count) {
    state.disagree(operation, false);
    return true;
  }
  const auto at = static_cast<std::size_t>(source.edge);
  Entry entry;
  if (head.count <= kMostEntries) {
    std::memcpy(&entry, room + sizeof head + at * sizeof entry, sizeof entry);
  } else {
    Part part;
    if (!state.read(source.lane, reinterpret_cast<std::byte*>(&part), head.parts + at * sizeof part,
                    sizeof part))
      return false;
    entry = {part.bytes, address_of(part.at)};
  }
  if (entry.bytes != to.bytes) {
    state.disagree(operation, false);
    return true;
  }
  if (head.lent != 0)
    return to.bytes == 0 ||
           state.read(source.lane, static_cast<std::byte*>(to.at), entry.place, to.bytes);
  copy(to, room + entry.place);
  return true;
}

// False: it is missing yet, or its writer is lost.
bool take(CommunicatorState& state, CollOperation& operation, const Neighbourhood::Source& source,
          const Part& to) {
  const Board& board = operation.neighbours->hood.of(source.lane);
  const std::uint64_t step = operation.first;
  if (!board.ready(0, step) && !(board.passed(0, step) && !board.ready(0, step))) {
    // As likely as not its row is where this rank's is.
    const std::size_t size = operation.combined != 0 ? Board::kInline : Board::kRoom;
    operation.flag_value.store(flag_of(operation, step, size), std::memory_order_relaxed);
    operation.flag.store(&board.flag(0, step), std::memory_order_relaxed);
    return false;
  }
  if (board.agrees(0, step, label_of(operation, Board::kInline))) {
    const InSlot part = in_slot(board.room(0, step, Board::kInline), source.edge);
    if (part.bytes == to.bytes)
      copy(to, part.at);
    else
      state.disagree(operation, false);
  } else if (board.agrees(0, step, label_of(operation, Board::kRoom))) {
    if (!take_from_room(state, operation, source, to)) {
      state.end(Board::End::lost);
      return false;
    }
  } else {
    state.disagree(operation, false);  // another call, or it has no edge to this rank
  }
  return true;
}

bool take_all(CommunicatorState& state, CollOperation& operation) {
  const std::vector<Neighbourhood::Source>& sources = operation.neighbours->hood.sources();
  for (; operation.read < sources.size(); ++operation.read) {
    const Neighbourhood::Source& source = sources[operation.read];
    const Part& to = operation.takes[operation.read];
    if (source.lane == state.lane())
      take_own(operation, to, source.edge);
    else if (source.lane != Neighbourhood::kNobody && !take(state, operation, source, to))
      return false;
    operation.moved = true;
  }
  return true;
}

// --- The whole ---

bool write(CommunicatorState& state, CollOperation& operation) {
  Neighbourhood& hood = operation.neighbours->hood;
  if (!hood.open(state)) return false;
  operation.first = hood.next();
  const bool small = fits_slot(hood, operation);
  if (!hood.readers().empty()) {
    if (!hood.writable(operation.first, small ? Board::kInline : Board::kRoom)) return false;
    if (small)
      write_slot(hood, operation, operation.first);
    else
      write_room(hood, operation);
  }
  operation.combined = small ? 1 : 0;
  operation.written = 1;
  operation.moved = true;
  return true;
}

bool walk(CommunicatorState& state, CollOperation& operation) {
  Neighbourhood& hood = operation.neighbours->hood;
  if (operation.written == 0 && !write(state, operation)) return false;
  if (operation.written == 1) {
    if (!take_all(state, operation)) return false;
    hood.finish();
    operation.written = 2;
    operation.moved = true;
  }
  for (const std::uint32_t lane : hood.readers())
    if (operation.direct && !hood.of(lane).passed(0, operation.first)) return false;
  // A rank that has failed may have returned and changed its memory while it was read here.
  return state.failure() == LFC_COLL_OK;
}

bool at_once(CommunicatorState& state, const lfc_coll_call& call, std::uint64_t, unsigned looks) {
  Neighbourhood& hood = call.neighbours->hood;
  const std::uint64_t step = hood.next();
  if (!hood.is_open() || !fits_slot(hood, call) || !hood.writable(step, Board::kInline))
    return false;
  if (!hood.readers().empty()) write_slot(hood, call, step);
  const std::uint64_t flag = flag_of(call, step, Board::kInline);
  const std::vector<Neighbourhood::Source>& sources = hood.sources();
  const auto part_of = [&](const Neighbourhood::Source& source) -> InSlot {
    if (source.lane != state.lane())
      return in_slot(hood.of(source.lane).room(0, step, Board::kInline), source.edge);
    if (source.edge < 0) return {nullptr, ~std::size_t{0}};
    const Part& part = call.gives[source.edge];
    return {static_cast<const std::byte*>(part.at), part.bytes};
  };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Neighbourhood::Source& source = sources[i];
    if (source.lane == Neighbourhood::kNobody) continue;
    if (source.lane != state.lane() && !await_at_once(hood.of(source.lane), 0, step, flag, looks))
      return false;
    if (part_of(source).bytes != call.takes[i].bytes) return false;  // walk() reports the mismatch
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i].lane != Neighbourhood::kNobody) copy(call.takes[i], part_of(sources[i]).at);
  hood.finish();
  return true;
}

}  // namespace

constinit const Collective kNeighborAllgather{
    .walk = walk, .at_once = at_once, .traits = {.apart = true}};
constinit const Collective kNeighborAlltoall{
    .walk = walk, .at_once = at_once, .traits = {.apart = true}};

}  // namespace lfc
