// Multicast: the NI's service that forwards packets along trees, without the host.
//
// A packet is read from the link's own memory by all that need it: each child that has a credit
// is sent to at once, and the receiver may take it on the spot; then it is never copied. Only when
// a child has no credit, or the receiver is not ready, is it copied, once, into a buffer of the
// NI's, from which everybody is served. Its receive buffer (and so the tree parent's credit) is free
// when all children have been sent to, whether it has been taken or not: a host that does not take delays
// its own delivery only, never its children, other groups or messages (README.md beside). So that this
// needs no more than Options::share for each member, those who use a group bound how far one may be ahead.
//
//   Multicast multicast(ni.services(), {});
//   Multicast::Group* group;
//   multicast.join(group, key, membership, self, peers, receiver);
//   { const ServicePort::Access access(multicast.port()); multicast.send(*group, header, bytes, unsent); }
//   while (unsent.load() != 0) ni.progress();               // then the bytes may be reused
//   multicast.leave(group);
//
// Order: packets of one origin with the same shape arrive in the order sent, exactly once.
// Deadlock: none with monotone trees (README.md beside); the other shapes need Options::recovery,
// which lets a packet that waits too long for a credit go on without one (services/multicast/protocol/recovery.hpp).
// A packet for a group that this process has not joined yet is kept until it does.
// Its parts: header.hpp, options.hpp, receiver.hpp (what users see); groups.hpp (who may send what), packets.hpp
// (buffers), departures.hpp (sending, and what a packet keeps until then), rescue.hpp (recovery).
// Threads: any; everything runs under the NI's lock, and so do Receiver's functions, which must not
// call the host or wait. Source: LFC thesis 4.2, 4.3 and 3.5.
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

  // `id`: whose frames these are; one Multicast for each.
  Multicast(ServicePort& port, const Options& options, ServiceId id = ServiceId::multicast);
  ~Multicast() override;

  // Payload bytes of the largest packet.
  std::size_t max_packet() const noexcept { return max_packet(port_.max_payload()); }
  // Likewise where no member takes more than `message` bytes.
  std::size_t max_packet(std::size_t message) const noexcept {
    const std::size_t head = sizeof(MulticastHeader) +
                             (departures_.rescue() == nullptr ? 0 : sizeof(Recovery::EscapeBuffer));
    return message - std::min(message, head);
  }

  // `peers[i]` is member i, kNoPeer for those that never talk to this one; self among them.
  // Sets `group`, then delivers what has come before. The receiver lives until leave().
  void join(Group*& group, std::uint64_t key, Membership membership, std::uint32_t self,
            std::vector<PeerId> peers, Receiver& receiver);
  // Packets still to be sent are sent; packets kept must have been released.
  void leave(Group* group) noexcept;

  // The functions below want ServicePort::Access held.

  // Sends to this member's children in its own tree. The bytes are the caller's again when
  // `unsent`, which counts children that wait, has gone back to where it was.
  void send(Group& group, MulticastHeader header, std::span<const std::byte> bytes,
            std::atomic<std::uint32_t>& unsent);
  // Sends to one member; the bytes are copied if they have to wait.
  void send_direct(Group& group, std::uint32_t member, MulticastHeader header,
                   std::span<const std::byte> bytes);
  // A peer that is kNoPeer or broken is a member lost.
  void set_peer(Group& group, std::uint32_t member, PeerId peer);
  // This member can do no more for the group: all members are told, this one, too.
  void give_up(Group& group, Reason reason = Reason::loss);
  // Likewise, and this one member has perhaps not heard of it.
  void give_up(Group& group, std::uint32_t member, Reason reason);
  PeerId peer(const Group& group, std::uint32_t member) const noexcept;
  void release(Packet& packet);
  // With Options::forward_in_host: forwards and delivers what has arrived for the group.
  void serve(Group& group);
  void wake(MulticastWorker& worker);
  void forget(MulticastWorker& worker) noexcept;  // undoes wake()
  const Stats& stats() const noexcept { return stats_; }
  // Packets in buffers now; 0 when nothing is under way.
  std::size_t packets() const noexcept { return packets_.size(); }
  // No escape buffer in use here, and no recovery under way.
  bool recovered() const noexcept;
  ServicePort& port() noexcept { return port_; }

 private:
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  void on_lost(PeerId peer) override;
  bool work() override;

  // A packet, also one that has come on an escape buffer.
  Verdict on_packet(PeerId peer, const Recovery::EscapeBuffer* escape,
                    std::span<const std::byte> payload);
  Verdict accept(Group& group, PeerId from, const MulticastHeader& header,
                 std::span<const std::byte> bytes, Packet* packet);
  template <class OwnCopy>
  void forward(Group& group, const MulticastHeader& header, std::span<const std::byte> bytes,
               OwnCopy& own_copy);
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
