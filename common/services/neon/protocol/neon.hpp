// Neon: announce, put, notify and complete for the ranks of one window, as a pure state machine: frames go
// out through a Carrier, frames that come in are handed to on_frame().
//
//   Neon neon(ranks, limits, carrier);
//   neon.target().announce(buffer);                          // at the target
//   neon.origin().put(op, target, tag, 0, data, n, true, false);    // at the origin; op.done follows
//   if (!neon.on_frame(from, header, payload, size)) ...     // the peer breaks the protocol
//   neon.pump();                                             // the carrier has room again
//
// Threads: none of its own; the caller serialises. `done` callbacks run inside these calls and must
// not call back.
// Source: NEON thesis 5.2; mca/libraries/mpix_neon/README.md has the rules that the thesis leaves open.
// Tests: tests/unit/services/neon/neon_test.cpp (each rule), neon_random_test.cpp (delay and reordering).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/lazy_queue.hpp"
#include "base/sparse_table.hpp"
#include "services/neon/protocol/carrier.hpp"
#include "services/neon/protocol/confirmation.hpp"
#include "services/neon/protocol/origin.hpp"
#include "services/neon/protocol/target.hpp"

namespace lfc::neon {

class Neon final : private Outlet {
 public:
  Neon(std::uint32_t ranks, const Limits& limits, Carrier& carrier);

  Origin& origin() noexcept { return origin_; }
  Target& target() noexcept { return target_; }
  Confirmer& confirmer() noexcept { return confirmer_; }
  const Origin& origin() const noexcept { return origin_; }
  const Target& target() const noexcept { return target_; }
  const Statistics& statistics() const noexcept { return statistics_; }
  const Limits& limits() const noexcept { return limits_; }

  // The payload is valid during the call. False: malformed, the peer should be given up (on_lost).
  bool on_frame(Rank from, const Header& header, const std::byte* payload, std::size_t size);
  // Ends the operations to and from the peer. A peer that has no state gets none.
  void on_lost(Rank peer);
  // Sends frames that found no room. True: some still wait for room.
  bool pump();
  bool stalled() const noexcept { return !stalled_.empty(); }
  // Carrier::write or write_window has ended. A notified put that was refused goes in frames instead; any other one the
  // carrier writes again, without its notification.
  void written(Operation& op, Status status, Written what = Written::data) {
    origin_.written(op, status, what);
  }
  // For statistics: there is no notification key for a put, or for a grant; the link refuses to notify with a write.
  void note_keyless() noexcept { ++statistics_.keyless; }
  void note_refused() noexcept { ++statistics_.refused; }
  // A put of this origin to the window at large is in place, and has notified us of a counter.
  void on_window_notified(Rank from, std::uint32_t index);
  // A write of this origin has notified us, under the key of this tag and generation. False: malformed, as on_frame().
  bool on_notified(Rank from, std::uint32_t tag, std::uint32_t key) {
    return is_lost(from) || target_.on_notified(from, tag, key);
  }

 private:
  struct Control {
    Header header;
    Token token;
  };
  struct Peer {
    LazyQueue<Control> controls;  // found no room
    bool stalled = false;
  };

  bool send(Rank to, Header& header, std::span<const std::byte> list,
            std::span<const std::byte> data) override;
  bool has_room(Rank to) override;
  void no_room(Rank to) override;
  void control(Rank to, const Header& header, const Token* token) override;
  bool pump(Rank peer);
  bool dispatch(Rank from, const Header& header, const std::byte* payload, std::size_t size);

  const Limits limits_;
  Carrier& carrier_;
  Statistics statistics_;
  SparseTable<Peer> peers_;
  std::vector<Rank> stalled_;
  Origin origin_;
  Target target_;
  Confirmer confirmer_;
};

}  // namespace lfc::neon
