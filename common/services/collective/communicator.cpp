#include "services/collective/communicator.hpp"

#include <sched.h>

#include <algorithm>

#include "services/collective/exchange.hpp"

namespace lfc {
namespace {

// An operation that nobody but the communicator knows of.
CollOperation* make_own(const lfc_coll_call& call) {
  auto* const operation = new CollOperation(call);
  operation->done = [](CollOperation* self) { delete self; };
  return operation;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Site> site, const CollOptions& options)
    : site_(std::move(site)), options_(options), pace_(options.window, options.packet) {
  const Membership& all = site_->members();
  facts_ = {all.nodes(), site_->lanes(), all.first(all.nodes() / 2)};
  for (const lfc_coll_kind kind : {LFC_COLL_ALLGATHER, LFC_COLL_ALLTOALL, LFC_COLL_REDUCE_SCATTER})
    most_exchanged_[kind] = most_exchanged(all, options.packet, kind);
}

std::unique_ptr<lfc_coll_neighbours> Communicator::meet(const lfc_coll_topology& topology) const {
  return std::make_unique<lfc_coll_neighbours>(topology, *site_);
}

// --- Issuing ---

void Communicator::append(CollOperation& operation) {
  operation.first = next_step_;
  next_step_ += operation.steps;
  *tail_ = &operation;
  tail_ = &operation.next;
}

// Everybody does a barrier before what could bring somebody more than a window ahead.
void Communicator::append_bounded(CollOperation& operation) {
  plan(operation, facts_, options_);
  if (pace_.needs_barrier(operation, collective_of(operation.kind).synchronises)) {
    CollOperation* const barrier = make_own({.kind = LFC_COLL_ALLREDUCE});
    plan(*barrier, facts_, options_);
    append(*barrier);
  }
  append(operation);
}

// All but the last piece of an operation that does not synchronise and does not fit into a window; the last
// one is left of it.
void Communicator::append_pieces(CollOperation& operation) {
  const std::size_t size = pace_.piece(operation.bytes);
  while (operation.bytes > size) {
    CollOperation* const piece = make_own(operation);
    piece->bytes = size;
    piece->top = operation.top;
    append_bounded(*piece);
    if (operation.in != nullptr) operation.in = static_cast<const std::byte*>(operation.in) + size;
    if (operation.out != nullptr) operation.out = static_cast<std::byte*>(operation.out) + size;
    operation.bytes -= size;
  }
}

void Communicator::submit(CollOperation& operation) {
  while (!enter()) sched_yield();  // another thread is in, and may have been preempted there
  operation.top = site_->member_of(operation.root);
  if (facts_.nodes == 1) {
    plan(operation, facts_, options_);
    append(operation);
  } else {
    if (!collective_of(operation.kind).synchronises) append_pieces(operation);
    append_bounded(operation);
  }
  advance_inside();
}

bool Communicator::try_at_once(const lfc_coll_call& call, unsigned looks) {
  const Collective& collective = collective_of(call.kind);
  const bool apart = collective.apart;
  if (collective.at_once == nullptr || facts_.nodes > 1 || !(apart || site_->has_board()) ||
      call.bytes > Board::kInline || call.mismatch || !enter())
    return false;
  const bool done = queue_ == nullptr &&
                    (apart || site_->board().writable(next_step_, call.bytes)) &&
                    collective.at_once(*site_, call, next_step_, looks);
  if (done && !apart) site_->board().finish(++next_step_);
  exit();
  return done;
}

// --- Progress ---

bool Communicator::advance() { return enter() && advance_inside(); }

// As far as it goes. True: it is over here, its status is set.
bool Communicator::step(CollOperation& operation) {
  // Once it has failed it stays so: or a later operation could end well at some ranks only.
  if (site_->failure() != LFC_COLL_OK || !begin(operation) ||
      !collective_of(operation.kind).walk(*site_, operation)) {
    operation.status = site_->failure();
    // What the NI still reads must stay: those whom it is for take it, or are lost.
    if (operation.status == LFC_COLL_OK || operation.unsent.load(std::memory_order_acquire) != 0)
      return false;
    site_->spread_failure();
  } else if (operation.differs.load(std::memory_order_relaxed)) {
    operation.status = LFC_COLL_MISMATCH;
    if (site_->failure() == LFC_COLL_MISMATCH) site_->spread_failure();
  }
  return true;
}

// Leaves before it tells anybody that an operation has finished.
bool Communicator::advance_inside() {
  bool moved = false;
  CollOperation* done = nullptr;
  CollOperation** done_tail = &done;
  while (queue_ != nullptr) {
    CollOperation& operation = *queue_;
    operation.moved = false;
    operation.flag.store(
        nullptr, std::memory_order_relaxed);  // what it waited for before says nothing about now
    const bool over = step(operation);
    moved = moved || operation.moved || over;
    if (!over) break;
    if (TreeNode* const tree = site_->tree()) tree->end(operation);
    queue_ = operation.next;
    if (queue_ == nullptr) tail_ = &queue_;
    operation.next = nullptr;
    if (operation.done == nullptr) {
      operation.finished.store(true, std::memory_order_release);
    } else {
      *done_tail = &operation;
      done_tail = &operation.next;
    }
  }
  exit();
  while (done != nullptr) {
    CollOperation* const operation = std::exchange(done, done->next);
    operation->finished.store(true, std::memory_order_release);
    operation->done(operation);
  }
  return moved;
}

// False: it cannot begin yet.
bool Communicator::begin(CollOperation& operation) {
  TreeNode* const tree = site_->tree();
  if (!operation.begun) {
    if (!collective_of(operation.kind).apart && !site_->open_board()) return false;
    if (tree != nullptr) {
      site_->know(operation.top);
      tree->begin(operation);
    }
    operation.begun = true;
  }
  if (tree != nullptr && options_.host_forwarding) tree->serve();
  return true;
}

void Communicator::ask() {
  if (!enter()) return;
  if (queue_ != nullptr && queue_->begun && !collective_of(queue_->kind).apart) site_->ask(*queue_);
  exit();
}

}  // namespace lfc
