// OrderedBroadcast: every member broadcasts, and all take all messages in one order. Panda's GSB: a
// sender gets a number from one NI, by fetch-and-add, and multicasts under it; receivers hold back what
// comes before its turn.
//
//   OrderedBroadcast all(multicast, {});
//   all.join(key, names, self, peers);                     // no message before all have joined
//   all.start(bytes);
//   while (all.busy() && all.fault() == Fault::none) ni.progress();
//   all.deliver([](std::uint32_t member, std::uint64_t number, std::span<const std::byte> bytes) {});
//
// The numbers come from the NI of member `sequencer`; its host may be doing what it likes. When a
// number comes, the NI sends, whatever its own host is doing.
// Guarantees: all members take the same messages in the same order, which is each sender's own
// order, too; each exactly once, its sender included. Memory is bounded: window * packet bytes here. A member
// that does not take its messages holds up all others when they are a window ahead of it.
// A lost member ends it: `fault` says so; what its order allows is delivered before, then nothing more.
// Members may have come to different places in the order by then, but not to different orders.
// Deadlock: trees are monotone, and a packet is put into its place when it comes, so none ever waits
// here for another one that its own receive buffer could hold up.
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
        limits::kOrderedWindow;  // packets that may be under way or wait for their turn; 4 or more
    std::size_t packet = limits::kOrderedPacket;  // bytes
    std::uint32_t sequencer = 0;                  // member
    std::uint32_t fan = 2;                        // of the trees
  };
  using Fault = OrderFault;

  // Options are the same at all members.
  OrderedBroadcast(Multicast& multicast, const Options& options);
  ~OrderedBroadcast() override;

  // `call` is asked for whenever a message may have become ready, until leave(). Before join(); without it who wants
  // messages calls deliver() now and then.
  void set_call(HostCall& call) noexcept { call_ = &call; }
  // Members in increasing order of their names; `peers` as in Multicast::join().
  void join(std::uint64_t key, std::vector<ProcessName> names, std::uint32_t self,
            std::vector<PeerId> peers);
  // When all that has been sent has been taken by all, or after a fault.
  void leave() noexcept;

  // Bytes of the largest message.
  std::size_t max_message() const noexcept {
    return Sequencer::most(options_.window) * held_.packet();
  }
  // Begins to broadcast at most max_message() bytes. They stay the caller's, unchanged, until busy() is
  // false. Not while busy(), nor after a fault.
  void start(std::span<const std::byte> bytes);
  bool busy() const noexcept { return outgoing_.busy(); }
  // After a fault: what has no number yet never gets one.
  void give_up() noexcept;
  // The first number of what was started last; after that.
  std::uint64_t number() const noexcept { return outgoing_.number(); }

  // Hands the message whose turn it is, if it is here, to handler(member, number, bytes). False: it
  // is not. The handler must not call this object. After a fault what is here is still delivered.
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
  // Messages with numbers below it have been delivered.
  std::uint64_t delivered() const noexcept { return held_.taken(); }
  // Whether the packet whose turn it is has not come while a later one has. For tests.
  bool holds_back() const noexcept { return held_.holds_back(); }
  // Tells the sequencer now how far this member is.
  void report();
  // At the sequencer: all numbers handed out have been taken by all, as far as it has been told.
  bool all_taken();
  std::uint64_t handed_out();  // likewise
  Fault fault() const noexcept { return fault_.get(); }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  Answer take(const MulticastHeader& header, std::span<const std::byte> bytes) override;
  void keep(Multicast::Packet& packet) override { multicast_.release(packet); }
  void lost(Multicast::Reason) override { fault_.raise(Fault::lost); }

  bool place(std::uint64_t number, std::uint32_t origin, std::uint64_t following,
             std::span<const std::byte> bytes) noexcept;
  bool is_sequencer() const noexcept { return self_ == options_.sequencer; }
  void tell(std::uint32_t member, std::uint8_t tag, std::uint64_t number, std::uint64_t word);
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
  std::optional<Sequencer> sequencer_;  // the sequencer's
  Outgoing outgoing_;
  std::uint64_t reported_ = 0;
  OrderFaultOnce fault_;
  const look::Published shown_{Insight<OrderedBroadcast>::kSchema, this};
};

}  // namespace lfc
