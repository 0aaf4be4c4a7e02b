// Exchanges of few bytes among nodes: allgather, alltoall and reduce-scatter. One message goes from each node to each
// other.
//
// All ranks write what they have onto their boards; the leader of each node makes one packet of it for each other node,
// and writes what has come from the others onto its board, from which its neighbours take what is theirs.
// Everything of a node fits into a packet and a room (most_exchanged()); larger ones go below.
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

// --- How much there is ---

// The block of a member in an allgather.
Block block_of(const Site& site, const CollOperation& operation, std::uint32_t member) noexcept {
  return operation.block_of(site.rank_of(member));
}

template <class Each>
void for_members(const Site& site, std::uint32_t node, Each each) {
  const Membership& members = site.members();
  for (std::uint32_t member = members.first(node); member < members.size(); ++member)
    if (members.node(member) == node) each(member);
}

std::uint32_t lanes_of(const Site& site, std::uint32_t node) {
  std::uint32_t lanes = 0;
  for_members(site, node, [&](std::uint32_t) { ++lanes; });
  return lanes;
}

// What a rank writes onto the board.
std::size_t row_size(const Site& site, const CollOperation& operation, std::uint32_t lane) {
  return operation.kind == LFC_COLL_ALLGATHER ? block_of(site, operation, site.local()[lane]).bytes
                                              : site.members().size() * operation.bytes;
}

// What one node has for another.
std::size_t packet_size(const Site& site, const CollOperation& operation, std::uint32_t from,
                        std::uint32_t to) {
  std::size_t size = 0;
  switch (operation.kind) {
    case LFC_COLL_ALLGATHER:
      for_members(site, from,
                  [&](std::uint32_t member) { size += block_of(site, operation, member).bytes; });
      return size;
    case LFC_COLL_ALLTOALL: return operation.bytes * lanes_of(site, from) * lanes_of(site, to);
    default: return operation.bytes * lanes_of(site, to);
  }
}

// What the leader writes onto the board: of an allgather a slot for each member, of an alltoall one for each member and
// lane, of a reduce-scatter one for each node and lane.
std::size_t inbox_size(const Site& site, const CollOperation& operation) {
  switch (operation.kind) {
    case LFC_COLL_ALLGATHER: return operation.bytes * site.members().size();
    case LFC_COLL_ALLTOALL: return operation.bytes * site.members().size() * site.lanes();
    default: return operation.bytes * site.members().nodes() * site.lanes();
  }
}

// --- What lies where ---

const std::byte* row(const Site& site, const CollOperation& operation, std::uint32_t lane) {
  if (site.has_board())
    return site.board().room(lane, operation.first, row_size(site, operation, lane));
  if (operation.in != nullptr) return operation.given(0);
  return static_cast<const std::byte*>(operation.out) +
         block_of(site, operation, site.self()).offset;
}

std::byte* inbox(Site& site, const CollOperation& operation) {
  return site.has_board() ? site.board().room(0, operation.first + 1, inbox_size(site, operation))
                          : site.scratch();
}

// All lanes' parts of a reduce-scatter for one member.
void combine_lanes(const Site& site, const CollOperation& operation, std::uint32_t member,
                   std::byte* out) {
  const std::size_t at = site.rank_of(member) * operation.bytes;
  const std::size_t count = operation.bytes / size_of(static_cast<Element>(operation.type));
  const std::byte* sum = row(site, operation, 0) + at;
  for (std::uint32_t lane = 1; lane < site.lanes(); ++lane) {
    operation.combine(sum, row(site, operation, lane) + at, out, count);
    sum = out;
  }
  copy_part(out, sum, operation.bytes);
}

// --- What the leader does ---

void pack(const Site& site, const CollOperation& operation, std::uint32_t node, std::byte* out) {
  const std::size_t bytes = operation.bytes;
  if (operation.kind == LFC_COLL_REDUCE_SCATTER) {
    for_members(site, node, [&](std::uint32_t member) {
      combine_lanes(site, operation, member, out);
      out += bytes;
    });
    return;
  }
  for (std::uint32_t lane = 0; lane < site.lanes(); ++lane) {
    const std::byte* const from = row(site, operation, lane);
    if (operation.kind == LFC_COLL_ALLGATHER) {
      const std::size_t size = row_size(site, operation, lane);
      copy_part(out, from, size);
      out += size;
      continue;
    }
    for_members(site, node, [&](std::uint32_t member) {
      copy_part(out, from + site.rank_of(member) * bytes, bytes);
      out += bytes;
    });
  }
}

void unpack(const Site& site, const CollOperation& operation, std::uint32_t node,
            const std::byte* from, std::byte* box) {
  const std::size_t bytes = operation.bytes;
  const std::size_t lanes = site.lanes();
  if (operation.kind == LFC_COLL_REDUCE_SCATTER) {
    copy_part(box + node * lanes * bytes, from, lanes * bytes);
    return;
  }
  for_members(site, node, [&](std::uint32_t member) {
    const bool one = operation.kind == LFC_COLL_ALLGATHER;
    const std::size_t size = one ? block_of(site, operation, member).bytes : lanes * bytes;
    copy_part(box + member * bytes * (one ? 1 : lanes), from, size);
    from += size;
  });
}

void send_all(Site& site, CollOperation& operation) {
  const Membership& members = site.members();
  const std::uint32_t here = members.node(site.self());
  // Not on the stack: the rank may call from a thread that has little of it.
  std::byte* const packet = site.scratch();
  for (std::uint32_t i = 1; i < members.nodes(); ++i) {
    const std::uint32_t node = (here + i) % members.nodes();  // not all to the same one first
    const std::size_t size = packet_size(site, operation, here, node);
    if (i == 1 || operation.kind != LFC_COLL_ALLGATHER) pack(site, operation, node, packet);
    site.tree()->send_block(operation, members.first(node), operation.label(0, size),
                            {packet, size});
  }
}

void take_all(Site& site, CollOperation& operation) {
  const Membership& members = site.members();
  const std::uint32_t here = members.node(site.self());
  std::byte* const box = inbox(site, operation);
  bool wrong = false;
  site.tree()->take_blocks(
      operation, [&](std::uint32_t member, Label label, std::span<const std::byte> bytes) {
        const std::uint32_t node = members.node(member);
        if (label == operation.label(0, packet_size(site, operation, node, here)))
          unpack(site, operation, node, bytes.data(), box);
        else
          wrong = true;
      });
  if (wrong) site.disagree(operation, true);
  if (operation.kind == LFC_COLL_REDUCE_SCATTER)
    pack(site, operation, here, box + here * site.lanes() * operation.bytes);
  if (site.has_board())
    site.board().publish(0, operation.first + 1, operation.label(0, inbox_size(site, operation)));
}

// False: something is missing yet.
bool stand_for_node(Site& site, CollOperation& operation) {
  if (operation.combined == 0) {
    send_all(site, operation);
    operation.combined = 1;
    operation.moved = true;
  }
  if (operation.combined == 1) {
    if (operation.arrived.load(std::memory_order_acquire) + 1 < site.members().nodes())
      return false;
    take_all(site, operation);
    operation.combined = 2;
    operation.moved = true;
  }
  return true;
}

// --- What everybody does ---

bool rows_ready(Site& site, CollOperation& operation) {
  for (std::uint32_t lane = 0; lane < site.lanes(); ++lane)
    if (lane != site.lane() && !site.is_ready(operation, lane, operation.first,
                                              operation.label(0, row_size(site, operation, lane))))
      return false;
  return true;
}

void take_results(Site& site, const CollOperation& operation) {
  const Membership& members = site.members();
  const std::size_t bytes = operation.bytes;
  auto* const out = static_cast<std::byte*>(operation.out);
  const std::byte* const box = members.nodes() > 1 ? inbox(site, operation) : nullptr;
  if (operation.kind == LFC_COLL_REDUCE_SCATTER) {
    if (box == nullptr) return combine_lanes(site, operation, site.self(), out);
    const std::size_t count = bytes / size_of(static_cast<Element>(operation.type));
    const std::byte* sum = box + site.lane() * bytes;
    for (std::uint32_t node = 1; node < members.nodes(); ++node) {
      operation.combine(sum, box + (node * site.lanes() + site.lane()) * bytes, out, count);
      sum = out;
    }
    return;
  }
  const bool all = operation.kind == LFC_COLL_ALLGATHER;
  const std::uint32_t here = members.node(site.self());
  for (std::uint32_t member = 0; member < members.size(); ++member) {
    const Block to = operation.block_of(site.rank_of(member));
    const std::byte* from = nullptr;
    if (members.node(member) != here)
      from = box + (all ? member : member * site.lanes() + site.lane()) * bytes;
    else
      from = row(site, operation, site.lane_of(member)) +
             (all ? 0 : site.rank_of(site.self()) * bytes);
    copy_part(out + to.offset, from, to.bytes);
  }
}

}  // namespace

bool walk_exchange(Site& site, CollOperation& operation) {
  const bool among_nodes = site.tree() != nullptr;
  const bool leader = among_nodes && site.is_leader(operation);
  const std::uint64_t step = operation.first;
  if (operation.written == 0) {
    const std::size_t size = row_size(site, operation, site.lane());
    if (site.has_board()) {
      if (!site.board().writable(step, Board::kRoom) ||
          !site.board().writable(step + 1, Board::kRoom))
        return false;
      const auto* const own = static_cast<const std::byte*>(operation.out);
      site.write(step,
                 operation.in != nullptr ? operation.given(0)
                                         : own + block_of(site, operation, site.self()).offset,
                 operation.label(0, size));
    }
    operation.written = 1;
    operation.moved = true;
  }
  if (site.has_board() && !rows_ready(site, operation)) return false;
  if (site.failure() != LFC_COLL_OK) return false;
  if (leader && !stand_for_node(site, operation)) return false;
  if (among_nodes && !leader &&
      !site.is_ready(operation, 0, step + 1, operation.label(0, inbox_size(site, operation))))
    return false;
  if (site.failure() != LFC_COLL_OK) return false;
  take_results(site, operation);
  if (site.has_board()) site.finish(operation, step + 1);
  operation.moved = true;
  return true;
}

std::size_t most_exchanged(const Membership& members, std::size_t packet, lfc_coll_kind kind) {
  std::vector<std::size_t> count(members.nodes());
  for (std::uint32_t member = 0; member < members.size(); ++member) ++count[members.node(member)];
  const std::size_t lanes = *std::max_element(count.begin(), count.end());
  std::size_t slots = members.size();
  std::size_t sent = lanes;
  switch (kind) {
    case LFC_COLL_ALLGATHER: break;
    case LFC_COLL_ALLTOALL:
      slots *= lanes;
      sent *= lanes;
      break;
    case LFC_COLL_REDUCE_SCATTER: slots = std::max(slots, lanes * members.nodes()); break;
    default: return 0;
  }
  const std::size_t fits = Board::kRoom / slots;
  return members.nodes() == 1 ? fits : std::min(fits, std::min(packet, kMostPacket) / sent);
}

constinit const Collective kReduceScatter{
    .walk = walk_exchange, .traits = {.synchronises = true, .whole = 2, .exchange = 2}};

}  // namespace lfc
