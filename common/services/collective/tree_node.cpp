#include "services/collective/tree_node.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace lfc {
namespace {

// MulticastHeader::tag.
enum : std::uint8_t { kResult, kContribution, kQuestion, kAnswer, kPresent, kBlock };

}  // namespace

TreeNode::~TreeNode() = default;

void TreeNode::join(std::uint64_t key, Membership membership, std::uint32_t self,
                    std::vector<PeerId> peers) {
  self_ = self;
  multicast_.join(group_, key, std::move(membership), self, std::move(peers), *this);
}

bool TreeNode::drained() {
  const ServicePort::Access access(multicast_.port());
  forget_results();
  return pending_.empty() || failed();
}

std::uint32_t TreeNode::lost_member() const {
  const ServicePort::Access access(multicast_.port());
  const std::uint32_t size = members().size();
  for (std::uint32_t member = 0; member < size; ++member) {
    const PeerId peer = multicast_.peer(*group_, member);
    if (peer != kNoPeer && multicast_.port().is_broken(peer)) return member;
  }
  return size;
}

// Results that have been sent to all are no longer needed.
void TreeNode::forget_results() {
  std::erase_if(results_, [&](const auto& result) {
    if (result.second->unsent.load(std::memory_order_acquire) != 0) return false;
    pending_.erase(result.first);
    return true;
  });
}

void TreeNode::leave() noexcept {
  {
    const ServicePort::Access access(multicast_.port());
    for (auto& [step, packet] : kept_) multicast_.release(*packet);
    for (auto& [step, packet] : blocks_) multicast_.release(*packet);
    kept_.clear();
    blocks_.clear();
    multicast_.forget(*this);
  }
  multicast_.leave(group_);
}

// Calls of members are not the same: all are told why they get no further.
void TreeNode::disagree() { multicast_.give_up(*group_, Multicast::Reason::disagreement); }

void TreeNode::give_up(bool disagreed) {
  const ServicePort::Access access(multicast_.port());
  multicast_.give_up(*group_,
                     disagreed ? Multicast::Reason::disagreement : Multicast::Reason::loss);
}

void TreeNode::lost(Multicast::Reason reason) {
  if (reason == Multicast::Reason::disagreement) mismatch_.store(true, std::memory_order_relaxed);
  failed_.store(true, std::memory_order_release);
}

bool TreeNode::knows(std::uint32_t member) const {
  const ServicePort::Access access(multicast_.port());
  return multicast_.peer(*group_, member) != kNoPeer;
}

void TreeNode::set_peer(std::uint32_t member, PeerId peer) {
  const ServicePort::Access access(multicast_.port());
  multicast_.set_peer(*group_, member, peer);
}

void TreeNode::set_board(const Board& board) noexcept {
  const ServicePort::Access access(multicast_.port());
  board_ = board;
}

void TreeNode::serve() {
  const ServicePort::Access access(multicast_.port());
  multicast_.serve(*group_);
}

// --- Results ---

void TreeNode::multicast(CollOperation& operation, std::uint64_t step, Label label,
                         std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.word = label.word();
  header.number = step;
  header.tag = kResult;
  header.shape = operation.shape;
  header.fan = operation.fan;
  const ServicePort::Access access(multicast_.port());
  multicast_.send(*group_, header, bytes, operation.unsent);
}

Multicast::Receiver::Answer TreeNode::take(const MulticastHeader& header,
                                           std::span<const std::byte> bytes) {
  if (bytes.size() > Board::kRoom) return Answer::malformed;
  if (header.tag == kResult && header.kind == MulticastHeader::Kind::tree) {
    if (place(header.number, label_of(header, bytes), bytes)) return Answer::taken;
    kept_step_ = header.number;
    return Answer::keep;
  }
  if (header.tag == kBlock && header.kind == MulticastHeader::Kind::direct)
    return take_block(header);
  const auto up = std::bit_cast<Up>(header.word);
  const Membership::Shape shape{header.shape, header.fan};
  if (header.kind != MulticastHeader::Kind::direct || !up.sound(members()) || header.fan == 0 ||
      header.fan > kMaxFan || !members().in_tree(up.root, self_))
    return Answer::malformed;
  switch (header.tag) {
    case kContribution:
      return add(header.number, up, shape, header.origin, bytes) ? Answer::taken
                                                                 : Answer::malformed;
    case kQuestion:
      if (members().parent(shape, up.root, self_) != header.origin) return Answer::malformed;
      on_question(header.number, up, shape);
      return Answer::taken;
    case kPresent: return Answer::taken;
    case kAnswer: on_answer(header.number, up, shape, header.origin); return Answer::taken;
    default: return Answer::malformed;
  }
}

void TreeNode::keep(Multicast::Packet& packet) {
  if (Multicast::header(packet).tag != kBlock) {
    kept_.insert({kept_step_, &packet});
    return;
  }
  const std::uint64_t step = Multicast::header(packet).number;
  blocks_.insert({step, &packet});
  if (current_ != nullptr && current_->first == step)
    current_->arrived.fetch_add(1, std::memory_order_release);
}

// --- Exchanges ---

void TreeNode::send_block(const CollOperation& operation, std::uint32_t member, Label label,
                          std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.number = operation.first;
  header.tag = kBlock;
  header.word = label.word();
  const ServicePort::Access access(multicast_.port());
  multicast_.send_direct(*group_, member, header, bytes);
}

// Whoever stands for its node says one thing to each step.
Multicast::Receiver::Answer TreeNode::take_block(const MulticastHeader& header) {
  if (members().first(members().node(header.origin)) != header.origin) return Answer::malformed;
  const auto [first, last] = blocks_.equal_range(header.number);
  for (auto entry = first; entry != last; ++entry)
    if (Multicast::header(*entry->second).origin == header.origin) return Answer::malformed;
  const bool another = current_ != nullptr && current_->covers(header.number) &&
                       (!exchanges(current_->kind) || current_->first != header.number);
  if (another || header.number < own_next_) {
    disagree();
    return Answer::taken;
  }
  return Answer::keep;
}

// True: it is where the ranks of this node look for it.
bool TreeNode::place(std::uint64_t step, Label label, std::span<const std::byte> bytes) {
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

bool TreeNode::place_in_buffer(std::uint64_t step, Label label, std::span<const std::byte> bytes) {
  CollOperation* const operation = current_;
  if (operation == nullptr || !operation->covers(step)) return false;
  const std::uint64_t index = (step - operation->first) / operation->per_chunk;
  if (label != operation->label(index, operation->size_of(index))) {
    disagree();
    return true;
  }
  if (!bytes.empty()) std::memcpy(operation->got(index), bytes.data(), bytes.size());
  operation->arrived.fetch_add(1, std::memory_order_release);
  return true;
}

void TreeNode::begin(CollOperation& operation) {
  const ServicePort::Access access(multicast_.port());
  current_ = &operation;
  own_next_ = operation.first;
  // Others took for a reduction what is none here.
  if (!ahead_.empty() &&
      (*ahead_.begin() < own_next_ || (!operation.reduces() && operation.covers(*ahead_.begin()))))
    disagree();
  if (!blocks_.empty()) {
    const std::uint64_t step = blocks_.begin()->first;
    const bool own = exchanges(operation.kind) && step == operation.first;
    if (step < operation.first || (operation.covers(step) && !own)) disagree();
    if (own) operation.arrived.store(blocks_.count(step), std::memory_order_release);
  }
  if (!kept_.empty() || !own_results_.empty()) work();
}

void TreeNode::end(const CollOperation& operation) {
  const ServicePort::Access access(multicast_.port());
  current_ = nullptr;
  own_next_ = operation.first + operation.steps;
}

// Later steps find no room either, nor does an operation that is still to come.
bool TreeNode::work() {
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

// --- Reductions ---

TreeNode::Up TreeNode::up_of(const CollOperation& operation, std::uint64_t step) noexcept {
  const bool last = step + operation.per_chunk == operation.first + operation.steps;
  return {operation.top, static_cast<Accumulate>(operation.op),
          static_cast<Element>(operation.type),
          static_cast<std::uint8_t>(operation.kind == LFC_COLL_ALLREDUCE ? 1 : 0),
          static_cast<std::uint8_t>(last ? 1 : 0)};
}

void TreeNode::contribute(const CollOperation& operation, std::uint64_t step, Label label,
                          std::span<const std::byte> bytes) {
  const ServicePort::Access access(multicast_.port());
  const Up up = up_of(operation, step);
  const Membership::Shape shape = shape_of(operation);
  ahead_.erase(step);
  own_next_ = step + 1;
  const bool leaf = members().children(shape, up.root, self_).size() == 0;
  if (label.wrong)
    disagree();
  else if (leaf && up.root != self_ && !pending_.contains(step))
    send_up(step, up, shape, bytes);  // as it lies
  else if (!add(step, up, shape, self_, bytes))
    disagree();
}

// A member's part of a step's result. False: it is not one of those we wait for.
bool TreeNode::add(std::uint64_t step, Up up, Membership::Shape shape, std::uint32_t member,
                   std::span<const std::byte> bytes) {
  forget_results();
  const auto children = members().children(shape, up.root, self_);
  const auto [entry, is_new] = pending_.try_emplace(step, children.size(), up, shape);
  Pending& pending = entry->second;
  const bool late = is_new && member != self_ && (step < own_next_ || is_another(step, up, shape));
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
  switch (pending.partial.add(part, bytes, number_combiner({up.op, up.type}), size_of(up.type))) {
    case Partial::Added::wrong: return false;
    case Partial::Added::differs: disagree(); break;
    case Partial::Added::whole: complete(step, up, shape, pending); break;
    case Partial::Added::more: break;
  }
  return true;
}

void TreeNode::tell(std::uint32_t member, std::uint8_t tag, std::uint64_t step, Up up,
                    Membership::Shape shape, std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.shape = shape.shape;
  header.fan = static_cast<std::uint8_t>(shape.fan);
  header.number = step;
  header.tag = tag;
  header.word = std::bit_cast<std::uint64_t>(up);
  multicast_.send_direct(*group_, member, header, bytes);
}

void TreeNode::send_up(std::uint64_t step, Up up, Membership::Shape shape,
                       std::span<const std::byte> bytes) {
  tell(members().parent(shape, up.root, self_), kContribution, step, up, shape, bytes);
}

void TreeNode::complete(std::uint64_t step, Up up, Membership::Shape shape, Pending& pending) {
  const std::span<const std::byte> sum = pending.partial.bytes();
  if (up.root != self_) {
    send_up(step, up, shape, sum);
    pending_.erase(step);
    return;
  }
  // Its host has contributed: it is in this operation, or past it.
  const CollOperation* const operation = current_;
  if (operation == nullptr || !operation->covers(step)) return disagree();
  const std::uint64_t index = (step - operation->first) / operation->per_chunk;
  const Label label = operation->label(index, sum.size());
  if (up.all == 0) {
    place_in_buffer(step, label, sum);
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

// --- Who waits for whom ---

bool TreeNode::is_another(std::uint64_t step, Up up, Membership::Shape shape) const noexcept {
  return current_ != nullptr && current_->covers(step) &&
         (!current_->reduces() || up_of(*current_, step) != up || shape_of(*current_) != shape);
}

// The oldest step is what all later ones wait for. What comes down the tree is asked for as well, for who is
// spoken to is connected to, and a parent that has died before anybody was is noticed.
void TreeNode::ask() {
  const ServicePort::Access access(multicast_.port());
  forget_results();
  if (current_ != nullptr && members().in_tree(current_->top, self_) && current_->top != self_)
    tell(members().parent(shape_of(*current_), current_->top, self_), kPresent, current_->first,
         up_of(*current_, current_->first), shape_of(*current_));
  for (const auto& [step, pending] : pending_) {
    if (pending.partial.is_whole()) continue;
    ask_children(step, pending.up, pending.shape, &pending.partial);
    return;
  }
}

// Those whose part is missing.
void TreeNode::ask_children(std::uint64_t step, Up up, Membership::Shape shape,
                            const Partial* has) {
  std::uint32_t index = 0;
  for (const std::uint32_t child : members().children(shape, up.root, self_))
    if (const std::uint32_t part = Partial::child(index++); has == nullptr || !has->has(part))
      tell(child, kQuestion, step, up, shape);
}

// The parent has waited for long for our part of this step. Who has given up has not said it, and says nothing of the
// calls of others.
void TreeNode::on_question(std::uint64_t step, Up up, Membership::Shape shape) {
  const std::uint32_t parent = members().parent(shape, up.root, self_);
  if (failed())
    return multicast_.give_up(
        *group_, parent, mismatch() ? Multicast::Reason::disagreement : Multicast::Reason::loss);
  const auto found = pending_.find(step);
  if (found != pending_.end()) {
    if (up != found->second.up || shape != found->second.shape) return disagree();
    ask_children(step, up, shape, &found->second.partial);
  } else if (step < own_next_) {
    tell(parent, kAnswer, step, up, shape);
  } else if (is_another(step, up, shape)) {
    disagree();
  } else {
    ask_children(step, up, shape, nullptr);
  }
}

// The child has said all that it has to say of this step, before it answered.
void TreeNode::on_answer(std::uint64_t step, Up up, Membership::Shape shape, std::uint32_t member) {
  const auto found = pending_.find(step);
  if (found == pending_.end() || up != found->second.up || shape != found->second.shape) return;
  const auto children = members().children(shape, up.root, self_);
  const auto* const child = std::find(children.begin(), children.end(), member);
  const auto part = Partial::child(static_cast<std::uint32_t>(child - children.begin()));
  if (child != children.end() && !found->second.partial.has(part)) disagree();
}

}  // namespace lfc
