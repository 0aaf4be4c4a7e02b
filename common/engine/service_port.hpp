// ServicePort: all that a service (engine/service.hpp) has of the NI: frames to and from peers, the buffers that it
// holds, and its turn in the control program. The engine's is Services (engine/services.hpp); a test may have one of
// its own.
//
//   ServicePort& port = ni.services();
//   port.attach(ServiceId::test, &service);
//   { const ServicePort::Access access(port);                  // the service's host side
//     if (!port.try_send(peer, ServiceId::test, slices, 2)) port.post(peer, message); }
//
// All but attach() are called with Access held: by the service, from inside the callbacks of the control program, or by
// its host side, which takes it. What a service needs beside it: MemoryPort, HostPort.
// Invariants: a `service` frame's buffer is freed exactly once, by the verdict or by release() or ack()
// (tests/unit/engine/service_test.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/service.hpp"
#include "engine/waiting.hpp"
#include "link/link.hpp"
#include "stats/counters.hpp"
#include "sync/send_lock.hpp"
#include "wire/address.hpp"

namespace lfc {

class ServicePort {
 public:
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

  // Of this process.
  const Identity& identity() const noexcept { return identity_; }
  Counters& counters() noexcept { return counters_; }

  // Makes `service` the receiver of frames for `id`; null ends that, and frames for it are dropped.
  // The service outlives its time here.
  virtual void attach(ServiceId id, Service* service) noexcept = 0;

  // The peer with this name, if it is known; kNoPeer if not.
  virtual PeerId find(ProcessName name) const noexcept = 0;
  // Finds or makes it, as Ni::add_peer().
  virtual PeerId add(const Address& address, std::string& why_not) = 0;
  virtual ProcessName name(PeerId peer) const noexcept = 0;
  // Lost: on_lost() has been or will be called.
  virtual bool is_lost(PeerId peer) const noexcept = 0;
  // What kind of link carries frames to the peer; named "none" when none does.
  virtual const LinkTraits& link_traits(PeerId peer) const noexcept = 0;
  // Payload bytes of the largest frame that goes to any peer; without Access as well.
  virtual std::size_t max_payload() const noexcept = 0;
  // The same of whoever has this address; 0: it is malformed. Without Access as well.
  virtual std::size_t max_payload_of(const Address& address) const noexcept = 0;

  // Ni::try_send() of a message that a frame of type `service` follows, or flush().
  virtual bool try_send_rts(PeerId peer, std::uint8_t tag, const Slice* slices,
                            int count) noexcept = 0;
  // Sends a frame of type `service` now, or does nothing and returns false: no credit, no room, or others wait. `more`:
  // of Meta; flush() follows, if the next frame does not.
  virtual bool try_send(PeerId peer, ServiceId id, const Slice* slices, int count,
                        bool more = false) noexcept = 0;
  virtual void flush(PeerId peer) noexcept = 0;
  // Sends as soon as possible a frame of type `service` or `service_data`; message.type says which, message.tag
  // is the service's id. done() is called by the control program, with Access held.
  virtual void post(PeerId peer, Message& message) = 0;
  // Sends a frame of type `service_data` now, or does nothing and returns false: no room in the link.
  virtual bool try_send_data(PeerId peer, ServiceId id, const Slice* slices,
                             int count) noexcept = 0;
  // Takes back a message that post() has not sent yet; done() is not called.
  virtual void withdraw(PeerId peer, Message& message) noexcept = 0;
  // Sends a frame of type `service_ack` that answers no `service` frame: at most kServiceAckRoom
  // bytes, and no more of them than a bound of the service's own allows.
  virtual void control(PeerId peer, ServiceId id, const void* payload, std::size_t size) = 0;
  // False: what is sent to the peer waits for a credit, and for nothing else.
  virtual bool has_credit(PeerId peer) const noexcept = 0;
  // Frees the receive buffer of a frame that on_frame() kept with Verdict::hold.
  virtual void release(PeerId peer) = 0;
  // Likewise, and answers it with at most kServiceAckRoom bytes.
  virtual void ack(PeerId peer, ServiceId id, const void* payload, std::size_t size) = 0;
  // Has work() called in the next pass of the control program.
  virtual void wake(ServiceId id) noexcept = 0;
  // Has item.call() called in the host's next progress(); not before it has been called is the item
  // passed again.
  virtual void call_host(WaitingCall& item) noexcept = 0;

 protected:
  ServicePort(SendLock& lock, const Identity& identity, Counters& counters) noexcept
      : lock_(lock), identity_(identity), counters_(counters) {}
  ~ServicePort() = default;

  SendLock& lock_;
  const Identity& identity_;
  Counters& counters_;
};

}  // namespace lfc
