#include "services/collective/node_reductions.hpp"

#include <algorithm>
#include <bit>

#include "services/collective/collective.hpp"

namespace lfc {

// Whether children's parts have arrived for a step of the operation that lacks this node's own part.
bool NodeReductions::is_ahead_in(const CollOperation& operation) const noexcept {
  const auto first = ahead_.lower_bound(operation.first);
  return first != ahead_.end() && operation.covers(*first);
}

void NodeReductions::begin(const CollOperation& operation) {
  // At other nodes this step belongs to a reduction, here it does not.
  if (!traits_of(operation).combined_in_tree && is_ahead_in(operation)) position_.disagree();
}

void NodeReductions::end(const CollOperation& operation) {
  if (!position_.failed.load(std::memory_order_relaxed) && is_ahead_in(operation))
    position_.disagree();
}

bool NodeReductions::drained() {
  forget_sent();
  return pending_.empty();
}

Multicast::Receiver::Reception NodeReductions::accept(const MulticastHeader& header,
                                                      std::span<const std::byte> bytes) {
  using Reception = Multicast::Receiver::Reception;
  const auto up = std::bit_cast<Up>(header.word);
  const Membership::Shape shape{header.shape, header.fan};
  const Membership& members = position_.members();
  if (!up.sound(members) || header.fan == 0 || header.fan > kMaxFan ||
      !members.in_tree(up.root, position_.self))
    return Reception::malformed;
  switch (static_cast<NodeTag>(header.tag)) {
    case NodeTag::contribution:
      return add(header.number, up, shape, header.origin, bytes) ? Reception::taken
                                                                 : Reception::malformed;
    case NodeTag::question:
      if (members.parent(shape, up.root, position_.self) != header.origin)
        return Reception::malformed;
      on_question(header.number, up, shape);
      return Reception::taken;
    case NodeTag::present: return Reception::taken;
    case NodeTag::reply: on_reply(header.number, up, shape, header.origin); return Reception::taken;
    default: return Reception::malformed;
  }
}

// Results that have been sent to all are no longer needed.
void NodeReductions::forget_sent() {
  std::erase_if(sent_, [&](const auto& result) {
    if (result.second->unsent.load(std::memory_order_acquire) != 0) return false;
    pending_.erase(result.first);
    return true;
  });
}

NodeReductions::Up NodeReductions::up_of(const CollOperation& operation,
                                         std::uint64_t step) noexcept {
  const bool last = step + operation.per_chunk == operation.first + operation.steps;
  return {operation.top, static_cast<Accumulate>(operation.op),
          static_cast<Element>(operation.type),
          static_cast<std::uint8_t>(operation.kind == LFC_COLL_ALLREDUCE ? 1 : 0),
          static_cast<std::uint8_t>(last ? 1 : 0)};
}

void NodeReductions::contribute(CollOperation& operation, std::uint64_t step, Label label,
                                std::span<const std::byte> bytes) {
  const Up up = up_of(operation, step);
  const Membership::Shape shape = shape_of(operation);
  ahead_.erase(step);
  operation.sent_to = step + 1;
  const bool leaf = position_.members().children(shape, up.root, position_.self).size() == 0;
  if (label.wrong)
    position_.disagree();
  else if (leaf && up.root != position_.self && !pending_.contains(step))
    send_up(step, up, shape, bytes);  // without a copy
  else if (!add(step, up, shape, position_.self, bytes))
    position_.disagree();
}

// Adds a member's part of a step. False: it is not a part that is waited for.
bool NodeReductions::add(std::uint64_t step, Up up, Membership::Shape shape, std::uint32_t member,
                         std::span<const std::byte> bytes) {
  forget_sent();
  const auto children = position_.members().children(shape, up.root, position_.self);
  const auto [entry, is_new] = pending_.try_emplace(step, children.size(), up, shape);
  Pending& pending = entry->second;
  const bool late = is_new && member != position_.self &&
                    (position_.has_sent(step) || is_another(step, up, shape));
  if (late || up != pending.up || shape != pending.shape) {
    position_.disagree();
    return true;
  }
  std::uint32_t part = Partial::kOwn;
  if (member != position_.self) {
    const auto* const child = std::find(children.begin(), children.end(), member);
    part = Partial::child(static_cast<std::uint32_t>(child - children.begin()));
    if (is_new) ahead_.insert(step);
  }
  switch (pending.partial.add(part, bytes, number_combiner({up.op, up.type}), size_of(up.type))) {
    case Partial::Added::wrong: return false;
    case Partial::Added::differs: position_.disagree(); break;
    case Partial::Added::whole: complete(step, up, shape, pending); break;
    case Partial::Added::more: break;
  }
  return true;
}

void NodeReductions::send_tag(std::uint32_t member, NodeTag tag, std::uint64_t step, Up up,
                              Membership::Shape shape, std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.shape = shape.shape;
  header.fan = static_cast<std::uint8_t>(shape.fan);
  header.number = step;
  header.tag = static_cast<std::uint8_t>(tag);
  header.word = std::bit_cast<std::uint64_t>(up);
  position_.multicast.send_direct(*position_.group, member, header, bytes);
}

void NodeReductions::send_up(std::uint64_t step, Up up, Membership::Shape shape,
                             std::span<const std::byte> bytes) {
  send_tag(position_.members().parent(shape, up.root, position_.self), NodeTag::contribution, step,
           up, shape, bytes);
}

void NodeReductions::complete(std::uint64_t step, Up up, Membership::Shape shape,
                              Pending& pending) {
  const std::span<const std::byte> sum = pending.partial.bytes();
  if (up.root != position_.self) {
    send_up(step, up, shape, sum);
    pending_.erase(step);
    return;
  }
  // Its host has contributed: it is in this operation, or past it.
  const CollOperation* const operation = position_.find(step);
  if (operation == nullptr) return position_.disagree();
  const std::uint64_t index = (step - operation->first) / operation->per_chunk;
  const Label label = operation->label(index, sum.size());
  if (up.all == 0) {
    results_.place_in_buffer(step, label, sum);
    pending_.erase(step);
    return;
  }
  MulticastHeader header;
  header.shape = shape.shape;
  header.fan = static_cast<std::uint8_t>(shape.fan);
  header.number = step + 1;
  header.tag = static_cast<std::uint8_t>(NodeTag::result);
  header.word = label.word();
  position_.multicast.send(*position_.group, header, sum, pending.unsent);
  results_.place_own(step + 1, label, sum);
  sent_.push_back({step, &pending});
}

// --- Queries after long waits ---

bool NodeReductions::is_another(std::uint64_t step, Up up, Membership::Shape shape) const noexcept {
  const CollOperation* const operation = position_.find(step);
  return operation != nullptr && (!traits_of(*operation).combined_in_tree ||
                                  up_of(*operation, step) != up || shape_of(*operation) != shape);
}

// Queries about the oldest step, because all later ones wait for it. Also sends `present` to the parent: that opens a
// connection, and only over a connection is the parent's death detected.
void NodeReductions::query() {
  forget_sent();
  for (const CollOperation* const operation : position_.begun) {
    const Membership::Shape shape = shape_of(*operation);
    if (operation->top == position_.self ||
        !position_.members().in_tree(operation->top, position_.self))
      continue;
    send_tag(position_.members().parent(shape, operation->top, position_.self), NodeTag::present,
             operation->first, up_of(*operation, operation->first), shape);
  }
  for (const auto& [step, pending] : pending_) {
    if (pending.partial.is_whole()) continue;
    query_children(step, pending.up, pending.shape, &pending.partial);
    return;
  }
}

// Queries the children whose part is missing.
void NodeReductions::query_children(std::uint64_t step, Up up, Membership::Shape shape,
                                    const Partial* has) {
  std::uint32_t index = 0;
  for (const std::uint32_t child : position_.members().children(shape, up.root, position_.self))
    if (const std::uint32_t part = Partial::child(index++); has == nullptr || !has->has(part))
      send_tag(child, NodeTag::question, step, up, shape);
}

// The parent has waited for long for this node's part of the step. A node that has left the group replies with its
// reason and makes no statement about the operation.
void NodeReductions::on_question(std::uint64_t step, Up up, Membership::Shape shape) {
  const std::uint32_t parent = position_.members().parent(shape, up.root, position_.self);
  if (position_.failed.load(std::memory_order_acquire))
    return position_.multicast.give_up(*position_.group, parent,
                                       position_.reason.load(std::memory_order_relaxed));
  const auto found = pending_.find(step);
  if (found != pending_.end()) {
    if (up != found->second.up || shape != found->second.shape) return position_.disagree();
    query_children(step, up, shape, &found->second.partial);
  } else if (position_.has_sent(step)) {
    send_tag(parent, NodeTag::reply, step, up, shape);
  } else if (is_another(step, up, shape)) {
    position_.disagree();
  } else {
    query_children(step, up, shape, nullptr);
  }
}

// The child sent all its parts of this step before the answer, so a part that is still missing was never sent.
void NodeReductions::on_reply(std::uint64_t step, Up up, Membership::Shape shape,
                              std::uint32_t member) {
  const auto found = pending_.find(step);
  if (found == pending_.end() || up != found->second.up || shape != found->second.shape) return;
  const auto children = position_.members().children(shape, up.root, position_.self);
  const auto* const child = std::find(children.begin(), children.end(), member);
  const auto part = Partial::child(static_cast<std::uint32_t>(child - children.begin()));
  if (child != children.end() && !found->second.partial.has(part)) position_.disagree();
}

}  // namespace lfc
