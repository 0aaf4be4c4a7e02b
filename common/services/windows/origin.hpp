// Origin: the half of a window's protocol that puts, gets, accumulates and fetches. Per target it keeps a queue in the order of
// the calls: what cannot go yet (no lock, no post, no credit) waits there, and no call blocks.
//
//   const Issued issued = origin.issue(call);             // decides the way; frames are sent here
//   if (issued.way == Way::stores) ...                    // is the caller's to do, likewise Way::link
//   while (!origin.locally_complete(target)) ...          // frames arrive meanwhile: on_ack(), on_result(), ...
//
// Put and accumulate fragments are counted here and at the target; what must not overtake them names the count. State: O(1) per
// target, and a WindowOp for each operation that waits.
// Threads: the caller serialises, but for what is Published.
// Source: MPI-3.1 chapter 11. Tests: tests/unit/services/windows/protocol_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "look/records.hpp"
#include "services/windows/carrier.hpp"
#include "services/windows/window_memory.hpp"
#include "services/windows/window_op.hpp"
#include "sync/published.hpp"

namespace lfc::rma {

// What an origin knows of one target.
struct OriginPeer {
  enum class Lock : std::uint8_t { none, wanted, requested, held, assumed };
  enum class End : std::uint8_t { none, complete, unlock };

  // What an access by loads and stores needs to know.
  std::byte* mapped = nullptr;       // its memory, in this process
  WindowControl* control = nullptr;  // likewise, of any flavour; null: not mapped
  std::uint64_t size = 0;
  Published<WindowOp*> first{nullptr};  // operations that wait, in order
  Published<Lock> lock{Lock::none};
  bool in_access = false;  // in the group of the access epoch
  Reach reach;
  std::uint32_t displacement_unit = 1;

  WindowOp* last = nullptr;
  bool carrying = false;  // a fragment waits in the carrier for a credit
  bool pumping = false;
  bool exclusive = false;
  bool access_granted = false;   // no post is needed (nocheck)
  End ending = End::none;        // what the last fragment of those that wait shall tell the target
  bool end_told = false;         // complete or unlock
  bool unlocked = false;         // the answer to our unlock
  std::uint64_t sent = 0;        // put and accumulate fragments
  std::uint64_t wanted = 0;      // of which an ack will count
  std::uint64_t counted = 0;     // acknowledged
  std::uint32_t fence_sent = 0;  // in the fence epoch that is open
  std::uint32_t replies = 0;     // results that are due
  std::uint32_t natives = 0;     // operations in the link
  std::uint32_t posts = 0, posts_used = 0;

  // Its lock is mapped: we take it ourselves.
  bool lock_is_mapped() const noexcept { return control != nullptr; }
  // Origins and results of all operations towards the target are the caller's again.
  bool locally_complete() const noexcept {
    return first == nullptr && replies == 0 && natives == 0;
  }
  // And the target's memory has changed.
  bool remotely_complete() const noexcept {
    return locally_complete() && !carrying && counted >= wanted;
  }
  // Whether something that goes in frames has not been dealt with yet.
  bool frames_under_way() const noexcept {
    return replies != 0 || carrying || counted < wanted ||
           (first != nullptr && last->way != Way::link);
  }
};

// What epoch this process has opened, as an origin.
struct AccessState {
  bool fence_open = false;
  bool odd_fence = false;
  bool started = false;  // start, not complete
  bool lock_all = false;
  bool lock_all_assumed = false;
  std::uint32_t locks = 0;  // by lock(), not lock_all()
};

// What has gone wrong.
struct Trouble {
  bool lost = false;                      // a member
  WindowStatus error = WindowStatus::ok;  // told by a target, not yet by us

  WindowStatus take_error() noexcept { return std::exchange(error, WindowStatus::ok); }
  explicit operator bool() const noexcept { return lost || error != WindowStatus::ok; }
};

struct Issued {
  WindowStatus status;
  Way way;  // stores, link: the caller has to do it now, without the lock; else it needs no more of him
};

class Origin {
 public:
  Origin(std::uint32_t ranks, const WindowMemory& memory, Operations& operations, Carrier& carrier);

  OriginPeer& peer(Rank rank) noexcept { return peers_[rank]; }
  const OriginPeer& peer(Rank rank) const noexcept { return peers_[rank]; }
  std::vector<OriginPeer>& peers() noexcept { return peers_; }
  AccessState& access() noexcept { return access_; }
  const AccessState& access() const noexcept { return access_; }
  Carrier& carrier() const noexcept { return carrier_; }
  Rank rank_of(const OriginPeer& peer) const noexcept {
    return static_cast<Rank>(&peer - peers_.data());
  }

  // --- Operations ---

  // Whether all of it is the target's memory, as far as is known here: what others have attached they know. Without the lock.
  WindowStatus check(const WindowCall& call) const noexcept;
  // The call has been checked; `bytes` is not 0.
  Issued issue(const WindowCall& call);
  // The same for the usual operation, in a fraction of the time. False: it is another one, or cannot go now, and nothing
  // was done.
  bool issue_plain(const PlainCall& call);
  Moment moment(OriginPeer& peer);
  // Whether an access by loads and stores is permitted now, which is all that it takes. Without the lock.
  bool open_for_stores(const OriginPeer& peer) const noexcept {
    return peer.lock >= OriginPeer::Lock::held ||
           (peer.lock == OriginPeer::Lock::none && !access_.lock_all && !peer.in_access &&
            access_.fence_open);
  }
  bool passive(const OriginPeer& peer) const noexcept {
    return peer.lock != OriginPeer::Lock::none || access_.lock_all;
  }
  // The first of the operations that wait, if it is the host's to do and may be done now; it is taken off the queue, or stays
  // its first until host_operation_done().
  WindowOp* begin_host_operation(OriginPeer& peer);
  void host_operation_done(WindowOp& op);
  // Whether one has become the host's since that was last asked.
  bool take_host_work() noexcept { return std::exchange(host_work_, false); }
  void native_done(Rank target, WindowStatus status) noexcept;
  // Sends what may go.
  void pump(OriginPeer& peer);

  // --- What others tell ---

  Service::Verdict on_granted(OriginPeer& peer);
  void on_post(OriginPeer& peer);
  void on_counted(OriginPeer& peer, const WindowAck& ack, WindowStatus status) noexcept;
  Service::Verdict on_result(WindowOp& op, const WindowAck& ack, WindowStatus status);
  Service::Verdict on_reply(WindowOp& op, const WindowReply& reply,
                            std::span<const std::byte> bytes);
  void carried(Rank to, bool sent);
  void on_lost(Rank rank) noexcept;

  // --- What calls wait for ---

  bool all_locally_complete() const noexcept;
  bool all_remotely_complete() const noexcept;
  Trouble& trouble() noexcept { return trouble_; }
  const Trouble& trouble() const noexcept { return trouble_; }

 private:
  template <class>
  friend struct lfc::Insight;  // lfc-look
  bool permitted(OriginPeer& peer);
  bool send_plain(OriginPeer& peer, const PlainCall& call);
  bool send_whole(OriginPeer& peer, const WindowCall& call);
  std::uint64_t cut(const WindowCall& call, Walk& walk);
  void send_fragment(OriginPeer& peer, const WindowCall& call, Walk& walk, std::uint64_t bytes,
                     const WindowOp* op);
  std::span<const std::byte> operands(const WindowCall& call, Walk& walk, std::uint64_t bytes);
  std::uint8_t count_fragment(OriginPeer& peer) noexcept;
  void received(WindowOp& op, std::uint64_t bytes);

  const WindowMemory& memory_;
  Operations& operations_;
  Carrier& carrier_;
  std::vector<OriginPeer> peers_;
  AccessState access_;
  bool host_work_ = false;
  Trouble trouble_;
};

}  // namespace lfc::rma
