// Receiver: delivers frames from the links, as their FrameSink, to the host (through the HostQueue), to remote memory
// or to a service. Only here is the arrival of a frame entered into the flow control.
//
//   FrameSink& sink = receiver;                               // links call on_frame(), on_ring()
//   receiver.host().set_handler(handler);
//   receiver.hand_over(64);                                  // the host: messages that wait for it
//
// Invariants: a frame that breaks the protocol ends its peer and is counted (tests/unit/engine/ni_loss_test.cpp,
// tests/fuzz). on_ring() enters a message exactly as on_frame() does, by the same function.
// Threads: the FrameSink under the NI's lock; hand_over() and serve_host() by the host, without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/host_queue.hpp"
#include "engine/remote_origin.hpp"
#include "engine/sender.hpp"
#include "engine/services.hpp"
#include "link/link.hpp"
#include "link/ring.hpp"
#include "sync/send_lock.hpp"

namespace lfc {

class Receiver final : public FrameSink {
 public:
  Receiver(SendLock& lock, PeerTable& peers, Sender& sender, RemoteOrigin& remote,
           Services& services, Counters& counters, Activity& activity, HostQueue::Mode mode,
           std::size_t limit)
      : lock_(lock),
        peers_(peers),
        sender_(sender),
        remote_(remote),
        services_(services),
        counters_(counters),
        activity_(activity),
        host_(mode, limit) {}

  HostQueue& host() noexcept { return host_; }
  const HostQueue& host() const noexcept { return host_; }
  // Hands waiting messages to the host, at most `limit`.
  int hand_over(int limit) noexcept;
  // Hands over some waiting messages, unless another thread is doing so.
  [[gnu::noinline]] int serve_host() noexcept;

 private:
  template <class>
  friend struct Insight;  // lfc-look
  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override;
  std::byte* place(PeerId peer, Meta meta, const Placing& frame) override;
  void on_placed(PeerId peer, Meta meta, const Placing& frame) override;
  void on_notified(PeerId peer, std::uint32_t value) override;
  int on_ring(PeerId peer, RingReader& ring, int limit) override;
  PeerId on_connect(Link& link, const Address& from) override;
  const Address* published(const Address& claimed) const override {
    return peers_.published(claimed);
  }
  bool on_unanswered(PeerId peer, Link& link, std::string_view why) override;
  void on_broken(PeerId peer, Link& link, std::string_view why) override;
  Batch may_batch(bool stream) noexcept override { return activity_.may_batch(stream); }

  bool arrived(Peer& peer, FrameType type, std::uint32_t credits);
  bool accept(Peer& peer, Meta meta, std::span<const std::byte> payload);
  [[gnu::noinline]] bool accept_other(Peer& peer, Meta meta, std::span<const std::byte> payload);
  [[gnu::noinline]] void refuse(Peer& peer, Meta meta);

  SendLock& lock_;
  PeerTable& peers_;
  Sender& sender_;
  RemoteOrigin& remote_;
  Services& services_;
  Counters& counters_;
  Activity& activity_;
  std::atomic_flag handing_over_ = ATOMIC_FLAG_INIT;
  HostQueue host_;
};

}  // namespace lfc
