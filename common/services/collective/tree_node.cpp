#include "services/collective/tree_node.hpp"

#include <utility>

namespace lfc {

void TreeNode::join(std::uint64_t key, Membership membership, std::uint32_t self,
                    std::vector<PeerId> peers) {
  position_.self = self;
  position_.multicast.join(position_.group, key, std::move(membership), self, std::move(peers),
                           *this);
}

bool TreeNode::drained() {
  const ServicePort::Access access(position_.multicast.port());
  return reductions_.drained() || failed();
}

void TreeNode::leave() noexcept {
  {
    const ServicePort::Access access(position_.multicast.port());
    results_.drop();
    blocks_.drop();
    position_.multicast.forget(*this);
  }
  position_.multicast.leave(position_.group);
}

// --- Members ---

std::uint32_t TreeNode::lost_member() const {
  const ServicePort::Access access(position_.multicast.port());
  const std::uint32_t size = position_.members().size();
  for (std::uint32_t member = 0; member < size; ++member) {
    const PeerId peer = position_.group->peers[member];
    if (peer != kNoPeer && position_.multicast.port().is_lost(peer)) return member;
  }
  return size;
}

bool TreeNode::knows(std::uint32_t member) const {
  const ServicePort::Access access(position_.multicast.port());
  return position_.group->peers[member] != kNoPeer;
}

void TreeNode::set_peer(std::uint32_t member, PeerId peer) {
  const ServicePort::Access access(position_.multicast.port());
  position_.multicast.set_peer(*position_.group, member, peer);
}

void TreeNode::give_up(Multicast::Reason reason) {
  const ServicePort::Access access(position_.multicast.port());
  position_.give_up(reason);
}

// --- The host's calls ---

void TreeNode::set_board(const Board& board) noexcept {
  const ServicePort::Access access(position_.multicast.port());
  results_.set_board(board);
}

void TreeNode::begin(CollOperation& operation) {
  const Inside inside(position_.multicast.port(), operation);
  position_.begun.push_back(&operation);
  position_.begun_to = operation.end();
  reductions_.begin(operation);
  blocks_.begin(operation);
  if (results_.any_waits()) work();
}

void TreeNode::end(const CollOperation& operation) {
  const Inside inside(position_.multicast.port(), operation);
  std::erase(position_.begun, &operation);
  reductions_.end(operation);
}

void TreeNode::multicast(CollOperation& operation, std::uint64_t step, Label label,
                         std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.word = label.word();
  header.number = step;
  header.tag = static_cast<std::uint8_t>(NodeTag::result);
  header.shape = operation.shape;
  header.fan = operation.fan;
  const Inside inside(position_.multicast.port(), operation);
  position_.multicast.send(*position_.group, header, bytes, operation.unsent);
}

void TreeNode::contribute(CollOperation& operation, std::uint64_t step, Label label,
                          std::span<const std::byte> bytes) {
  const Inside inside(position_.multicast.port(), operation);
  reductions_.contribute(operation, step, label, bytes);
}

void TreeNode::send_block(const CollOperation& operation, std::uint32_t member, Label label,
                          std::span<const std::byte> bytes) {
  const ServicePort::Access access(position_.multicast.port());
  blocks_.send(operation, member, label, bytes);
}

void TreeNode::query() {
  const ServicePort::Access access(position_.multicast.port());
  reductions_.query();
}

void TreeNode::serve() {
  const ServicePort::Access access(position_.multicast.port());
  position_.multicast.serve(*position_.group);
}

// --- Incoming packets ---

Multicast::Receiver::Reception TreeNode::take(const MulticastHeader& header,
                                              std::span<const std::byte> bytes) {
  const auto tag = static_cast<NodeTag>(header.tag);
  if (bytes.size() > Board::kRoom) return Reception::malformed;
  if (header.kind == MulticastHeader::Kind::tree) {
    if (tag != NodeTag::result) return Reception::malformed;
    const Label label = Label::of(header.word, bytes.size());
    return results_.place(header.number, label, bytes) ? Reception::taken : Reception::keep;
  }
  if (header.kind != MulticastHeader::Kind::direct) return Reception::malformed;
  return tag == NodeTag::block ? blocks_.accept(header) : reductions_.accept(header, bytes);
}

void TreeNode::keep(Multicast::Packet& packet) {
  if (static_cast<NodeTag>(packet.header.tag) == NodeTag::block)
    blocks_.keep(packet);
  else
    results_.keep(packet);
}

void TreeNode::lost(Multicast::Reason reason) {
  position_.reason.store(reason, std::memory_order_relaxed);
  position_.failed.store(true, std::memory_order_release);
}

bool TreeNode::work() { return results_.work(); }

}  // namespace lfc
