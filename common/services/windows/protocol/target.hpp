// Target: the half of a window's protocol that serves other members' frames, in the control program: operations, their
// counting, the ends of access epochs, and the lock for members that do not map it.
//
//   Verdict verdict = target.serve(from, head, rest);     // put, accumulate, get, fetch, compare_swap
//   target.work();                                        // once a pass: acks and grants
//
// Threads: the caller serialises. Every field of a frame may be forged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "look/records.hpp"
#include "services/windows/protocol/carrier.hpp"
#include "services/windows/protocol/exposed_memory.hpp"
#include "wire/verdict.hpp"

namespace lfc::rma {

// A target's state of one origin.
struct TargetPeer {
  std::uint64_t received = 0;  // put and accumulate fragments
  std::uint32_t completes = 0, completes_used = 0;
  bool ack_due = false;
  bool holds = false;  // the lock, which this target took for it
  bool holds_exclusive = false;
  bool holds_past = false;
  bool unlock_pending = false;  // until `unlock_count` fragments have arrived
  std::uint64_t unlock_count = 0;
  WindowStatus ack_status = WindowStatus::ok;
};

class Target {
 public:
  Target(std::uint32_t ranks, ExposedMemory& memory, Carrier& carrier);

  // Makes it at the member's first use. Throws std::bad_alloc.
  TargetPeer& peer(Rank rank) {
    TargetPeer* const known = peers_[rank].get();
    return known != nullptr ? *known : make(rank);
  }

  Verdict serve(Rank from, WindowHead head, std::span<const std::byte> rest);
  // Applies the operations of a bundle one by one. One that is out of range fails alone.
  Verdict serve_bundle(Rank from, const WindowHead& head, std::span<const std::byte> rest);
  Verdict on_lock(Rank from, const WindowHead& head);
  // Ends the member's lock after the count-th of its fragments.
  Verdict end_lock(Rank from, const WindowHead& head);
  // Ends its access epoch in the same way.
  Verdict end_access(Rank from, const WindowHead& head);
  // Acknowledges the fragments of this pass, and grants the locks that are free.
  void work();

  // --- Exposure ---

  // Ends this member's access epoch towards itself.
  void completed(Rank self) { ++peer(self).completes; }
  void expect_complete(Rank from) { ++peer(from).completes_used; }
  bool has_completed(Rank from) const noexcept {
    const TargetPeer* const peer = peers_[from].get();
    return peer == nullptr ||
           static_cast<std::int32_t>(peer->completes - peer->completes_used) >= 0;
  }
  // Adds the number of fragments that a fence epoch must receive. all_in_fence(): all of them have arrived.
  void expect_in_fence(bool odd, std::uint32_t count) noexcept {
    fence_expected_[odd ? 1 : 0] += count;
  }
  bool all_in_fence(bool odd) const noexcept {
    return fence_received_[odd ? 1 : 0] == fence_expected_[odd ? 1 : 0];
  }

 private:
  template <class>
  friend struct lfc::Insight;  // lfc-look
  struct PendingComplete {
    Rank rank;
    std::uint64_t count;
  };
  struct Ticket {
    Rank rank;
    std::uint32_t ticket;
    bool exclusive;
    bool past;  // has no ticket
  };

  TargetPeer& make(Rank rank);
  Verdict serve_accumulate(Rank from, WindowHead head, std::span<const std::byte> rest,
                           std::byte* memory, std::int64_t base);
  void combine(Accumulation what, std::byte* memory, std::int64_t base, const std::byte* operands,
               std::byte* old, std::uint64_t bytes);
  Verdict serve_swap(Rank from, const WindowHead& head, std::span<const std::byte> rest,
                     std::byte* memory, std::int64_t base);
  Verdict count(Rank from, const WindowHead& head, WindowStatus status);
  void send_result(Rank from, const WindowHead& head, WindowStatus status,
                   std::span<const std::byte> bytes);
  void send_counted(Rank from, AckKind kind);
  void unlock_if_due(Rank from);
  void check_completes(Rank from);
  void grant_locks();

  ExposedMemory& memory_;
  Carrier& carrier_;
  std::vector<std::unique_ptr<TargetPeer>> peers_;  // null: this member has sent nothing
  std::vector<Run> runs_;                           // of the frame that is being served
  std::uint32_t fence_received_[2] = {0, 0};
  std::uint32_t fence_expected_[2] = {0, 0};
  std::vector<PendingComplete> pending_completes_;
  std::vector<Ticket> tickets_;
  std::vector<Rank> acks_due_;
};

}  // namespace lfc::rma
