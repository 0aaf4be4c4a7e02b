// Connector: how sessions begin, over which rails they connect, and how they end.
//
//   if (!connector.connect(peer, address, why_not)) ...        // a session begins
//   if (!connector.connect_rails(session, why_not)) ...        // over those for frames
//   PeerId id = connector.caller(rail, from);                  // a process connects over one of the rails
//   bool known = connector.widen(session);                     // rails for chunks only, once a transfer needs them
//   bool tries = connector.reconnect(session, rail);           // a lost rail
//   connector.finish(session, Session::State::over);
//
// Invariants: rails for chunks only are connected at the first transfer large enough to be cut; a lost rail is
// connected again only when both ends have closed it; a new session of the peer ends the one before, and a late
// connection of that one does not (tests/unit/link/bond/bond_test.cpp, returns_test.cpp, entries_test.cpp).
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
  // `link`: the bond, as the NI knows it.
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
  // Connects over every rail for frames that is not in use yet. False: no rail is usable.
  bool connect_rails(Session& session, std::string& why_not);
  // Connects over the rails for chunks only, if that is due, once the peer is known to have this session. False: not
  // yet.
  bool widen(Session& session);
  // Begins to connect a lost rail again. False: that is not possible now.
  bool reconnect(Session& session, std::uint8_t rail);
  // A process connects over one of the rails. Its other rails follow, or have connected before.
  PeerId caller(std::uint8_t rail, const Address& from);
  // Returns the older session with the same process that has not ended yet; null: there is none.
  Session* awaited(const Session& session) const noexcept;
  // Ends the session. Not to be called from inside a rail's poll(), unless the peer is known to have closed its ends of
  // the rails.
  void finish(Session& session, Session::State state);

 private:
  Session& begin(const Address& address, PeerId peer);
  static void begin_connection(Session& session, std::uint8_t rail) noexcept;
  bool end_after_peer(Session& session, std::uint8_t rail);
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
