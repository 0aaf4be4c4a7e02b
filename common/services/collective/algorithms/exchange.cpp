// Exchanges of few bytes among nodes: allgather, alltoall and reduce-scatter. One message goes from each node to each
// other.
//
// All ranks write their blocks onto the board of their node. The leader of each node packs them into one packet for
// each other node. It writes the blocks of other nodes onto its board, from which its local peers take theirs. All
// blocks of a node fit into a packet and a room (most_exchanged()); the component below does larger calls.
#include "services/collective/algorithms/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace lfc {
namespace {

using Block = CollOperation::Block;

constexpr std::size_t kMostPacket = 60 * 1024;
static_assert(kMostPacket <= Board::kRoom, "a packet is made in the scratch room");

void copy_part(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  if (size > 0 && to != from) std::memcpy(to, from, size);
}

// --- Sizes ---

// The block of a member in an allgather.
Block block_of(const CommunicatorState& state, const CollOperation& operation,
               std::uint32_t member) noexcept {
  return operation.block_of(state.rank_of(member));
}

template <class Each>
void for_members(const CommunicatorState& state, std::uint32_t node, Each each) {
  const Membership& members = state.members();
  for (std::uint32_t member = members.first(node); member < members.size(); ++member)
    if (members.node(member) == node) each(member);
}

std::uint32_t lanes_of(const CommunicatorState& state, std::uint32_t node) {
  std::uint32_t lanes = 0;
  for_members(state, node, [&](std::uint32_t) { ++lanes; });
  return lanes;
}

// Bytes that a rank writes onto the board.
std::size_t row_size(const CommunicatorState& state, const CollOperation& operation,
                     std::uint32_t lane) {
  return operation.kind == LFC_COLL_ALLGATHER
             ? block_of(state, operation, state.local()[lane]).bytes
             : state.members().size() * operation.bytes;
}

// Bytes that one node sends to another.
std::size_t packet_size(const CommunicatorState& state, const CollOperation& operation,
                        std::uint32_t from, std::uint32_t to) {
  std::size_t size = 0;
  switch (operation.kind) {
    case LFC_COLL_ALLGATHER:
      for_members(state, from,
                  [&](std::uint32_t member) { size += block_of(state, operation, member).bytes; });
      return size;
    case LFC_COLL_ALLTOALL: return operation.bytes * lanes_of(state, from) * lanes_of(state, to);
    default: return operation.bytes * lanes_of(state, to);
  }
}

// Bytes that the leader writes onto the board: a block for each member (allgather), for each member and lane
// (alltoall), or for each node and lane (reduce-scatter).
std::size_t inbox_size(const CommunicatorState& state, const CollOperation& operation) {
  switch (operation.kind) {
    case LFC_COLL_ALLGATHER: return operation.bytes * state.members().size();
    case LFC_COLL_ALLTOALL: return operation.bytes * state.members().size() * state.lanes();
    default: return operation.bytes * state.members().nodes() * state.lanes();
  }
}

// --- Places ---

const std::byte* row(const CommunicatorState& state, const CollOperation& operation,
                     std::uint32_t lane) {
  if (state.has_board())
    return state.board().room(lane, operation.first, row_size(state, operation, lane));
  if (operation.in != nullptr) return operation.given(0);
  return static_cast<const std::byte*>(operation.out) +
         block_of(state, operation, state.self()).offset;
}

std::byte* inbox(CommunicatorState& state, const CollOperation& operation) {
  return state.has_board()
             ? state.board().room(0, operation.first + 1, inbox_size(state, operation))
             : state.scratch();
}

// Combines all lanes' parts of a reduce-scatter for one member.
void combine_lanes(const CommunicatorState& state, const CollOperation& operation,
                   std::uint32_t member, std::byte* out) {
  const std::size_t at = state.rank_of(member) * operation.bytes;
  const std::size_t count = operation.bytes / size_of(static_cast<Element>(operation.type));
  const std::byte* sum = row(state, operation, 0) + at;
  for (std::uint32_t lane = 1; lane < state.lanes(); ++lane) {
    operation.combine(sum, row(state, operation, lane) + at, out, count);
    sum = out;
  }
  copy_part(out, sum, operation.bytes);
}

// --- The leader ---

void pack(const CommunicatorState& state, const CollOperation& operation, std::uint32_t node,
          std::byte* out) {
  const std::size_t bytes = operation.bytes;
  if (operation.kind == LFC_COLL_REDUCE_SCATTER) {
    for_members(state, node, [&](std::uint32_t member) {
      combine_lanes(state, operation, member, out);
      out += bytes;
    });
    return;
  }
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane) {
    const std::byte* const from = row(state, operation, lane);
    if (operation.kind == LFC_COLL_ALLGATHER) {
      const std::size_t size = row_size(state, operation, lane);
      copy_part(out, from, size);
      out += size;
      continue;
    }
    for_members(state, node, [&](std::uint32_t member) {
      copy_part(out, from + state.rank_of(member) * bytes, bytes);
      out += bytes;
    });
  }
}

void unpack(const CommunicatorState& state, const CollOperation& operation, std::uint32_t node,
            const std::byte* from, std::byte* box) {
  const std::size_t bytes = operation.bytes;
  const std::size_t lanes = state.lanes();
  if (operation.kind == LFC_COLL_REDUCE_SCATTER) {
    copy_part(box + node * lanes * bytes, from, lanes * bytes);
    return;
  }
  for_members(state, node, [&](std::uint32_t member) {
    const bool one = operation.kind == LFC_COLL_ALLGATHER;
    const std::size_t size = one ? block_of(state, operation, member).bytes : lanes * bytes;
    copy_part(box + member * bytes * (one ? 1 : lanes), from, size);
    from += size;
  });
}

void send_all(CommunicatorState& state, CollOperation& operation) {
  const Membership& members = state.members();
  const std::uint32_t here = members.node(state.self());
  // Not on the stack: the rank may call from a thread with a small one.
  std::byte* const packet = state.scratch();
  for (std::uint32_t i = 1; i < members.nodes(); ++i) {
    const std::uint32_t node = (here + i) % members.nodes();  // not all send to the same one first
    const std::size_t size = packet_size(state, operation, here, node);
    if (i == 1 || operation.kind != LFC_COLL_ALLGATHER) pack(state, operation, node, packet);
    state.tree()->send_block(operation, members.first(node), operation.label(0, size),
                             {packet, size});
  }
}

void take_all(CommunicatorState& state, CollOperation& operation) {
  const Membership& members = state.members();
  const std::uint32_t here = members.node(state.self());
  std::byte* const box = inbox(state, operation);
  bool wrong = false;
  state.tree()->take_blocks(
      operation, [&](std::uint32_t member, Label label, std::span<const std::byte> bytes) {
        const std::uint32_t node = members.node(member);
        if (label == operation.label(0, packet_size(state, operation, node, here)))
          unpack(state, operation, node, bytes.data(), box);
        else
          wrong = true;
      });
  if (wrong) state.disagree(operation, true);
  if (operation.kind == LFC_COLL_REDUCE_SCATTER)
    pack(state, operation, here, box + here * state.lanes() * operation.bytes);
  if (state.has_board())
    state.board().publish(0, operation.first + 1, operation.label(0, inbox_size(state, operation)));
}

// False: a block is still missing.
bool stand_for_node(CommunicatorState& state, CollOperation& operation) {
  if (operation.combined == 0) {
    send_all(state, operation);
    operation.combined = 1;
    operation.moved = true;
  }
  if (operation.combined == 1) {
    if (operation.arrived.load(std::memory_order_acquire) + 1 < state.members().nodes())
      return false;
    take_all(state, operation);
    operation.combined = 2;
    operation.moved = true;
  }
  return true;
}

// --- All ranks ---

bool rows_ready(CommunicatorState& state, CollOperation& operation) {
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane)
    if (lane != state.lane() &&
        !state.is_ready(operation, lane, operation.first,
                        operation.label(0, row_size(state, operation, lane))))
      return false;
  return true;
}

void take_results(CommunicatorState& state, const CollOperation& operation) {
  const Membership& members = state.members();
  const std::size_t bytes = operation.bytes;
  auto* const out = static_cast<std::byte*>(operation.out);
  const std::byte* const box = members.nodes() > 1 ? inbox(state, operation) : nullptr;
  if (operation.kind == LFC_COLL_REDUCE_SCATTER) {
    if (box == nullptr) return combine_lanes(state, operation, state.self(), out);
    const std::size_t count = bytes / size_of(static_cast<Element>(operation.type));
    const std::byte* sum = box + state.lane() * bytes;
    for (std::uint32_t node = 1; node < members.nodes(); ++node) {
      operation.combine(sum, box + (node * state.lanes() + state.lane()) * bytes, out, count);
      sum = out;
    }
    return;
  }
  const bool all = operation.kind == LFC_COLL_ALLGATHER;
  const std::uint32_t here = members.node(state.self());
  for (std::uint32_t member = 0; member < members.size(); ++member) {
    const Block to = operation.block_of(state.rank_of(member));
    const std::byte* from = nullptr;
    if (members.node(member) != here)
      from = box + (all ? member : member * state.lanes() + state.lane()) * bytes;
    else
      from = row(state, operation, state.lane_of(member)) +
             (all ? 0 : state.rank_of(state.self()) * bytes);
    copy_part(out + to.offset, from, to.bytes);
  }
}

}  // namespace

bool walk_exchange(CommunicatorState& state, CollOperation& operation) {
  const bool among_nodes = state.tree() != nullptr;
  const bool leader = among_nodes && state.is_leader(operation);
  const std::uint64_t step = operation.first;
  if (operation.written == 0) {
    const std::size_t size = row_size(state, operation, state.lane());
    if (state.has_board()) {
      if (!state.board().writable(step, Board::kRoom) ||
          !state.board().writable(step + 1, Board::kRoom))
        return false;
      const auto* const own = static_cast<const std::byte*>(operation.out);
      state.write(step,
                  operation.in != nullptr ? operation.given(0)
                                          : own + block_of(state, operation, state.self()).offset,
                  operation.label(0, size));
    }
    operation.written = 1;
    operation.moved = true;
  }
  if (state.has_board() && !rows_ready(state, operation)) return false;
  if (state.failure() != LFC_COLL_OK) return false;
  if (leader && !stand_for_node(state, operation)) return false;
  if (among_nodes && !leader &&
      !state.is_ready(operation, 0, step + 1, operation.label(0, inbox_size(state, operation))))
    return false;
  if (state.failure() != LFC_COLL_OK) return false;
  take_results(state, operation);
  if (state.has_board()) state.finish(operation, step + 1);
  operation.moved = true;
  return true;
}

std::size_t most_exchanged(const Membership& members, std::size_t packet, lfc_coll_kind kind) {
  if (collective_of(kind).traits.exchange == 0) return 0;
  std::vector<std::size_t> count(members.nodes());
  for (std::uint32_t member = 0; member < members.size(); ++member) ++count[members.node(member)];
  const std::size_t lanes = *std::max_element(count.begin(), count.end());
  std::size_t slots = members.size();
  std::size_t sent = lanes;
  switch (kind) {
    case LFC_COLL_ALLTOALL:
      slots *= lanes;
      sent *= lanes;
      break;
    case LFC_COLL_REDUCE_SCATTER: slots = std::max(slots, lanes * members.nodes()); break;
    default: break;
  }
  const std::size_t fits = Board::kRoom / slots;
  return members.nodes() == 1 ? fits : std::min(fits, std::min(packet, kMostPacket) / sent);
}

constinit const Collective kReduceScatter{
    .walk = walk_exchange, .traits = {.synchronises = true, .whole = 2, .exchange = 2}};

}  // namespace lfc
