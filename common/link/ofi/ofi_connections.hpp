// OfiConnections: the connections of a libfabric link, from their making to their end.
//
//   OfiConnection* connection = connections.make(peer, address, why_not);
//   connections.add_pending(*connection);                       // something is due: it is pending
//   connections.break_off(*connection, "why");
//
// States of a connection:  handshake (hello sent, or to be sent) -> open -> closed or broken.
// A connection is pending while something is due later: a handshake frame to send or repeat, a sender that found no
// room, a failure to report. poll() attends to pending connections.
// Threads: as Link.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "link/ofi/ofi_buffers.hpp"
#include "link/ofi/ofi_fabric.hpp"
#include "link/ofi/ofi_link.hpp"
#include "link/ofi/ofi_transfers.hpp"
#include "link/ofi/peer_probe.hpp"
#include "link/present_time.hpp"

namespace lfc {

struct OfiConnection {
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { handshake, open, failing, closing, closed, broken };
  static constexpr std::uint32_t kUnknown = 0xffffffffu;

  // Used by each send.
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::uint32_t key = 0;
  std::uint32_t remote_slot = kUnknown;
  std::uint32_t next_send = 1;
  std::uint32_t next_receive = 1;
  State state = State::handshake;
  bool ack_due = false;     // a hello_ack
  bool stalled = false;     // the provider refused the last frame
  bool sent_hello = false;  // a hello has left
  bool pending = false;     // on the list
  std::uint32_t slot = 0;
  PeerId peer = kNoPeer;

  // Used by set-up and failures only.
  Identity target;
  Key nonce;                       // of our hello
  Key peer_nonce;                  // of the peer's
  Clock::time_point next_try{};    // of a handshake frame
  Clock::duration pause{};         // between tries that find no room
  Clock::duration repeat_after{};  // of a hello without a reply
  Clock::time_point quiet_since{};
  std::map<std::uint32_t, std::vector<std::byte>> early;  // frames that overtook others
  Clock::time_point gap_since{};
  std::vector<SendBuffer*> held;  // control frames that the provider has no room for
  PeerProbe probe;
  std::string raw_address;  // libfabric's
  std::string failure;
};

// OfiShared: state that the parts of one link share.
struct OfiShared {
  Link& link;
  const OfiOptions options;
  const Identity identity;
  FrameSink& sink;
  Counters& counters;
  const std::unique_ptr<OfiFabric> fabric;
  SendPool sends = {};
  ReceivePool receives = {};
  OfiTransfers transfers = {};
  PresentTime present = {};  // of all deadlines
};

class OfiConnections {
 public:
  using Clock = OfiConnection::Clock;
  using State = OfiConnection::State;

  explicit OfiConnections(OfiShared& shared) noexcept : shared_(shared) {}

  OfiConnection* of(PeerId peer) const noexcept {
    return peer < by_peer_.size() ? by_peer_[peer] : nullptr;
  }
  OfiConnection& at(std::uint32_t slot) const noexcept { return *connections_[slot]; }
  const std::vector<std::unique_ptr<OfiConnection>>& all() const noexcept { return connections_; }
  OfiConnection* make(PeerId peer, const Address& address, std::string& why_not);
  // From now on of() finds no connection of the peer.
  void detach(PeerId peer) noexcept { by_peer_[peer] = nullptr; }

  void add_pending(OfiConnection& connection) noexcept;
  const std::vector<OfiConnection*>& pending() const noexcept { return pending_; }
  // Calls each(connection) for one step of each pending connection. False: it needs no more attention.
  template <class Each>
  void for_each_pending(Each each) {
    attending_.swap(pending_);
    for (OfiConnection* connection : attending_) {
      connection->pending = false;
      if (each(*connection)) add_pending(*connection);
    }
    attending_.clear();
  }

  // Remembers a failure, for poll() to report.
  void fail(OfiConnection& connection, std::string why) noexcept;
  void break_off(OfiConnection& connection, std::string_view why) noexcept;
  void break_all(std::string_view why) noexcept;
  void drop_held(OfiConnection& connection) noexcept;

 private:
  bool find_address(std::string_view raw, fi_addr_t& out, std::string& why_not);

  OfiShared& shared_;
  std::vector<std::unique_ptr<OfiConnection>> connections_;  // by slot; never shrinks
  std::vector<OfiConnection*> by_peer_;
  std::vector<OfiConnection*> pending_;
  std::vector<OfiConnection*> attending_;
  std::unordered_map<std::string, fi_addr_t> addresses_;
};

}  // namespace lfc
