// Services: the services that the engine runs. The receiver passes them their frames, and the control program calls
// those that have been woken. Their access to the engine is ServicePort.
//
//   Services services(lock, identity, counters, peers, sender, activity, outcomes);
//   if (!services.accept(peer, meta, payload)) peers.lose(peer, Peer::State::broken, "why");
//   services.run();                                  // once in each pass
//
// Threads: those of ServicePort; the control program calls accept(), place(), placed() and run().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/own_section.hpp"
#include "engine/packets.hpp"
#include "engine/sender.hpp"
#include "engine/service_port.hpp"

namespace lfc {

class Services final : public ServicePort, private PeerTable::Watcher {
 public:
  Services(SendLock& lock, const Identity& identity, Counters& counters, PeerTable& peers,
           Sender& sender, Activity& activity, Outcomes& outcomes)
      : ServicePort(lock, identity, counters, outcomes),
        peers_(peers),
        sender_(sender),
        packets_(peers, sender, counters),
        activity_(activity) {
    peers.add_watcher(*this);
  }

  void attach(ServiceId id, Service* service) noexcept override;
  PeerId find(ProcessName name) const noexcept override { return peers_.find(name); }
  PeerId add(const Address& address, std::string& why_not) override {
    return peers_.add(address, why_not);
  }
  ProcessName name(PeerId id) const noexcept override {
    return peers_.at(id).address.identity().name;
  }
  bool is_lost(PeerId id) const noexcept override { return peers_.at(id).is_lost(); }
  const LinkTraits& link_traits(PeerId id) const noexcept override {
    return peers_.at(id).traits();
  }
  std::size_t max_payload() const noexcept override { return peers_.max_payload(); }
  std::size_t max_payload_of(const Address& address) const noexcept override {
    return lfc::max_payload_of(address);
  }

  bool try_send_rts(PeerId peer, std::uint8_t tag, const Slice* slices,
                    int count) noexcept override {
    return sender_.try_message_with_more(peers_.at(peer), tag, slices, count);
  }
  bool try_send(PeerId peer, ServiceId id, const Slice* slices, int count,
                bool more = false) noexcept override;
  void flush(PeerId peer) noexcept override {
    if (Link* link = peers_.at(peer).link; link != nullptr) link->flush();
  }
  PacketPort& packets() noexcept override { return packets_; }
  bool try_send_data(PeerId peer, ServiceId id, const Slice* slices, int count) noexcept override;
  void control(PeerId peer, ServiceId id, const void* payload, std::size_t size) override;
  bool has_credit(PeerId peer) const noexcept override;
  void release(PeerId peer) override { sender_.release(peers_.at(peer)); }
  void ack(PeerId peer, ServiceId id, const void* payload, std::size_t size) override;
  void wake(ServiceId id) noexcept override {
    awake_ |= 1u << service_index(id);
    activity_.note_use();
    activity_.leave_over();
  }

  // Loses the peer of this name, whose process has failed, unless a link has a connection with it: that link delivers
  // the last frames, and then detects the end by itself. No effect if there is no such peer. Needs Access.
  void report_failure(ProcessName name, std::string_view why);

  // False: no such service exists, or it reports the frame as malformed.
  bool accept(Peer& peer, Meta meta, std::span<const std::byte> payload);
  std::byte* place(const Peer& peer, Meta meta, const Placing& frame);
  bool placed(Peer& peer, Meta meta, const Placing& frame);
  // `word`: as notification_word() makes it.
  bool notified(Peer& peer, std::uint32_t word);
  // Reports packets that have left and lost peers to the services, and calls work() of those that have been woken.
  void run();

 private:
  void on_lost(Peer& peer) override;
  void report_packets_and_losses();

  PeerTable& peers_;
  Sender& sender_;
  Packets packets_;
  Activity& activity_;
  std::array<Service*, kServices> services_{};
  std::vector<PeerId> lost_;  // the services do not know it yet
  std::uint32_t awake_ = 0;   // a bit for each service whose work() has to be called
};

}  // namespace lfc
