// Communicator: the operations of one communicator at this rank. They advance side by side, each as a walk over steps
// that all ranks number alike (collective.hpp).
//
//   Communicator communicator(std::move(state), options);
//   if (communicator.try_at_once(call, 100)) return;
//   CollOperation operation(call);
//   communicator.submit(operation);
//   while (!operation.finished) communicator.advance();
//
// A rank that reads a lane compares labels (label.hpp). If two calls differ but have the same number of steps, only the
// operation ends with LFC_COLL_MISMATCH, at the ranks that detect it. Otherwise all operations of the communicator end
// so at all ranks, because later steps are numbered differently. Among nodes they always do, because the counts of
// bytes that ranks are ahead (Pace) differ. README.md has the path of an operation and the proof that no rank waits for
// ever. Threads: any; one at a time gets in, others find it busy.
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
  // All operations must have finished.
  ~Communicator() override = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const Membership& members() const noexcept { return state_->members(); }
  // The members on this node, by lane.
  const std::vector<std::uint32_t>& local() const noexcept { return state_->local(); }
  // Hands over the NI's part, which may be needed longer: until it is drained(), then leave() it.
  std::unique_ptr<TreeNode> take_tree() noexcept { return state_->take_tree(); }

  // Makes the neighbourhood of this rank in a process topology, for calls among neighbours.
  std::unique_ptr<lfc_coll_neighbours> meet(const lfc_coll_topology& topology) const;
  // Whether blocks of so many bytes go in one packet between two nodes (most_exchanged() in exchange.hpp).
  bool exchanges(lfc_coll_kind kind, std::size_t bytes) const noexcept {
    return bytes <= most_exchanged_[kind];
  }
  // Does a small operation among the ranks of one node if no other is under way and the other ranks are there within so
  // many looks. False: submit() repeats all that was done.
  bool try_at_once(const lfc_coll_call& call, unsigned looks);
  // Appends the operation and goes as far as it can without waiting.
  void submit(CollOperation& operation);
  // Advances all operations as far as possible without waiting. True: something has moved.
  bool advance();
  // Called by the NI's thread while the host computes, with the NI's lock held. An operation that ends here is reported
  // by the host's next advance().
  void advance_aside() override;
  // Whether this node may have to forward while its rank is away after this operation: it is an inner node of the tree,
  // and late parts of a reduction, or the packets of the next broadcast, pass through it.
  bool forwards(const CollOperation& operation) const noexcept;
  bool idle() const noexcept { return queue_ == nullptr; }

  // Ends all operations for this reason, which no rank need have published: a rank of this node has ended, or a rank
  // has revoked the communicator.
  void set_failed(Board::End why) noexcept { state_->end(why); }
  // Whether no operation goes on any more. This rank, or another one of its node, has published the reason.
  bool has_failed() const noexcept { return state_->failure() != LFC_COLL_OK; }
  // Whether members' calls differed so that no further operation can be done.
  bool disagreed() const noexcept { return state_->failure() == LFC_COLL_MISMATCH; }
  // A member on another node that this rank has lost; the number of members: none.
  std::uint32_t lost_member() const {
    return state_->tree() == nullptr ? members().size() : state_->tree()->lost_member();
  }
  // Called after a long wait: queries whether other ranks wait in another call.
  void query();

 private:
  template <class>
  friend struct Insight;  // lfc-look
  void share();
  bool walk(bool aside, CollOperation**& ended);
  bool advance_inside();
  bool prepare(CollOperation& operation);
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
  CollOperation* ended_ = nullptr;  // operations that the NI's thread has ended
  Aside* const aside_;
  CommunicatorLock lock_;
  const look::Published shown_{Insight<Communicator>::kSchema, this};
};

}  // namespace lfc
