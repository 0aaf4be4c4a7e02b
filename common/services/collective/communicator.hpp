// Communicator: one communicator as this rank sees it: its operations, side by side, each a walk over steps that all
// ranks number alike (collective.hpp).
//
//   Communicator communicator(std::move(state), options);
//   if (communicator.try_at_once(call, 100)) return;
//   CollOperation operation(call);
//   communicator.submit(operation);
//   while (!operation.finished) communicator.advance();
//
// Whoever reads a lane compares labels (label.hpp). Where all agree on the number of steps only the
// operation ends with LFC_COLL_MISMATCH, at those who see it; else all operations of the communicator do,
// everywhere, since the steps of later ones are numbered differently; among nodes always, since leads are.
// README.md has the way of an operation and the proof that nobody waits for ever.
// Threads: any, one at a time gets in; others find it busy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "look/published.hpp"
#include "services/collective/aside.hpp"
#include "services/collective/collective.hpp"
#include "services/collective/communicator_state.hpp"
#include "services/collective/neighbourhood.hpp"
#include "services/collective/protocol/communicator_lock.hpp"
#include "services/collective/protocol/plan.hpp"

namespace lfc {

template <>
const look::Schema Insight<class Communicator>::kSchema;  // shown.cpp

class Communicator final : private Aside::Entry {
 public:
  // `aside`: null where the NI has no thread.
  Communicator(std::unique_ptr<CommunicatorState> state, const CollOptions& options,
               Aside* aside = nullptr);
  // All operations have finished.
  ~Communicator() override = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const Membership& members() const noexcept { return state_->members(); }
  // The ranks of this node, by lane, as members.
  const std::vector<std::uint32_t>& local() const noexcept { return state_->local(); }
  // The NI's part may be needed longer: until it is drained(), then leave() it.
  std::unique_ptr<TreeNode> take_tree() noexcept { return state_->take_tree(); }

  // The neighbours of this rank, for their calls.
  std::unique_ptr<lfc_coll_neighbours> meet(const lfc_coll_topology& topology) const;
  // Whether blocks of so many bytes are exchanged in one packet between two nodes (exchange.hpp).
  bool exchanges(lfc_coll_kind kind, std::size_t bytes) const noexcept {
    return bytes <= most_exchanged_[kind];
  }
  // Does a small operation among the ranks of one node if nothing is in its way and the others are
  // there within so many looks. False: nothing has been done that submit() would not do again.
  bool try_at_once(const lfc_coll_call& call, unsigned looks);
  // Appends the operation and goes as far as it can without waiting.
  void submit(CollOperation& operation);
  // True: something has moved.
  bool advance();
  // What the NI's thread does while the host computes, with the NI's lock held. What ends does so for the host in its
  // next advance().
  void advance_aside() override;
  bool idle() const noexcept { return queue_ == nullptr; }

  // Ends all operations with LFC_COLL_LOST: a rank of this node is dead.
  void set_lost() noexcept { state_->end(Board::End::lost); }
  // Members' calls were not the same, and it has no use to go on.
  bool disagreed() const noexcept { return state_->failure() == LFC_COLL_MISMATCH; }
  // A member on another node whom this rank has lost; the number of members: none.
  std::uint32_t lost_member() const {
    return state_->tree() == nullptr ? members().size() : state_->tree()->lost_member();
  }
  // It has waited for long: asks whether others wait in another call.
  void ask();

 private:
  template <class>
  friend struct Insight;  // lfc-look
  void share();
  bool walk(bool aside, CollOperation**& ended);
  bool advance_inside();
  bool begin(CollOperation& operation);
  bool step(CollOperation& operation);
  void append(CollOperation& operation);
  void append_bounded(CollOperation& operation);
  void append_pieces(CollOperation& operation);
  bool may_go_on(const CollOperation& operation, const CollOperation* before) const noexcept;
  void take_out(CollOperation& operation, CollOperation* before);

  const std::unique_ptr<CommunicatorState> state_;
  const CollOptions options_;
  CommonFacts facts_;
  Pace pace_;
  std::array<std::size_t, LFC_COLL_KINDS> most_exchanged_{};
  std::uint64_t next_step_ = 0;
  CollOperation* queue_ = nullptr;  // those that are not over, in the order of their steps
  CollOperation** tail_ = &queue_;
  CollOperation* ended_ = nullptr;  // by the NI's thread
  Aside* const aside_;
  CommunicatorLock lock_;
  const look::Published shown_{Insight<Communicator>::kSchema, this};
};

}  // namespace lfc
