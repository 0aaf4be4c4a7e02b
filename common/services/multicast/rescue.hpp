// Rescue: the part of Multicast that keeps trees which can deadlock from standing still: who waits for a credit, since
// when, and how what has waited too long goes on without one, on the escape buffers of Recovery
// (services/multicast/protocol/recovery.hpp).
//
//   Rescue rescue(departures, port, id, options);    // Options::recovery is not Suspicion::never
//   rescue.wait(send);                               // it has been posted: no credit, or no room
//   rescue.went(send);                               // it has gone, or never will
//   if (!rescue.release(header)) port.release(from); // the buffer of a packet is free here
//   bool again = rescue.run();                       // in each pass: something waits still
//
// Packets of trees that cannot deadlock do not come here (Departures::recovers()). Why recoveries end, and order is
// kept: README.md. Held by tests/unit/services/multicast/recovery_test.cpp and lfc_sim --multicast --recovery.
// Threads: as Multicast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "services/multicast/departures.hpp"
#include "services/multicast/groups.hpp"
#include "services/multicast/protocol/recovery.hpp"

namespace lfc {

class Rescue final : private Recovery::Out {
 public:
  Rescue(Departures& departures, ServicePort& port, ServiceId id, const MulticastOptions& options);

  // --- What comes ---

  // A packet has come on an escape buffer. False when an honest peer would not have sent it there: it belongs to a tree
  // that needs no recovery, the escape buffer's owner is not on the way from the root, or its buffer is not free.
  // `group`: null where this process has not joined it.
  bool enter(const MulticastGroup* group, PeerId from, const MulticastHeader& header,
             Recovery::EscapeBuffer escape);
  // The child says that the escape buffer is free there. False: it had nothing on it.
  bool clear(Recovery::EscapeBuffer escape, PeerId child) { return recovery_.clear(escape, child); }
  // The receive buffer of a packet is free. True: an escape buffer has it now, and no credit may be returned.
  bool release(const MulticastHeader& header) { return recovery_.release(tree_of(header)); }
  // A packet of the tree is here: sends on the escape buffers that the tree holds here whatever they have a way for, to
  // each child the oldest packet of the tree.
  void extend(const MulticastHeader& header) { extend(tree_of(header)); }
  void lose(PeerId peer) { recovery_.lose(peer); }
  // No escape buffer in use here, and no recovery under way.
  bool idle() const noexcept { return recovery_.idle(); }

  // --- What waits ---

  void wait(MulticastSend& send);
  void went(MulticastSend& send) noexcept;
  // A packet whose receive buffer was free before it had been sent on (it came before its group, or is forwarded by the
  // host) is in nobody's window. Packets of its tree that come after it and wait behind it are stored likewise: a
  // escape buffer's way is for packets that occupy buffers only.
  void join_backlog(MulticastPacket& packet);
  void leave_backlog(MulticastPacket& packet) noexcept;
  // Starts a recovery if one is due: one at a time, in turn over the peers that something waits for.
  void start();
  // True: something waits, so that a recovery may be due in the next pass.
  bool run();

 private:
  // Sends towards one peer that wait; in order.
  struct Queue {
    MulticastSend* first = nullptr;
    MulticastSend* last = nullptr;
    std::uint64_t deadline = 0;  // of the timer
  };

  static TreeId tree_of(const MulticastHeader& header) noexcept {
    return {header.group, header.origin, header.shape, header.fan};
  }
  void escape_clear(Recovery::EscapeBuffer escape, PeerId parent) override;
  std::uint64_t now() const;  // by the timer's clock
  void set_timer(Queue& queue) noexcept;
  bool send_on(Recovery::EscapeBuffer escape, PeerId peer, MulticastSend& send);
  void extend(const TreeId& tree);

  Departures& departures_;
  ServicePort& port_;
  const ServiceId id_;
  const MulticastOptions& options_;
  Recovery recovery_;
  std::map<PeerId, Queue> queues_;
  PeerId last_ = 0;  // where the search for what to recover goes on
  // Packets, by tree, that have to be sent yet though their receive buffers are free.
  std::unordered_map<TreeId, std::size_t, TreeIdHash> backlog_;
  std::uint32_t jitter_;
};

}  // namespace lfc
