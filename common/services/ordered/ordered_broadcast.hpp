// OrderedBroadcast: a broadcast by all members, whose messages all members take in one order. As in Panda's GSB, a
// sender gets a number from one NI, by fetch-and-add, and multicasts under it. Receivers hold back packets that come
// before their turn.
//
//   OrderedBroadcast all(multicast, {});
//   all.join(key, names, self, peers);                     // no message before all have joined
//   all.start(bytes);
//   while (all.busy() && all.fault() == Fault::none) ni.progress();
//   all.deliver([](std::uint32_t member, std::uint64_t number, std::span<const std::byte> bytes) {});
//
// The NI of member `sequencer` grants the numbers, and the sender's NI sends when they come; neither needs its host.
// Guarantees: all members, senders included, take the same messages exactly once in the same order, which keeps the
// order of each sender. Memory is bounded: window * packet bytes here. A member that does not take its messages holds
// up all others when they are a window ahead of it.
// A lost member ends it: fault() returns the reason. Messages that the order allows are still delivered, and no others.
// Members may then have come to different places in the order, but not to different orders.
// Deadlock: trees are monotone, and a packet is put into its place when it comes. So no packet waits here for another
// one that its own credit could hold up.
// Threads: start, busy, deliver and leave by one thread at a time. Source: LFC thesis 6.4, 6.6.5.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "engine/host_call.hpp"
#include "look/published.hpp"
#include "services/multicast/multicast.hpp"
#include "services/ordered/protocol/fault.hpp"
#include "services/ordered/protocol/hold_back.hpp"
#include "services/ordered/protocol/outgoing.hpp"
#include "services/ordered/protocol/sequencer.hpp"

namespace lfc {

template <>
const look::Schema Insight<class OrderedBroadcast>::kSchema;  // shown.cpp

class OrderedBroadcast final : private Multicast::Receiver {
 public:
  struct Options {
    std::uint32_t window =
        limits::kOrderedWindow;  // packets under way or waiting for their turn, at most; 4 or more
    std::size_t packet = limits::kOrderedPacket;  // bytes
    std::uint32_t sequencer = 0;                  // member
    std::uint32_t fan = 2;                        // of the trees
  };
  using Fault = OrderFault;

  // All members must use the same options.
  OrderedBroadcast(Multicast& multicast, const Options& options);
  ~OrderedBroadcast() override;

  // Sets the call that is requested whenever a message may have become ready, until leave(). Only before join().
  // Without one the user has to call deliver() regularly.
  void set_call(HostCall& call) noexcept { call_ = &call; }
  // Joins the group. `names`: the members, in increasing order; `peers` as in Multicast::join().
  void join(std::uint64_t key, std::vector<ProcessName> names, std::uint32_t self,
            std::vector<PeerId> peers);
  // Leaves the group. Only when all members have taken all messages, or after a fault.
  void leave() noexcept;

  // Returns the bytes of the largest message.
  std::size_t max_message() const noexcept {
    return Sequencer::most(options_.window) * held_.packet();
  }
  // Begins to broadcast at most max_message() bytes, and does not wait. The caller keeps them unchanged until busy() is
  // false. Not while busy(), nor after a fault.
  void start(std::span<const std::byte> bytes);
  bool busy() const noexcept { return outgoing_.busy(); }
  // Abandons a message that has no number yet, after a fault.
  void give_up() noexcept;
  // Returns the first number of the message that was started last, when it is no longer busy().
  std::uint64_t number() const noexcept { return outgoing_.number(); }

  // Hands the next message, if it is here, to handler(member, number, bytes). False: it is not here. The handler must
  // not call this object. Messages that are here are delivered also after a fault.
  template <class Handler>
  bool deliver(Handler&& handler) {
    HoldBack::Message message;
    switch (held_.front(message)) {
      case HoldBack::State::missing: return false;
      case HoldBack::State::wrong: refuse(); return false;
      case HoldBack::State::ready: break;
    }
    handler(message.origin, message.first, message.bytes);
    held_.take(message);
    if (held_.taken() - reported_ >= Sequencer::report_every(options_.window)) report();
    return true;
  }
  // Returns the number below which all messages have been delivered.
  std::uint64_t delivered() const noexcept { return held_.taken(); }
  // Whether a later packet has come before the next one. For tests.
  bool holds_back() const noexcept { return held_.holds_back(); }
  // Reports to the sequencer how far this member is.
  void report();
  // At the sequencer: whether all members have reported that they have taken all numbers that it has granted.
  bool all_taken();
  std::uint64_t handed_out();  // at the sequencer: the number of the next grant
  Fault fault() const noexcept { return fault_.get(); }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  Reception take(const MulticastHeader& header, std::span<const std::byte> bytes) override;
  void keep(Multicast::Packet& packet) override { multicast_.release(packet); }
  void lost(Multicast::Reason) override { fault_.raise(Fault::lost); }

  bool place(std::uint64_t number, std::uint32_t origin, std::uint64_t following,
             std::span<const std::byte> bytes) noexcept;
  bool is_sequencer() const noexcept { return self_ == options_.sequencer; }
  void send_control(std::uint32_t member, std::uint8_t tag, std::uint64_t number,
                    std::uint64_t word);
  void grant();
  void send(std::uint64_t first);
  void accuse();
  void refuse();

  Multicast& multicast_;
  const Options options_;
  Multicast::Group* group_ = nullptr;
  HostCall* call_ = nullptr;
  std::uint32_t self_ = 0;
  std::uint64_t key_ = 0;
  HoldBack held_;
  std::optional<Sequencer> sequencer_;  // at the sequencer only
  Outgoing outgoing_;
  std::uint64_t reported_ = 0;
  OrderFaultOnce fault_;
  const look::Published shown_{Insight<OrderedBroadcast>::kSchema, this};
};

}  // namespace lfc
