// Ni: the engine (NI, network interface, in the literature), one for each process, shared by all components. Its
// control program joins the protocols (credits, remote memory) and the links, and owns the state between them. This is
// the host's view of it; its parts are
//
//   PeerTable      the peers, the link that reaches each, and how a peer is lost
//   Sender         sends frames and returns credits
//   Receiver       delivers frames
//   RemoteOrigin   puts, gets and atomics on peers' memory; RemoteTarget serves theirs on ours
//   Services       the services that it runs; their access to it is ServicePort
//   Turn           decides who drives it: the host, or a thread of its own
//   Outcomes       completions and losses that have not been reported to the host
//
//   Ni ni(config);
//   ni.add_link(std::move(link));                          // in order of preference
//   publish(ni.open());
//   ni.set_message_handler(handler_of<deliver>(context));
//   PeerId peer = ni.add_peer(*Address::parse(blob), why_not);
//   if (!ni.try_send(peer, tag, slices, 2)) ni.post(peer, message);   // message.done() later
//   while (running) ni.progress();
//
// The host side (every function but progress) and the control program (progress and the functions
// that it calls) meet in three places only. These are the state of sending, under `SendLock`; the Outcomes, swapped out
// under that lock and called back without it; and the HostQueue, through which messages reach the host. So a thread of
// the NI's own (engine/ni_thread.hpp) can drive the control program without touching anything of the host's. The policy
// decides which of the two does (engine/config.hpp).
//
// Guarantees: messages are FIFO and exactly once per peer; a posted message is sent, or its `done`
// gets the reason; no call blocks; no receive buffer is overrun; a peer that stops receiving stalls
// only the sends to it.
// Threads: with Config::threads every function may be called by any thread at any time; without
// it, by one thread at a time. Callbacks run on the thread that calls progress() (with upcalls also
// on the NI's) and may call anything; a nested progress() returns 0 at once. Meanwhile no lock is held that another
// thread of the host could wait for.
// Source: LFC thesis ch. 3 and 4.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/config.hpp"
#include "engine/host_side.hpp"
#include "engine/outcomes.hpp"
#include "engine/peer_table.hpp"
#include "engine/receiver.hpp"
#include "engine/remote_origin.hpp"
#include "engine/sender.hpp"
#include "engine/services.hpp"
#include "engine/turn.hpp"
#include "link/link.hpp"
#include "look/published.hpp"
#include "stats/counters.hpp"
#include "sync/send_lock.hpp"
#include "wire/address.hpp"

namespace lfc {

const look::Schema& ni_schema() noexcept;  // of the fields that lfc-look shows

class Ni final : private look::Published {
 public:
  explicit Ni(const Config& config);
  ~Ni();
  Ni(const Ni&) = delete;
  Ni& operator=(const Ni&) = delete;

  // --- Set-up (alone, before the first peer) ---

  // Adds a link; earlier links are preferred. The link must have been made with sink() as its
  // sink. At most one of each kind.
  void add_link(std::unique_ptr<Link> link) { peers_.add_link(std::move(link)); }
  FrameSink& sink() noexcept { return receiver_; }
  // Ends the set-up: gives the links their own address and returns it, to be published. From here
  // on the policy's thread runs.
  std::vector<std::byte> open();
  void set_message_handler(MessageHandler handler) noexcept {
    receiver_.host().set_handler(handler);
  }
  // Called once for each peer that is lost. `peer` stays valid but every operation on it fails.
  using BrokenHandler = Outcomes::BrokenHandler;
  void set_broken_handler(BrokenHandler handler, void* context) noexcept {
    outcomes_.set_broken_handler(handler, context);
  }

  // --- Peers ---

  // Finds or makes the peer with this address, and chooses its link. No connection is opened
  // before the first send. kNoPeer: no link reaches it; `why_not` has the reason of each link.
  PeerId add_peer(const Address& address, std::string& why_not);
  // Forgets a peer; messages posted but not sent are completed with Result::unreachable.
  void remove_peer(PeerId peer);
  void set_peer_context(PeerId peer, void* context) noexcept;
  // Returns whether nothing posted to the peer waits, or nothing can be sent to it any more.
  bool idle(PeerId peer) noexcept;
  // The traits of the link that carries frames to the peer; named "none" if no link does.
  const LinkTraits& link_traits(PeerId peer) const noexcept;

  // --- Messages ---

  // Sends now and returns true, or returns false and does nothing: no connection (which post()
  // opens), no credit, no room in the link, or older messages are waiting. The slices' bytes may be
  // reused on return.
  [[gnu::always_inline]] bool try_send(PeerId peer, std::uint8_t tag, const Slice* slices,
                                       int count) noexcept {
    auto entry = lock_.try_enter_short();
    if (entry == SendLock::kRefused) [[unlikely]]
      entry = lock_.await_entry();
    const bool sent = sender_.try_message(peers_.at(peer), tag, slices, count);
    lock_.leave(entry);
    return sent;
  }
  // Sends as soon as possible, after everything posted before it. The message and its bytes must stay
  // valid until message.done() has been called. progress() calls it, because the caller of post() may be in the middle
  // of work that the callbacks of other messages would do. post() calls it only if the peer is lost.
  void post(PeerId peer, Message& message) noexcept;

  // --- Remote memory, and services ---

  RemoteOrigin& remote() noexcept { return remote_; }
  Services& services() noexcept { return services_; }
  HostPort& host() noexcept { return host_; }
  class Access : public ServicePort::Access {
   public:
    explicit Access(Ni& ni) noexcept : ServicePort::Access(ni.services_) {}
  };

  // --- The control program ---

  // Makes one bounded pass over links and work left over; returns the number of events.
  int progress() noexcept { return turn_.progress(); }
  Turn& turn() noexcept { return turn_; }
  // Returns whether every accepted frame has left this process.
  bool drained() const noexcept;

  // --- Observation ---

  const Config& config() const noexcept { return config_; }
  const Identity& identity() const noexcept { return identity_; }
  // The address that open() has returned.
  std::span<const std::byte> address() const noexcept { return address_; }
  // The counters, to which links and services add.
  Counters& counters() noexcept { return counters_; }
  // To be read with Access held.
  const PeerTable& peers() const noexcept { return peers_; }
  // Bytes of buffers held by the NI and its links now (common/engine/README.md has the bound).
  std::size_t memory() const noexcept;
  // Appends one line per peer: link, credits, window, waiting. For hang reports.
  void describe(std::string& out) const;

 private:
  template <class>
  friend struct Insight;  // lfc-look
  const Config config_;
  const Identity identity_;
  std::vector<std::byte> address_;
  Counters counters_;
  mutable SendLock lock_;
  Outcomes outcomes_;
  Turn turn_;
  HostSide host_;
  PeerTable peers_;
  Sender sender_;
  RemoteOrigin remote_;
  Services services_;
  Receiver receiver_;
};

}  // namespace lfc
