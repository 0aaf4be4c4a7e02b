// Connector: how sessions begin, over which rails they connect, and how they end.
//
//   Session& session = connector.begin(address, peer);
//   if (!connector.connect_rails(session, why_not)) ...        // over those for frames
//   PeerId id = connector.caller(rail, from);                  // a process connects over one of the rails
//   bool known = connector.widen(session);                     // those for chunks only, once they are wanted
//   connector.finish(session, Session::State::over);
//
// Invariants: rails for chunks only are connected at the first transfer large enough to be cut; a rail that was lost
// stays so; a session that the peer begins anew ends the one before (tests/unit/link/bond/bond_test.cpp).
// Threads: as the link's.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "link/bond/losses.hpp"
#include "link/bond/rail_choice.hpp"
#include "link/bond/transfers.hpp"

namespace lfc::bond {

class Connector {
 public:
  // `link`: what the NI calls the bond.
  Connector(Link& link, Rails& rails, Sessions& sessions, Losses& losses, Transfers& transfers,
            const BondOptions& options, FrameSink& sink)
      : link_(link),
        rails_(rails),
        sessions_(sessions),
        losses_(losses),
        transfers_(transfers),
        choice_(options.pair),
        sink_(sink) {}

  void publish(AddressWriter& writer) const;
  void set_own_address(std::span<const std::byte> address);

  bool connect(PeerId peer, const Address& address, std::string& why_not);
  // Over every rail for frames that is not in use yet. False: there is none.
  bool connect_rails(Session& session, std::string& why_not);
  // Likewise over those for chunks only, if that is due, once the peer is known to have this session. False: not yet.
  bool widen(Session& session);
  // A process connects over one of the rails. Its other rails follow, or have come before.
  PeerId caller(std::uint8_t rail, const Address& from);
  // An older session with the same process has not ended yet.
  bool awaits_end(const Session& session) const noexcept;
  // No more of this session. Not to be called from inside a rail's poll() unless the rails' ends of it
  // are known to be closed by the peer.
  void finish(Session& session, Session::State state);

 private:
  Session& begin(const Address& address, PeerId peer);
  bool join(Session& session, std::uint8_t rail, std::string& why_not);
  void close_rails(Session& session) noexcept;

  Link& link_;
  Rails& rails_;
  Sessions& sessions_;
  Losses& losses_;
  Transfers& transfers_;
  RailChoice choice_;
  FrameSink& sink_;
};

}  // namespace lfc::bond
