// Rescue: the part of Multicast that ends deadlocks of trees. It lists and times the sends that wait for a credit.
// Those that have waited too long it sends without one, on the escape paths of Recovery
// (services/multicast/protocol/recovery.hpp).
//
//   Rescue rescue(departures, port, id, options);    // Options::recovery is not Suspicion::never
//   rescue.wait(send);                               // it has been posted: no credit, or no room
//   rescue.went(send);                               // it has gone, or never will
//   if (!rescue.release(header)) port.release(from); // the buffer of a packet is free here
//   bool again = rescue.run();                       // in each pass; true: sends still wait
//
// It gets no packets of trees that cannot deadlock (Departures::recovers()). README.md proves that recoveries end and
// keep the order. Held by tests/unit/services/multicast/recovery_test.cpp and lfc_sim --multicast --recovery.
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

  // --- Arrivals ---

  // Notes that a packet has come on an escape path. False: the peer breaks the protocol, because the tree needs no
  // recovery, the path's owner is not on the way from the root, or the path is held already.
  // `group`: null if this process has not joined it.
  bool enter(const MulticastGroup* group, PeerId from, const MulticastHeader& header,
             Recovery::EscapePath escape);
  // As Recovery::clear().
  bool clear(Recovery::EscapePath escape, PeerId child) { return recovery_.clear(escape, child); }
  // Notes that the credit of a packet is free. True: it is an escape buffer now, and must not be returned.
  bool release(const MulticastHeader& header) { return recovery_.release(tree_of(header)); }
  // Sends packets of the tree on the paths whose escape buffers it occupies here: to each child the oldest one.
  void extend(const MulticastHeader& header) { extend(tree_of(header)); }
  void lose(PeerId peer) { recovery_.lose(peer); }
  // Whether no path is held here, and no recovery under way.
  bool idle() const noexcept { return recovery_.idle(); }

  // --- Sends that wait ---

  void wait(MulticastSend& send);
  void went(MulticastSend& send) noexcept;
  // Adds a packet to its tree's backlog if its credit was free before it had been sent on (it came before its
  // group, or the host forwards it). Later packets of the tree that wait behind it are stored and join as well, because
  // escape paths are only for packets that occupy buffers.
  void join_backlog(MulticastPacket& packet);
  void leave_backlog(MulticastPacket& packet) noexcept;
  // Starts a recovery if one is due: one at a time, in turn over the peers for which sends wait.
  void start();
  // Sends on all paths here, and starts a recovery if due. True: sends wait, so it must run again in the next pass.
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
  void escape_clear(Recovery::EscapePath escape, PeerId parent) override;
  std::uint64_t now() const;  // in units of the timer's clock
  void set_timer(Queue& queue) noexcept;
  bool send_on(Recovery::EscapePath escape, PeerId peer, MulticastSend& send);
  void extend(const TreeId& tree);

  Departures& departures_;
  ServicePort& port_;
  const ServiceId id_;
  const MulticastOptions& options_;
  Recovery recovery_;
  std::map<PeerId, Queue> queues_;
  PeerId last_ = 0;  // of the last recovery; the search for the next begins behind it
  // Packets, by tree, that wait to be sent though their receive buffers are free.
  std::unordered_map<TreeId, std::size_t, TreeIdHash> backlog_;
  std::uint32_t jitter_;
};

}  // namespace lfc
