#include "services/collective/communicator.hpp"

#include <sched.h>

#include <algorithm>

#include "services/collective/algorithms/exchange.hpp"

namespace lfc {
namespace {

// An operation that the communicator makes and deletes itself.
CollOperation* make_own(const lfc_coll_call& call) {
  auto* const operation = new CollOperation(call);
  operation->done = [](CollOperation* self) { delete self; };
  return operation;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<CommunicatorState> state, const CollOptions& options,
                           Aside* aside)
    : state_(std::move(state)),
      options_(options),
      pace_(options.window, options.packet),
      aside_(aside),
      lock_(options.threads) {
  const Membership& all = state_->members();
  facts_ = {all.nodes(), state_->lanes(), all.first(all.nodes() / 2)};
  for (std::size_t kind = 0; kind < kCollectives.size(); ++kind)
    most_exchanged_[kind] = most_exchanged(all, options.packet, static_cast<lfc_coll_kind>(kind));
}

std::unique_ptr<lfc_coll_neighbours> Communicator::meet(const lfc_coll_topology& topology) const {
  return std::make_unique<lfc_coll_neighbours>(topology, *state_);
}

// --- Issuing ---

void Communicator::append(CollOperation& operation) {
  operation.first = operation.over_to = operation.sent_to = next_step_;
  operation.until = next_step_ += operation.steps;
  *tail_ = &operation;
  tail_ = &operation.next;
  prepare(operation);
}

// Appends a barrier first if the operation could bring a rank more than a window ahead; all ranks do the same.
void Communicator::append_bounded(CollOperation& operation) {
  plan(operation, traits_of(operation), facts_, options_);
  switch (pace_.fence_for(operation, traits_of(operation).synchronises)) {
    case Pace::Fence::none: break;
    case Pace::Fence::itself: operation.fence = true; break;
    case Pace::Fence::before: {
      CollOperation* const barrier = make_own({.kind = LFC_COLL_ALLREDUCE});
      plan(*barrier, traits_of(*barrier), facts_, options_);
      barrier->fence = true;
      barrier->waited_for = operation.waited_for;
      append(*barrier);
    }
  }
  append(operation);
}

// Appends all pieces but the last of an operation that does not synchronise and does not fit into a window. The
// operation itself becomes the last piece.
void Communicator::append_pieces(CollOperation& operation) {
  const std::size_t size = pace_.piece(operation.bytes);
  while (operation.bytes > size) {
    CollOperation* const piece = make_own(operation);
    piece->bytes = size;
    piece->top = operation.top;
    piece->waited_for = operation.waited_for;
    append_bounded(*piece);
    pace_.fill();  // the last piece ends last
    if (operation.in != nullptr) operation.in = static_cast<const std::byte*>(operation.in) + size;
    if (operation.out != nullptr) operation.out = static_cast<std::byte*>(operation.out) + size;
    operation.bytes -= size;
  }
}

void Communicator::submit(CollOperation& operation) {
  while (!lock_.try_lock())
    sched_yield();  // another thread is in, and may have been preempted there
  operation.top = state_->member_of(operation.root);
  if (facts_.nodes == 1) {
    plan(operation, traits_of(operation), facts_, options_);
    append(operation);
  } else {
    if (!traits_of(operation).synchronises) append_pieces(operation);
    append_bounded(operation);
  }
  advance_inside();
}

bool Communicator::try_at_once(const lfc_coll_call& call, unsigned looks) {
  const Collective& collective = collective_of(call.kind);
  const bool apart = collective.traits.apart;
  if (collective.at_once == nullptr || facts_.nodes > 1 || !(apart || state_->has_board()) ||
      call.bytes > Board::kInline || call.mismatch || !lock_.try_lock())
    return false;
  const bool done = queue_ == nullptr &&
                    (apart || state_->board().writable(next_step_, call.bytes)) &&
                    collective.at_once(*state_, call, next_step_, looks);
  if (done && !apart) state_->board().finish(++next_step_);
  lock_.unlock();
  return done;
}

// --- Progress ---

bool Communicator::advance() { return lock_.try_lock() && advance_inside(); }

// Advances the operation. True: it is over at this rank, its status is set.
bool Communicator::step(CollOperation& operation) {
  // A failure is final: otherwise a later operation could succeed at some ranks only.
  if (state_->failure() != LFC_COLL_OK || !begin(operation) ||
      !collective_of(operation.kind).walk(*state_, operation)) {
    operation.status = state_->failure();
    // Memory that the NI still reads must stay. This ends, because the receivers take the packets or are lost.
    if (operation.status == LFC_COLL_OK || operation.aside ||
        operation.unsent.load(std::memory_order_acquire) != 0)
      return false;
    state_->spread_failure();
  } else if (operation.differs.load(std::memory_order_relaxed)) {
    if (operation.aside) return false;
    operation.status = LFC_COLL_MISMATCH;
    if (state_->failure() == LFC_COLL_MISMATCH) state_->spread_failure();
  }
  return true;
}

// Whether the operation may begin, or go on, beside the older ones, of which `before` is the last.
bool Communicator::may_go_on(const CollOperation& operation,
                             const CollOperation* before) const noexcept {
  if (before == nullptr) return true;
  const bool takes_turn =
      traits_of(operation).apart || (facts_.nodes > 1 && traits_of(operation).exchange != 0);
  return !before->fence && !operation.fence && !takes_turn;
}

// Removes an operation that is over. Its steps are published as over when all older ones are.
void Communicator::take_out(CollOperation& operation, CollOperation* before) {
  if (TreeNode* const tree = state_->tree()) tree->end(operation);
  CollOperation*& place = before == nullptr ? queue_ : before->next;
  place = std::exchange(operation.next, nullptr);
  if (place == nullptr) tail_ = &place;
  if (before != nullptr) {
    before->until = operation.until;
  } else if (const std::uint64_t to = place == nullptr ? operation.until : place->over_to;
             to != operation.end()) {
    state_->catch_up(to);
  }
}

// Advances all operations that can go on, and appends those that are over to `ended`. `aside`: the caller is the NI's
// thread, which leaves failures to the host, and all that needs more than memory and the tree.
bool Communicator::walk(bool aside, CollOperation**& ended) {
  bool moved = false;
  CollOperation* before = nullptr;  // the last one of those that go on
  std::uint64_t beside = 0;
  for (CollOperation* each = queue_;
       each != nullptr && beside < limits::kCollBeside && may_go_on(*each, before);) {
    CollOperation& operation = *std::exchange(each, each->next);
    operation.moved = false;
    operation.aside = aside;
    operation.flag.store(nullptr, std::memory_order_relaxed);  // the flag of an earlier wait
    state_->set_oldest(*queue_);
    const bool over = (!aside || traits_of(operation).aside) && step(operation);
    moved = moved || operation.moved || over;
    if (!over) {
      if (!operation.begun) break;  // operations begin in the order of their steps
      before = &operation;
      ++beside;
      continue;
    }
    take_out(operation, before);
    *ended = &operation;
    ended = &operation.next;
  }
  return moved;
}

// Shares the lock with the NI's thread while operations are under way for which no call waits.
void Communicator::share() {
  const bool wanted = queue_ != nullptr && (lock_.is_shared() || !queue_->waited_for);
  if (wanted == lock_.is_shared()) return;
  lock_.share(wanted);
  if (wanted)
    aside_->add(*this);
  else
    aside_->remove(*this);
}

void Communicator::advance_aside() {
  if (!lock_.try_lock_aside()) return;
  CollOperation** ended = &ended_;
  while (*ended != nullptr) ended = &(*ended)->next;
  walk(true, ended);
  lock_.unlock_aside();
}

// Unlocks before it reports that an operation has finished.
bool Communicator::advance_inside() {
  CollOperation* done = std::exchange(ended_, nullptr);
  CollOperation** ended = &done;
  while (*ended != nullptr) ended = &(*ended)->next;
  const bool moved = walk(false, ended) || done != nullptr;
  if (aside_ != nullptr) share();
  lock_.unlock();
  while (done != nullptr) {
    CollOperation* const operation = std::exchange(done, done->next);
    const auto call_back =
        operation
            ->done;  // read first: without `done` the caller may free it once `finished` is set
    operation->finished.store(true, std::memory_order_release);
    if (call_back != nullptr) call_back(operation);
  }
  return moved;
}

// An allreduce ends only when all ranks have called it, so no rank waits for one that has left it. But a broadcast or a
// reduction may follow, and most programs take member 0 as the root.
bool Communicator::forwards(const CollOperation& operation) const noexcept {
  if (facts_.nodes == 1) return false;
  std::uint32_t top = operation.top;
  switch (operation.kind) {
    case LFC_COLL_BCAST:
    case LFC_COLL_REDUCE: break;
    case LFC_COLL_ALLREDUCE: top = 0; break;
    default: return false;
  }
  const std::uint32_t self = state_->self();
  if (self == top || !members().in_tree(top, self)) return false;
  return members().children({operation.shape, operation.fan}, top, self).size() != 0;
}

// Called by the host: maps the board and connects to the root. It may wait for the lock of Processes, so the NI's
// thread cannot do it. Returns false, without effect, while the board is not there yet.
bool Communicator::prepare(CollOperation& operation) {
  if (operation.prepared) return true;
  if (state_->failure() != LFC_COLL_OK) return false;
  if (!traits_of(operation).apart && !state_->open_board()) return false;
  if (state_->tree() != nullptr) state_->know(operation.top);
  return operation.prepared = true;
}

// False: it cannot begin yet. The NI's thread begins only operations that the host has prepared.
bool Communicator::begin(CollOperation& operation) {
  TreeNode* const tree = state_->tree();
  if (!operation.begun) {
    // The board may just have come. Then the thread can begin those behind a fence as well.
    if (!operation.prepared && !operation.aside)
      for (CollOperation* each = &operation; each != nullptr && prepare(*each);) each = each->next;
    if (!operation.prepared) return false;
    if (tree != nullptr) tree->begin(operation);
    operation.begun = true;
  }
  if (tree != nullptr && options_.host_forwarding) tree->serve();
  return true;
}

void Communicator::query() {
  if (!lock_.try_lock()) return;
  if (queue_ != nullptr && queue_->begun && !traits_of(*queue_).apart) state_->query(*queue_);
  lock_.unlock();
}

}  // namespace lfc
