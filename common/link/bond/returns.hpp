// Returns: lost rails of sessions, which are connected again while another rail of the session works.
//
//   Returns returns(rails, sessions, losses, entries, connector, options, counters);
//   if (sessions.incomplete()) returns.check(present);         // now and then, outside of any rail's poll()
//   bool timed = returns.connecting();                  // check() is to be called soon
//
// The pause before an attempt doubles from kFirstPause to kLongestPause. It begins anew after a loss of a rail that has
// worked for that long. Both ends may try. Connections that cross are the link's matter, which keeps one of them.
//
// Invariants, which README.md proves: both ends give a connection the same number; a `leave` is never taken for that of
// a later connection. Held by tests/unit/link/bond/returns_test.cpp. Threads: as the link's.
#pragma once

#include <cstdint>

#include "link/bond/connector.hpp"
#include "link/bond/entries.hpp"

namespace lfc::bond {

class Returns {
 public:
  Returns(Rails& rails, Sessions& sessions, Losses& losses, Entries& entries, Connector& connector,
          const BondOptions& options, Counters& counters) noexcept
      : rails_(rails),
        sessions_(sessions),
        losses_(losses),
        entries_(entries),
        connector_(connector),
        options_(options),
        counters_(counters) {}

  // Looks after the sessions with lost rails, if some time has passed. `present`: the bond's PresentTime.
  void check(Clock::time_point present);
  // Some rail is being connected again.
  bool connecting() const noexcept { return connecting_; }

 private:
  bool check(Session& session, Clock::time_point now);
  void await(Session& session, std::uint8_t rail) noexcept;
  void attempt(Session& session, std::uint8_t rail, Clock::time_point now);
  void count(Session& session, std::uint8_t rail, Clock::time_point now);

  Rails& rails_;
  Sessions& sessions_;
  Losses& losses_;
  Entries& entries_;
  Connector& connector_;
  const BondOptions& options_;
  Counters& counters_;
  Clock::time_point next_{};
  Clock::time_point present_{};
  unsigned attempts_ = 0;  // in this check
  bool connecting_ = false;
};

}  // namespace lfc::bond
