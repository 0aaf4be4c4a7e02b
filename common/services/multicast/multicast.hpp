// Multicast: the service of the NI that forwards packets along trees, without the host.
//
// Children and receiver get a packet from the link's own memory. It is sent at once to each child that has a
// credit, and the receiver may take it on the spot; then it is never copied. If a child has no credit, or the
// receiver is not ready, the packet is kept once for both: in the link's buffer if the link lends it, else as a
// copy. The tree parent gets its credit back when it has been sent to all children, whether it has been taken or
// not. A host that does not take packets delays only its own delivery, and no children, groups or messages
// (README.md). This needs at most Options::share for each member: users of a group bound how far a member may be
// ahead.
//
//   Multicast multicast(ni.services(), {});
//   Multicast::Group* group;
//   multicast.join(group, key, membership, self, peers, receiver);
//   { const ServicePort::Access access(multicast.port()); multicast.send(*group, header, bytes, unsent); }
//   while (unsent.load() != 0) ni.progress();               // then the bytes may be reused
//   multicast.leave(group);
//
// Order: packets of one origin with the same shape arrive in the order sent, exactly once.
// Deadlock: none with monotone trees (README.md); the other shapes need Options::recovery, which sends a packet that
// waits too long for a credit without one (services/multicast/protocol/recovery.hpp).
// A packet for a group that this process has not joined yet is stored until it joins.
// Parts: header.hpp, options.hpp, receiver.hpp (the interface for users); groups.hpp (permitted senders), packets.hpp
// (buffers), departures.hpp (sending, and the resources of packets that wait), rescue.hpp (recovery).
// Threads: any; all functions run under the NI's lock, as do Receiver's, which must not call the host or wait.
// Source: LFC thesis 4.2, 4.3 and 3.5.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/service_port.hpp"
#include "services/multicast/departures.hpp"
#include "services/multicast/groups.hpp"
#include "services/multicast/protocol/recovery.hpp"

namespace lfc {

class Multicast final : public Service {
 public:
  using Options = MulticastOptions;
  using Stats = MulticastStats;
  using Reason = MulticastReason;
  using Packet = MulticastPacket;
  using Receiver = MulticastReceiver;
  using Group = MulticastGroup;

  // `id`: the service that the frames belong to; each has a Multicast of its own.
  Multicast(ServicePort& port, const Options& options, ServiceId id = ServiceId::multicast);
  ~Multicast() override;

  // Returns the payload bytes of the largest packet.
  std::size_t max_packet() const noexcept { return max_packet(port_.max_payload()); }
  // Returns them for a group in which no member accepts messages of more than `message` bytes.
  std::size_t max_packet(std::size_t message) const noexcept {
    const std::size_t head = sizeof(MulticastHeader) +
                             (departures_.rescue() == nullptr ? 0 : sizeof(Recovery::EscapePath));
    return message - std::min(message, head);
  }

  // Sets `group`, then delivers the packets that came before. `peers[i]` is member i, and kNoPeer for `self` and for
  // members that never exchange frames with this one. The receiver must outlive the call of leave().
  void join(Group*& group, std::uint64_t key, Membership membership, std::uint32_t self,
            std::vector<PeerId> peers, Receiver& receiver);
  // Ends the membership. Packets still to be sent are sent; packets kept must have been released.
  void leave(Group* group) noexcept;

  // The functions below need ServicePort::Access to be held.

  // Sends to the children of this member in its own tree. Does not wait. `unsent` counts packets that wait for
  // children; when it has its old value again, the caller may reuse the bytes.
  void send(Group& group, MulticastHeader header, std::span<const std::byte> bytes,
            std::atomic<std::uint32_t>& unsent);
  // Sends to one member; copies the bytes if they have to wait.
  void send_direct(Group& group, std::uint32_t member, MulticastHeader header,
                   std::span<const std::byte> bytes);
  // Sets the peer of a member. If it is kNoPeer or broken, the member counts as lost.
  void set_peer(Group& group, std::uint32_t member, PeerId peer);
  // Ends the group, because this member can do no more for it: notifies all members, also this one.
  void give_up(Group& group, Reason reason = Reason::loss);
  // Sends that notice to one member, which may not have received it.
  void give_up(Group& group, std::uint32_t member, Reason reason);
  // Returns a packet that the receiver has kept.
  void release(Packet& packet);
  // Forwards and delivers the packets that have arrived for the group; for Options::forward_in_host.
  void serve(Group& group);
  // Has worker.work() called in the next pass of the control program.
  void wake(MulticastWorker& worker);
  void forget(MulticastWorker& worker) noexcept;  // undoes wake()
  const Stats& stats() const noexcept { return stats_; }
  // Returns the number of packets in buffers; 0 when nothing is under way.
  std::size_t packets() const noexcept { return packets_.size(); }
  // Whether no escape buffer is in use here, and no recovery under way.
  bool recovered() const noexcept;
  ServicePort& port() noexcept { return port_; }

 private:
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  void on_left(PeerId peer, std::uint64_t note, Result result) override;
  void on_lost(PeerId peer) override;
  bool work() override;

  // `escape`: null for a packet that came by a credit.
  Verdict on_packet(PeerId peer, const Recovery::EscapePath* escape,
                    std::span<const std::byte> payload);
  // Handles a packet of a group that has been joined, by the steps below it, in this order.
  struct Arrival;
  Verdict accept(Group& group, Arrival& arrival);
  void forward(Group& group, Arrival& arrival);
  bool give_to_receiver(Group& group, Arrival& arrival);
  void extend_escapes(const Arrival& arrival);
  Verdict free_buffer(const Arrival& arrival);
  Verdict set_aside(std::vector<Packet*>& list, const std::shared_ptr<MulticastStore>& store,
                    PeerId from, const MulticastHeader& header, std::span<const std::byte> bytes);
  void replay(Group& group, std::vector<Packet*>& list);

  ServicePort& port_;
  const ServiceId id_;
  const Options options_;
  Stats stats_;
  MulticastPackets packets_{stats_};
  Departures departures_;
  MulticastGroups groups_;
  std::vector<MulticastWorker*> awake_;
  std::vector<MulticastWorker*> working_;  // while they work
};

}  // namespace lfc
