// Neighbourhood collectives, among ranks of one node that may read each other's memory: each rank gives a part to each
// of its destinations, and takes one from each of its sources.
//
// A rank that gives parts writes a row onto its board: few bytes into the slot itself, more into the room. Parts that
// do not fit stay in its memory, and the reader copies them from there, once. Only the two ends of an edge need to know
// its size. A rank that has lent its memory returns when all its readers have finished the step. If the kernel lets a
// rank read another one's memory no longer, the writer copies the part into a room of the reader, on request
// (lent_memory.hpp); a list of edges or parts that is longer than a room then counts as lost.
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

using Fetched = LentMemory::Fetched;

Fetched fetch(CommunicatorState& state, const CollOperation& operation, std::uint32_t lane,
              void* to, std::uint64_t from, std::size_t size) {
  Neighbourhood& hood = operation.neighbours->hood;
  return state.fetch(state, operation, hood.own(), hood.writable(operation.first + 1, Board::kRoom),
                     lane, static_cast<std::byte*>(to), from, size);
}

// Determines which of the writer's edges leads to this rank.
Fetched know_edge(CommunicatorState& state, const CollOperation& operation, const Head& head,
                  const Neighbourhood::Source& source) {
  if (source.edge != Neighbourhood::kUnknown) return Fetched::done;
  std::vector<int> to(head.count);
  const std::size_t size = to.size() * sizeof to[0];
  auto* const at = reinterpret_cast<std::byte*>(to.data());
  Fetched fetched = Fetched::done;
  if (size <= Board::kRoom)
    fetched = fetch(state, operation, source.lane, at, head.to, size);
  else if (!state.read(state, source.lane, at, head.to, size))
    fetched = Fetched::lost;
  if (fetched == Fetched::done) operation.neighbours->hood.set_edges(source.lane, to);
  return fetched;
}

// Copies the part of one source from its writer's room.
Fetched take_from_room(CommunicatorState& state, CollOperation& operation,
                       const Neighbourhood::Source& source, const Part& to) {
  Neighbourhood& hood = operation.neighbours->hood;
  const std::byte* const room = hood.of(source.lane).room(0, operation.first, Board::kRoom);
  Head head;
  std::memcpy(&head, room, sizeof head);
  if (const Fetched known = know_edge(state, operation, head, source); known != Fetched::done)
    return known;
  if (source.edge < 0 || static_cast<std::uint64_t>(source.edge) >= head.count) {
    state.disagree(operation, false);
    return Fetched::done;
  }
  const auto at = static_cast<std::size_t>(source.edge);
  Entry entry;
  if (head.count <= kMostEntries) {
    std::memcpy(&entry, room + sizeof head + at * sizeof entry, sizeof entry);
  } else {
    Part part;
    if (!state.read(state, source.lane, reinterpret_cast<std::byte*>(&part),
                    head.parts + at * sizeof part, sizeof part))
      return Fetched::lost;
    entry = {part.bytes, address_of(part.at)};
  }
  if (entry.bytes != to.bytes) {
    state.disagree(operation, false);
    return Fetched::done;
  }
  if (head.lent != 0 && to.bytes != 0)
    return fetch(state, operation, source.lane, to.at, entry.place, to.bytes);
  if (head.lent == 0) copy(to, room + entry.place);
  return Fetched::done;
}

bool is_within(const Mailbox::Request& request, const void* at, std::size_t bytes) noexcept {
  const std::uint64_t offset = request.from - address_of(at);
  return offset <= bytes && request.bytes <= bytes - offset;
}

// Copies what this rank has lent for readers that may not read its memory.
void serve(const CommunicatorState& state, CollOperation& operation) {
  const Neighbourhood& hood = operation.neighbours->hood;
  const std::span<const int> to = hood.destinations();
  for (const std::uint32_t lane : hood.readers()) {
    const Board& reader = hood.of(lane);
    Mailbox::Request request;
    if (!reader.mailbox(0).has_request(request) || request.owner != state.lane() ||
        request.step != operation.first || request.bytes > Board::kRoom)
      continue;
    bool lent = is_within(request, to.data(), to.size_bytes());
    for (std::size_t i = 0; !lent && i < to.size(); ++i)
      lent = is_within(request, operation.gives[i].at, operation.gives[i].bytes);
    if (!lent) continue;
    std::memcpy(reader.room(0, operation.first + 1, Board::kRoom),
                reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(request.from)),
                request.bytes);
    reader.mailbox(0).reply(request);
    operation.moved = true;
  }
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
    const Fetched fetched = take_from_room(state, operation, source, to);
    if (fetched == Fetched::lost) state.end(Board::End::lost);
    if (fetched != Fetched::done) return false;
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
    else if (source.lane != Neighbourhood::kNoLane && !take(state, operation, source, to))
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
  if (operation.direct) serve(state, operation);
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
    if (source.lane == Neighbourhood::kNoLane) continue;
    if (source.lane != state.lane() && !await_at_once(hood.of(source.lane), 0, step, flag, looks))
      return false;
    if (part_of(source).bytes != call.takes[i].bytes) return false;  // walk() reports the mismatch
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i].lane != Neighbourhood::kNoLane) copy(call.takes[i], part_of(sources[i]).at);
  hood.finish();
  return true;
}

}  // namespace

constinit const Collective kNeighborAllgather{
    .walk = walk, .at_once = at_once, .traits = {.apart = true}};
constinit const Collective kNeighborAlltoall{
    .walk = walk, .at_once = at_once, .traits = {.apart = true}};

}  // namespace lfc
