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
// which lets a packet that waits too long for a credit go on without one (services/multicast/recovery.hpp).
// A packet for a group that this process has not joined yet is kept until it does.
// Threads: any; everything runs under the NI's lock, and so do Receiver's functions, which must not
// call the host or wait. Source: LFC thesis 4.2, 4.3 and 3.5.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/limits.hpp"
#include "engine/service_port.hpp"
#include "services/multicast/membership.hpp"
#include "services/multicast/recovery.hpp"

namespace lfc {

// In front of every packet. Little-endian on the wire.
struct MulticastHeader {
  enum class Kind : std::uint8_t {
    tree,    // goes on along the tree with root `origin`
    direct,  // from one member to another
    lost,    // the sender can do no more for the group; `tag` is Multicast::Reason
    last_ = lost,
  };
  std::uint64_t group = 0;   // key
  std::uint64_t number = 0;  // the receiver's: which packet
  std::uint32_t origin = 0;  // member who sent it first; `peer` of a frame is the last hop
  Kind kind = Kind::tree;
  TreeShape shape = TreeShape::monotone;
  std::uint8_t fan = 1;
  std::uint8_t tag = 0;    // the receiver's
  std::uint64_t word = 0;  // the receiver's
};
static_assert(sizeof(MulticastHeader) == 32);

class Multicast final : public Service {
 public:
  // When a packet of a tree that is not monotone is suspected of being in a deadlock.
  enum class Suspicion : std::uint8_t {
    never,      // such trees are the user's own risk
    timer,      // when nothing has gone its way for a while (LFC thesis 5.3.2)
    immediate,  // as soon as it has to wait for a credit (LFC thesis 4.3)
  };
  static constexpr std::array kSuspicionNames{"never", "timer", "immediate"};
  struct Options {
    // Bytes, each packet counted with kPacketCost more, that a member of a group may have sent and another
    // not taken. A group that goes beyond is given up.
    std::size_t share = std::size_t{64} << 20;
    // Likewise of all groups that this process has not joined yet. Who goes beyond is not believed.
    std::size_t early = limits::kMulticastEarly;
    bool forward_in_host = false;  // packets go on only when serve() is called (for comparison)
    Suspicion recovery = Suspicion::never;  // the same in all processes
    // Of the timer: until a queue in which nothing has moved is suspected; up to twice that, at
    // random, so that not all who see the same deadlock recover. In what `clock` counts.
    std::uint64_t delay = 500'000;
    std::uint64_t (*clock)(const void* context) = nullptr;  // null: nanoseconds
    const void* clock_context = nullptr;
  };
  struct Stats {
    std::uint64_t sent = 0;         // packets sent as origin, once for each child
    std::uint64_t forwarded = 0;    // packets sent on, once for each child
    std::uint64_t taken = 0;        // packets that arrived for this process
    std::uint64_t copied = 0;       // of them, into a buffer of the NI's
    std::uint64_t blocked = 0;      // sends that had to wait for a credit or for room
    std::uint64_t early = 0;        // packets that came before their group was joined
    std::uint64_t stored = 0;       // bytes of packets not taken, with kPacketCost each, now
    std::uint64_t most_stored = 0;  // at any time
  };

  // Why a group ends.
  enum class Reason : std::uint8_t { loss, disagreement, last_ = disagreement };

  // A packet in a buffer of the NI's, for a receiver who was not ready.
  struct Packet;
  static constexpr std::size_t kPacketCost = 512;  // of such a packet besides its bytes, at most
  static const MulticastHeader& header(const Packet& packet) noexcept;
  static std::span<const std::byte> bytes(const Packet& packet) noexcept;

  class Receiver {
   public:
    virtual ~Receiver() = default;
    enum class Answer : std::uint8_t { taken, keep, malformed };
    // A packet for this member. `keep`: keep() follows with a copy. `malformed`: whoever has sent it breaks
    // the protocol; of a packet of a tree nobody knows who that is, and the group is given up.
    virtual Answer take(const MulticastHeader& header, std::span<const std::byte> bytes) = 0;
    // The packet stays the receiver's until Multicast::release().
    virtual void keep(Packet& packet) = 0;
    // The group ends: a member is lost, or has given up, and what it should have sent or forwarded will not come.
    virtual void lost(Reason reason) = 0;
    // Called in the next pass of the control program after wake(). True: again in the one after.
    virtual bool work() { return false; }
  };
  struct Group;

  // `id`: whose frames these are; one Multicast for each.
  Multicast(ServicePort& port, const Options& options, ServiceId id = ServiceId::multicast);
  ~Multicast() override;

  // Payload bytes of the largest packet.
  std::size_t max_packet() const noexcept { return max_packet(port_.max_payload()); }
  // Likewise where no member takes more than `message` bytes.
  std::size_t max_packet(std::size_t message) const noexcept {
    const std::size_t head =
        sizeof(MulticastHeader) + (rescue_ == nullptr ? 0 : sizeof(Recovery::Channel));
    return message - std::min(message, head);
  }

  // `peers[i]` is member i, kNoPeer for those that never talk to this one; self among them.
  // Sets `group`, then delivers what has come before. The receiver lives until leave().
  void join(Group*& group, std::uint64_t key, Membership membership, std::uint32_t self,
            std::vector<PeerId> peers, Receiver& receiver);
  // Packets still to be sent are sent; packets kept must have been released.
  void leave(Group* group) noexcept;
  static const Membership& membership(const Group& group) noexcept;

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
  void wake(Receiver& receiver);
  void forget(Receiver& receiver) noexcept;  // undoes wake()
  const Stats& stats() const noexcept { return stats_; }
  // Packets in buffers now; 0 when nothing is under way.
  std::size_t packets() const noexcept { return packets_; }
  // No escape buffer in use here, and no recovery under way.
  bool recovered() const noexcept;
  ServicePort& port() noexcept { return port_; }

 private:
  struct Send;
  struct Store;
  class Rescue;  // services/multicast/rescue.hpp
  using Slices = std::array<Slice, 2>;

  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  void on_lost(PeerId peer) override;
  bool work() override;

  // A packet, also one that has come on a channel.
  Verdict on_packet(PeerId peer, const Recovery::Channel* channel,
                    std::span<const std::byte> payload);
  Verdict accept(Group& group, PeerId from, const MulticastHeader& header,
                 std::span<const std::byte> bytes, Packet* packet);
  template <class OwnCopy>
  void forward(Group& group, const MulticastHeader& header, std::span<const std::byte> bytes,
               OwnCopy& own_copy);
  Verdict set_aside(std::vector<Packet*>& list, const std::shared_ptr<Store>& store, PeerId from,
                    const MulticastHeader& header, std::span<const std::byte> bytes);
  void replay(Group& group, std::vector<Packet*>& list);
  bool try_send(PeerId peer, const MulticastHeader& header, std::span<const std::byte> bytes);
  void post(Packet& packet, PeerId peer);
  static void sent(Message* message, Result result);
  Packet& copy(PeerId from, const MulticastHeader& header, std::span<const std::byte> bytes);
  Packet& make(std::size_t size);
  void store(Packet& packet);
  void unstore(Packet& packet) noexcept;
  void give_back(Packet& packet);
  void settle(Packet& packet);
  void dispose(Packet& packet) noexcept;

  bool recovers(const MulticastHeader& header) const noexcept {
    return rescue_ != nullptr && header.kind == MulticastHeader::Kind::tree &&
           can_deadlock(header.shape);
  }
  void give_back(PeerId from, const MulticastHeader& header);

  ServicePort& port_;
  const ServiceId id_;
  const Options options_;
  Stats stats_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Group>> groups_;
  Group* last_ = nullptr;  // the one that was looked for last
  std::unordered_map<std::uint64_t, std::vector<Packet*>> early_;
  std::shared_ptr<Store> early_store_;
  std::size_t packets_ = 0;
  std::vector<Receiver*> awake_;
  std::vector<std::unique_ptr<Send>> sends_;  // as many as ever waited at once
  Send* free_sends_ = nullptr;
  std::map<std::size_t, std::vector<Packet*>> free_packets_;  // by capacity
  std::size_t spare_ = 0;                                     // bytes of those
  std::vector<bool> linked_;                                  // by peer: it has been sent packets
  std::unique_ptr<Rescue> rescue_;                            // null: Suspicion::never
};

}  // namespace lfc
