#include "services/collective/network.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace lfc {
namespace {

// MulticastHeader::tag.
enum : std::uint8_t { kResult, kContribution };

}  // namespace

GroupNetwork::~GroupNetwork() = default;

void GroupNetwork::join(std::uint64_t key, Membership membership, std::uint32_t self,
                        std::vector<PeerId> peers) {
  self_ = self;
  multicast_.join(group_, key, std::move(membership), self, std::move(peers), *this);
}

bool GroupNetwork::drained() {
  const Ni::Access access(multicast_.ni());
  forget_results();
  return pending_.empty() || failed();
}

std::uint32_t GroupNetwork::lost_member() const {
  const Ni::Access access(multicast_.ni());
  const std::uint32_t size = Multicast::membership(*group_).size();
  for (std::uint32_t member = 0; member < size; ++member) {
    const PeerId peer = multicast_.peer(*group_, member);
    if (peer != kNoPeer && multicast_.ni().peer_state(peer)->state == Peer::State::broken)
      return member;
  }
  return size;
}

// Results that have been sent to all are no longer needed.
void GroupNetwork::forget_results() {
  std::erase_if(results_, [&](const auto& result) {
    if (result.second->unsent.load(std::memory_order_acquire) != 0) return false;
    pending_.erase(result.first);
    return true;
  });
}

void GroupNetwork::leave() noexcept {
  {
    const Ni::Access access(multicast_.ni());
    for (auto& [step, packet] : kept_) multicast_.release(*packet);
    kept_.clear();
    multicast_.forget(*this);
  }
  multicast_.leave(group_);
}

void GroupNetwork::disagree() noexcept {
  mismatch_.store(true, std::memory_order_relaxed);
  failed_.store(true, std::memory_order_release);
}

// --- Results ---

void GroupNetwork::multicast(CollOperation& operation, std::uint64_t step, Label label,
                             std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.word = label.word();
  header.number = step;
  header.tag = kResult;
  header.shape = operation.shape;
  header.fan = operation.fan;
  multicast_.send(*group_, header, bytes, operation.unsent);
}

Multicast::Receiver::Answer GroupNetwork::take(const MulticastHeader& header,
                                               std::span<const std::byte> bytes) {
  if (bytes.size() > Board::kRoom) return Answer::malformed;
  if (header.tag == kResult && header.kind == MulticastHeader::Kind::tree) {
    if (place(header.number, label_of(header, bytes), bytes)) return Answer::taken;
    kept_step_ = header.number;
    return Answer::keep;
  }
  const auto up = std::bit_cast<Up>(header.word);
  if (header.tag != kContribution || header.kind != MulticastHeader::Kind::direct ||
      up.root >= Multicast::membership(*group_).size() || up.op > CombineOp::last_ ||
      up.type > CombineType::last_ || header.fan == 0 || header.fan > kMaxFan ||
      !Multicast::membership(*group_).in_tree(up.root, self_))
    return Answer::malformed;
  return add(header.number, up, {header.shape, header.fan}, header.origin, bytes)
             ? Answer::taken
             : Answer::malformed;
}

// True: it is where the ranks of this node look for it.
bool GroupNetwork::place(std::uint64_t step, Label label, std::span<const std::byte> bytes) {
  if (!board_.is_open()) return place_in_buffer(step, label, bytes);
  if (!board_.writable(step, bytes.size())) {
    multicast_.wake(*this);
    return false;
  }
  if (!bytes.empty())
    std::memcpy(board_.room(board_.self(), step, bytes.size()), bytes.data(), bytes.size());
  board_.publish(board_.self(), step, label);
  return true;
}

bool GroupNetwork::place_in_buffer(std::uint64_t step, Label label,
                                   std::span<const std::byte> bytes) {
  CollOperation* const operation = expected_;
  if (operation == nullptr || step < operation->first ||
      step >= operation->first + operation->steps)
    return false;
  const std::uint64_t index = (step - operation->first) / operation->per_chunk;
  if (label != operation->label(index, operation->size_of(index))) {
    disagree();
    return true;
  }
  if (!bytes.empty())
    std::memcpy(operation->out + operation->offset_of(index), bytes.data(), bytes.size());
  operation->arrived.fetch_add(1, std::memory_order_release);
  return true;
}

void GroupNetwork::expect(CollOperation* operation) {
  expected_ = operation;
  if (operation != nullptr) {
    own_next_ = operation->first;
    // Others took for a reduction what was none here.
    if (!ahead_.empty() && *ahead_.begin() < own_next_) disagree();
  }
  if (!kept_.empty() || !own_results_.empty()) work();
}

// Later steps find no room either, nor does an operation that is still to come.
bool GroupNetwork::work() {
  while (!own_results_.empty()) {
    const auto first = own_results_.begin();
    if (!place(first->first, first->second.label, first->second.bytes)) return board_.is_open();
    own_results_.erase(first);
  }
  for (auto entry = kept_.begin(); entry != kept_.end();) {
    Multicast::Packet& packet = *entry->second;
    const std::span<const std::byte> bytes = Multicast::bytes(packet);
    if (!place(entry->first, label_of(Multicast::header(packet), bytes), bytes))
      return board_.is_open();
    entry = kept_.erase(entry);
    multicast_.release(packet);
  }
  return false;
}

void GroupNetwork::serve() { multicast_.serve(*group_); }

// --- Reductions ---

void GroupNetwork::contribute(CollOperation& operation, std::uint64_t step, Label label,
                              std::span<const std::byte> bytes) {
  const bool all = operation.kind == CollOperation::Kind::allreduce;
  const Up up{operation.root, operation.op, operation.type, static_cast<std::uint8_t>(all),
              static_cast<std::uint8_t>(label.last)};
  ahead_.erase(step);
  own_next_ = step + 1;
  const Membership::Shape shape{operation.shape, operation.fan};
  const bool leaf =
      Multicast::membership(*group_).children(shape, operation.root, self_).size() == 0;
  if (leaf && operation.root != self_ && !pending_.contains(step))
    send_up(step, up, shape, bytes);  // as it lies
  else if (!add(step, up, shape, self_, bytes))
    disagree();
}

// A member's part of a step's result. False: it is not one of those we wait for.
bool GroupNetwork::add(std::uint64_t step, Up up, Membership::Shape shape, std::uint32_t member,
                       std::span<const std::byte> bytes) {
  forget_results();
  const auto children = Multicast::membership(*group_).children(shape, up.root, self_);
  const auto [entry, is_new] = pending_.try_emplace(step, children.size(), up, shape);
  Pending& pending = entry->second;
  const bool late = is_new && member != self_ && step < own_next_;
  if (late || up != pending.up || shape != pending.shape) {
    disagree();
    return true;
  }
  std::uint32_t part = Partial::kOwn;
  if (member != self_) {
    const auto* const child = std::find(children.begin(), children.end(), member);
    part = Partial::child(static_cast<std::uint32_t>(child - children.begin()));
    if (is_new) ahead_.insert(step);
  }
  switch (pending.partial.add(part, bytes, find_combine(up.op, up.type), combine_size(up.type))) {
    case Partial::Added::wrong: return false;
    case Partial::Added::differs: disagree(); break;
    case Partial::Added::whole: complete(step, up, shape, pending); break;
    case Partial::Added::more: break;
  }
  return true;
}

void GroupNetwork::send_up(std::uint64_t step, Up up, Membership::Shape shape,
                           std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.shape = shape.shape;
  header.fan = static_cast<std::uint8_t>(shape.fan);
  header.number = step;
  header.tag = kContribution;
  header.word = std::bit_cast<std::uint64_t>(up);
  const std::uint32_t parent = Multicast::membership(*group_).parent(shape, up.root, self_);
  multicast_.send_direct(*group_, parent, header, bytes);
}

void GroupNetwork::complete(std::uint64_t step, Up up, Membership::Shape shape, Pending& pending) {
  const std::span<const std::byte> sum = pending.partial.bytes();
  if (up.root != self_) {
    send_up(step, up, shape, sum);
    pending_.erase(step);
    return;
  }
  const std::uint8_t kind = up.all == 0
                                ? CollOperation::label_kind(CollOperation::Kind::reduce, 1)
                                : CollOperation::label_kind(CollOperation::Kind::allreduce, 2);
  const Label label{kind, false, up.last != 0, up.root, static_cast<std::uint32_t>(sum.size())};
  if (up.all == 0) {
    place_in_buffer(step, label, sum);  // the root waits for it: it has contributed itself
    pending_.erase(step);
    return;
  }
  MulticastHeader header;
  header.shape = shape.shape;
  header.fan = static_cast<std::uint8_t>(shape.fan);
  header.number = step + 1;
  header.tag = kResult;
  header.word = label.word();
  multicast_.send(*group_, header, sum, pending.unsent);
  if (!place(step + 1, label, sum))
    own_results_.emplace(step + 1, OwnResult{label, {sum.begin(), sum.end()}});
  results_.push_back({step, &pending});
}

}  // namespace lfc
