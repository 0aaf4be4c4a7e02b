// ServicePort: a service's access to the NI (engine/service.hpp): frames to and from peers, the credits that it
// holds, and its turn in the control program. The engine's is Services (engine/services.hpp); a test may have its own.
//
//   ServicePort& port = ni.services();
//   port.attach(ServiceId::test, &service);
//   { const ServicePort::Access access(port);                  // the service's host side
//     if (!port.try_send(peer, ServiceId::test, slices, 2)) port.packets().send(peer, std::move(packet)); }
//   { const ServicePort::Visit visit(port);                    // Access, and then the queued work
//     memory.put(peer, source, nullptr, address, region, size, &operation); }      // operation.done(), perhaps
//
// All functions except attach() need Access. The callbacks of the control program hold it already; the service's host
// side takes it. MemoryPort and HostPort have the other functions that services need.
// Work that must not run with Access is queued: completions of MemoryPort, and call_host(). It runs on the host's side,
// at the end of its next Visit or in its next progress().
// Invariants: a `service` frame's buffer is freed exactly once, by the verdict or by release() or ack()
// (tests/unit/engine/service_test.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/outcomes.hpp"
#include "engine/packet_port.hpp"
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
  // Access of the host that ends with the queued work.
  class Visit {
   public:
    explicit Visit(ServicePort& port) noexcept : port_(port), entry_(port.begin_visit()) {}
    ~Visit() { port_.end_visit(entry_); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    ServicePort& port_;
    const SendLock::Entry entry_;
  };
  // A Visit without a scope, for code that begins it in one function and ends it in another.
  SendLock::Entry begin_visit() noexcept {
    const SendLock::Entry entry = lock_.await_entry();
    is_visited_ = true;
    return entry;
  }
  // Returns SendLock::kRefused if another thread has Access.
  SendLock::Entry try_visit() noexcept {
    const SendLock::Entry entry = lock_.try_enter();
    if (entry != SendLock::kRefused) is_visited_ = true;
    return entry;
  }
  void end_visit(SendLock::Entry entry) noexcept {
    is_visited_ = false;
    lock_.leave(entry);
    outcomes_.call_back();
  }
  // Whether work that is queued now runs soon, however long the host then computes.
  bool is_visited() const noexcept { return is_visited_; }

  // The identity of this process.
  const Identity& identity() const noexcept { return identity_; }
  Counters& counters() noexcept { return counters_; }

  // Makes `service` the receiver of frames for `id`; null ends that, and frames for it are dropped.
  // The service must outlive its attachment.
  virtual void attach(ServiceId id, Service* service) noexcept = 0;

  // Returns the peer of this name if it is known, otherwise kNoPeer.
  virtual PeerId find(ProcessName name) const noexcept = 0;
  // Finds or makes the peer, like Ni::add_peer().
  virtual PeerId add(const Address& address, std::string& why_not) = 0;
  virtual ProcessName name(PeerId peer) const noexcept = 0;
  // Lost: on_lost() has been or will be called.
  virtual bool is_lost(PeerId peer) const noexcept = 0;
  // The traits of the link that carries frames to the peer; named "none" if no link does.
  virtual const LinkTraits& link_traits(PeerId peer) const noexcept = 0;
  // Payload bytes of the largest frame that can be sent to each peer. Needs no Access.
  virtual std::size_t max_payload() const noexcept = 0;
  // Payload bytes of the largest frame that the owner of this address takes; 0: it is malformed. Needs no Access.
  virtual std::size_t max_payload_of(const Address& address) const noexcept = 0;

  // Ni::try_send() of a message that a frame of type `service`, or flush(), must follow.
  virtual bool try_send_rts(PeerId peer, std::uint8_t tag, const Slice* slices,
                            int count) noexcept = 0;
  // Sends a frame of type `service` now. Returns false, and does nothing, if there is no credit or no room, or others
  // wait. `more`: as in Meta; flush() must follow unless another frame does.
  virtual bool try_send(PeerId peer, ServiceId id, const Slice* slices, int count,
                        bool more = false) noexcept = 0;
  virtual void flush(PeerId peer) noexcept = 0;
  // Frames that may wait for a credit or room, and frames that are kept.
  virtual PacketPort& packets() noexcept = 0;
  // Sends a frame of type `service_data` now. Returns false, and does nothing, if the link has no room.
  virtual bool try_send_data(PeerId peer, ServiceId id, const Slice* slices,
                             int count) noexcept = 0;
  // Sends a frame of type `service_ack` that is no reply to a `service` frame: at most kServiceAckRoom
  // bytes. The service itself must bound their number.
  virtual void control(PeerId peer, ServiceId id, const void* payload, std::size_t size) = 0;
  // False: frames to the peer wait for a credit, and for nothing else.
  virtual bool has_credit(PeerId peer) const noexcept = 0;
  // Returns the credit of a frame for which on_frame() returned Verdict::hold.
  virtual void release(PeerId peer) = 0;
  // Does so and answers the frame with at most kServiceAckRoom bytes.
  virtual void ack(PeerId peer, ServiceId id, const void* payload, std::size_t size) = 0;
  // Makes the next pass of the control program call work().
  virtual void wake(ServiceId id) noexcept = 0;
  // Makes the host's next Visit or progress() call item.call(), without Access. The item must not be passed again
  // before that call.
  void call_host(WaitingCall& item) noexcept { outcomes_.add(item); }

 protected:
  ServicePort(SendLock& lock, const Identity& identity, Counters& counters,
              Outcomes& outcomes) noexcept
      : lock_(lock), identity_(identity), counters_(counters), outcomes_(outcomes) {}
  ~ServicePort() = default;

  SendLock& lock_;
  const Identity& identity_;
  Counters& counters_;
  Outcomes& outcomes_;

 private:
  bool is_visited_ = false;
};

}  // namespace lfc
