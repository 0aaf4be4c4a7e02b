// ServicePort: all that a service (engine/service.hpp) has of the NI: frames to and from peers, the buffers that it holds,
// and its turn in the control program.
//
//   ServicePort& port = ni.services();
//   port.attach(ServiceId::test, &service);
//   { const ServicePort::Access access(port);                  // the service's host side
//     if (!port.try_send(peer, ServiceId::test, slices, 2)) port.post(peer, message); }
//
// All but attach() are called with Access held: by the service, from inside the callbacks of the control program, or by
// its host side, which takes it.
// Invariants: a `service` frame's buffer is freed exactly once, by the verdict or by release() or ack()
// (tests/unit/engine/service_test.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/sender.hpp"
#include "engine/service.hpp"
#include "sync/send_lock.hpp"

namespace lfc {

class ServicePort final : private PeerTable::Watcher {
 public:
  ServicePort(SendLock& lock, PeerTable& peers, Sender& sender, Counters& counters,
              Activity& activity, Outcomes& outcomes)
      : lock_(lock),
        peers_(peers),
        sender_(sender),
        counters_(counters),
        activity_(activity),
        outcomes_(outcomes) {
    peers.add_watcher(*this);
  }

  class Access {
   public:
    explicit Access(ServicePort& port) noexcept : guard_(port.lock_) {}

   private:
    SendLock::Guard guard_;
  };
  // Access without a scope, for who has it in one function and gives it up in another.
  SendLock::Entry begin_access() noexcept { return lock_.await_entry(); }
  void end_access(SendLock::Entry entry) noexcept { lock_.leave(entry); }
  // SendLock::kRefused: somebody else has it.
  SendLock::Entry try_access() noexcept { return lock_.try_enter(); }

  // Makes `service` the receiver of frames for `id`; null ends that, and frames for it are dropped.
  // The service outlives its time here.
  void attach(ServiceId id, Service* service) noexcept;
  // The peer with this name, if it is known; kNoPeer if not.
  PeerId find(ProcessName name) const noexcept { return peers_.find(name); }
  const Peer& peer(PeerId id) const noexcept { return peers_.at(id); }
  Counters& counters() noexcept { return counters_; }
  // Payload bytes of the largest frame.
  std::size_t max_payload() const noexcept { return peers_.max_payload(); }

  // Ni::try_send() of a message that a frame of type `service` follows, or push().
  bool try_announce(PeerId peer, std::uint8_t tag, const Slice* slices, int count) noexcept {
    return sender_.try_message_with_more(peers_.at(peer), tag, slices, count);
  }
  // Sends a frame of type `service` now, or does nothing and returns false: no credit, no room, or others wait. `more`: of
  // Meta; push() follows, if the next frame does not.
  bool try_send(PeerId peer, ServiceId id, const Slice* slices, int count,
                bool more = false) noexcept;
  void push(PeerId peer) noexcept {
    if (Link* link = peers_.at(peer).link; link != nullptr) link->push();
  }
  // Sends as soon as possible a frame of type `service` or `service_data`; message.type says which, message.tag
  // is the service's id. done() is called by the control program, with Access held.
  void post(PeerId peer, Message& message);
  // Sends a frame of type `service_data` now, or does nothing and returns false: no room in the link.
  bool try_send_data(PeerId peer, ServiceId id, const Slice* slices, int count) noexcept;
  // Takes back a message that post() has not sent yet; done() is not called.
  void withdraw(PeerId peer, Message& message) noexcept;
  // Sends a frame of type `service_ack` that answers no `service` frame: at most kServiceAckRoom
  // bytes, and no more of them than a bound of the service's own allows.
  void control(PeerId peer, ServiceId id, const void* payload, std::size_t size);
  // False: what is sent to the peer waits for a credit, and for nothing else.
  bool has_credit(PeerId peer) const noexcept;
  // Frees the receive buffer of a frame that on_frame() kept with Verdict::hold.
  void release(PeerId peer) { sender_.release(peers_.at(peer)); }
  // Likewise, and answers it with at most kServiceAckRoom bytes.
  void ack(PeerId peer, ServiceId id, const void* payload, std::size_t size);
  // Has work() called in the next pass of the control program.
  void wake(ServiceId id) noexcept {
    awake_ |= 1u << service_index(id);
    activity_.note_use();
    activity_.leave_over();
  }
  // Has item.call() called in the host's next progress(); not before it has been called is the item
  // passed again.
  void call_host(WaitingCall& item) noexcept { outcomes_.add(item); }

  // --- The engine ---

  // False when there can be no such service, or it says that the frame is malformed.
  bool accept(Peer& peer, Meta meta, std::span<const std::byte> payload);
  std::byte* place(const Peer& peer, Meta meta, const Placing& frame);
  bool placed(Peer& peer, Meta meta, const Placing& frame);
  // Calls work() of those that have been woken.
  void run();

 private:
  void on_lost(Peer& peer) override;

  SendLock& lock_;
  PeerTable& peers_;
  Sender& sender_;
  Counters& counters_;
  Activity& activity_;
  Outcomes& outcomes_;
  std::array<Service*, kServices> services_{};
  std::uint32_t awake_ = 0;  // a bit for each that wants work() to be called
};

}  // namespace lfc
