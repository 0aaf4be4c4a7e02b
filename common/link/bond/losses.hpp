// Losses: the lost rails of sessions. A loss may be noted inside a rail's poll(); the rail is left outside of it.
//
//   losses.suspect(session, rail, "closed by the peer");     // noted; the session is stirred
//   if (session.rails[rail].close_due) losses.leave(session, rail);
//   losses.peer_left(session, rail, connection);             // its puts may go again
//   losses.life(session, rail);                              // a sign of life
//
// The frames of a lost rail are sent again over other rails, its gets at once, its puts only when the peer has closed
// the rail too. Then it may return (returns.hpp). Held by tests/unit/link/bond/bond_test.cpp. Threads: as the link's.
#pragma once

#include <cstdint>
#include <string_view>

#include "link/bond/rails.hpp"
#include "link/bond/sessions.hpp"
#include "stats/counters.hpp"

namespace lfc::bond {

class Losses {
 public:
  Losses(Rails& rails, Sessions& sessions, const BondOptions& options, Counters& counters) noexcept
      : rails_(rails), sessions_(sessions), options_(options), counters_(counters) {}

  // Notes that the rail is lost, if it is connected.
  void suspect(Session& session, std::uint8_t rail, std::string_view why) noexcept;
  // The rail has broken and has reported the reason, which replaces a reason that only followed from it.
  void broke(Session& session, std::uint8_t rail, std::string_view why) noexcept;
  // Closes the rail. To be called outside of any rail's poll().
  void leave(Session& session, std::uint8_t rail);
  // The peer has closed the rail's connection of this number: no put of ours can land there any more, so our puts may
  // be sent again.
  void peer_left(Session& session, std::uint8_t rail, std::uint32_t connection);
  // The rail has made progress: the peer is alive on it.
  void life(Session& session, std::uint8_t rail) noexcept;
  void report_loss(Session& session, std::uint8_t rail, std::string_view why) const;
  void report_return(Session& session, std::uint8_t rail) const;

 private:
  void report(const Session& session, std::uint8_t rail, std::string_view what,
              std::string_view rest) const;

  Rails& rails_;
  Sessions& sessions_;
  const BondOptions& options_;
  Counters& counters_;
};

}  // namespace lfc::bond
