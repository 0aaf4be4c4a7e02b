// Origin: the half of a window's protocol that puts, gets, accumulates and fetches. Per target it keeps a queue in the
// order of the calls: what cannot go yet (no lock, no post, no credit) waits there, and no call blocks.
//
//   const Issued issued = origin.issue(call);             // decides the way; frames are sent here
//   if (issued.way == Way::stores) ...                    // is the caller's to do, likewise Way::link
//   while (!origin.locally_complete(target)) ...          // frames arrive meanwhile: on_ack(), on_result(), ...
//
// Put and accumulate fragments are counted here and at the target; what must not overtake them names the count. State:
// O(1) per target, and a WindowOp for each operation that waits.
// Threads: the caller serialises, but for what is Published.
// Source: MPI-3.1 chapter 11. Tests: tests/unit/services/windows/protocol_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "look/records.hpp"
#include "services/windows/protocol/exposed_memory.hpp"
#include "services/windows/protocol/origin_peers.hpp"
#include "services/windows/protocol/pending_operations.hpp"
#include "wire/verdict.hpp"

namespace lfc::rma {

// What has gone wrong.
struct Trouble {
  Published<bool> lost{false};                      // a member
  Published<WindowStatus> error{WindowStatus::ok};  // told by a target, not yet by us

  WindowStatus take_error() noexcept {
    const WindowStatus told = error;
    error = WindowStatus::ok;
    return told;
  }
  explicit operator bool() const noexcept { return lost || error != WindowStatus::ok; }
};

struct Issued {
  WindowStatus status;
  Way way;  // stores, link: the caller has to do it now, without the lock; else it needs no more of him
};

class Origin : public OriginPeers {
 public:
  Origin(std::uint32_t ranks, const ExposedMemory& memory, Operations& operations,
         Carrier& carrier);

  // --- Operations ---

  // Whether all of it is the target's memory, as far as is known here: what others have attached they know. Without the
  // lock.
  WindowStatus check(const WindowCall& call) const noexcept;
  // The call has been checked; `bytes` is not 0.
  Issued issue(const WindowCall& call);
  // The same for the usual operation, in a fraction of the time. False: it is another one, or cannot go now, and
  // nothing was done.
  bool issue_plain(const PlainCall& call);
  // The first of the operations that wait, if it is the host's to do and may be done now; it is taken off the queue, or
  // stays its first until host_operation_done().
  WindowOp* begin_host_operation(OriginPeer& peer);
  void host_operation_done(WindowOp& op, WindowStatus status);
  // Whether one has become the host's since that was last asked.
  bool take_host_work() noexcept { return std::exchange(host_work_, false); }
  void native_done(Rank target, WindowStatus status) noexcept;
  // Sends what may go.
  void pump(OriginPeer& peer);

  // --- What others tell ---

  Verdict on_granted(OriginPeer& peer);
  void on_post(OriginPeer& peer);
  void on_counted(OriginPeer& peer, const WindowAck& ack, WindowStatus status) noexcept;
  Verdict on_result(WindowOp& op, const WindowAck& ack, WindowStatus status);
  Verdict on_reply(WindowOp& op, const WindowReply& reply, std::span<const std::byte> bytes);
  void carried(Rank to, bool sent);
  void on_lost(Rank rank) noexcept;

  // --- What goes wrong ---

  Trouble& trouble() noexcept { return trouble_; }
  const Trouble& trouble() const noexcept { return trouble_; }

 private:
  template <class>
  friend struct lfc::Insight;  // lfc-look
  bool send_plain(OriginPeer& peer, const PlainCall& call);
  bool send_whole(OriginPeer& peer, const WindowCall& call);
  std::uint64_t cut(const WindowCall& call, Walk& walk);
  void send_fragment(OriginPeer& peer, const WindowCall& call, Walk& walk, std::uint64_t bytes,
                     const WindowOp* op);
  std::span<const std::byte> operands(const WindowCall& call, Walk& walk, std::uint64_t bytes);
  std::uint8_t count_fragment(OriginPeer& peer) noexcept;
  void received(WindowOp& op, std::uint64_t bytes);

  const ExposedMemory& memory_;
  Operations& operations_;
  bool host_work_ = false;
  Trouble trouble_;
};

}  // namespace lfc::rma
