// Origin: the half of a window's protocol that puts, gets, accumulates and fetches. For each target it keeps a queue in
// the order of the calls. Operations that cannot start yet (no lock, no post, no credit) wait there: small puts and
// accumulates as bytes in a bundle, all others as WindowOps. Both have bounds, at which issue() refuses.
//
//   const Issued issued = origin.issue(call);             // decides the way; frames are sent here
//   if (issued.way == Way::stores) ...                    // the caller does it; the same for Way::link
//   while (!origin.peer(target).locally_complete()) ...   // frames arrive meanwhile: on_ack(), on_result(), ...
//
// Put and accumulate fragments are counted here and at the target. Frames that must not overtake them name the count.
// State: O(1) for each target that was used; a bundle and at most kWindowWaiting WindowOps for each with operations
// that wait.
// Threads: the caller serialises, except for Published members. Source: MPI-3.1 chapter 11. Tests:
// tests/unit/services/windows/protocol_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "look/records.hpp"
#include "services/windows/protocol/exposed_memory.hpp"
#include "services/windows/protocol/origin_peers.hpp"
#include "services/windows/protocol/pending_operations.hpp"
#include "wire/verdict.hpp"

namespace lfc::rma {

// Faults of a window.
struct Trouble {
  Published<bool> lost{false};                      // a member
  Published<WindowStatus> error{WindowStatus::ok};  // from a target, not reported to the host yet

  WindowStatus take_error() noexcept {
    const WindowStatus reported = error;
    error = WindowStatus::ok;
    return reported;
  }
  explicit operator bool() const noexcept { return lost || error != WindowStatus::ok; }
};

struct Issued {
  WindowStatus status;
  Way way;  // stores, link: the caller must do it now, without the lock; else it has nothing to do
  bool full = false;  // nothing was done: try again when there is room
};

class Origin : public OriginPeers {
 public:
  Origin(std::uint32_t ranks, const ExposedMemory& memory, Operations& operations,
         Carrier& carrier);

  // --- Operations ---

  // Checks that all of it is the target's memory, as far as this process knows: only the target knows its attached
  // memory. Called without the lock.
  WindowStatus check(const WindowCall& call) const noexcept;
  // Returns whether a checked accumulate or fetch, whose `bytes` is not 0, can take a notification with it: it goes in
  // one frame, in a passive epoch. *Held by* tests/unit/services/windows/notified_test.cpp.
  bool takes_notification(const WindowCall& call);
  // Issues a checked call, whose `bytes` is not 0. Small puts and accumulates behind which the target has not caught up
  // are copied into a bundle.
  Issued issue(const WindowCall& call);
  // As issue(), for the usual operation, in a fraction of the time. False: another kind, or it cannot start now. Then
  // nothing was done.
  bool issue_plain(const PlainCall& call);
  // Returns the first waiting operation if it has to be done by the host's stores and may be done now; else null. It
  // stays the first until host_operation_done().
  WindowOp* begin_host_operation(OriginPeer& peer);
  void host_operation_done(WindowOp& op, WindowStatus status);
  // Returns whether an operation has become the host's since the last call.
  bool take_host_work() noexcept { return std::exchange(host_work_, false); }
  void native_done(Rank target, WindowStatus status) noexcept;
  // Sends the waiting operations that may start.
  void pump(OriginPeer& peer);
  // Sends the bundles that may leave. Every pass of a wait calls it. `copies`: only those that the link copies; a wait
  // does this first, and every pass of the host.
  void send_bundles(bool copies = false);
  // Sends the target's bundle, and returns whether issue() has room for another operation now.
  bool make_room(OriginPeer& peer) { return send_bundle(peer) && !peer.crowded(); }
  // Drops the operations that wait: the member is lost, or the window ends.
  void drop_waiting(OriginPeer& peer) noexcept;

  // --- Frames and events of targets ---

  Verdict on_granted(OriginPeer& peer);
  void on_post(OriginPeer& peer);
  void on_counted(OriginPeer& peer, const WindowAck& ack, WindowStatus status);
  Verdict on_result(WindowOp& op, const WindowAck& ack, WindowStatus status);
  Verdict on_reply(WindowOp& op, const WindowReply& reply, std::span<const std::byte> bytes);
  void carried(Rank to, bool sent);
  void on_lost(Rank rank) noexcept;

  // --- Faults ---

  Trouble& trouble() noexcept { return trouble_; }
  const Trouble& trouble() const noexcept { return trouble_; }

 private:
  template <class>
  friend struct lfc::Insight;  // lfc-look
  enum class Joined : std::uint8_t { yes, full, no };
  template <class Call>
  Joined join_others(OriginPeer& peer, const Call& call, Moment& now);
  Joined join(OriginPeer& peer, const PlainCall& call);
  Joined join(OriginPeer& peer, const WindowCall& call);
  template <class Call>
  bool join_copies(OriginPeer& peer, const Call& call);
  template <class Call>
  bool copy(OriginPeer& peer, const Call& call);
  Joined open_bundle(OriginPeer& peer, std::uint64_t bytes);
  bool send_bundle(OriginPeer& peer);
  bool send_plain(OriginPeer& peer, const PlainCall& call);
  bool send_whole(OriginPeer& peer, const WindowCall& call);
  std::uint64_t cut(const WindowCall& call, Walk& walk);
  void send_fragment(OriginPeer& peer, const WindowCall& call, Walk& walk, std::uint64_t bytes,
                     const WindowOp* op);
  std::uint8_t count_fragment(OriginPeer& peer) noexcept;
  void transfer(OriginPeer& peer, const WindowCall& call);
  void received(WindowOp& op, std::uint64_t bytes);

  const ExposedMemory& memory_;
  Operations& operations_;
  bool host_work_ = false;
  Trouble trouble_;
};

}  // namespace lfc::rma
