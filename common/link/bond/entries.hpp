// Entries: the first frame of each end on a connection of a rail. It shows both ends that the connection joins the two
// sessions for which it was made. A connection that is late may otherwise join a later session of the same processes.
//
//   const bool sent = entries.enter(session, rail);            // the peer has connected the rail
//   entries.welcome(session, rail, head, note.value);          // the peer's `enter` has arrived
//
// Each end names a session by a number that it never uses again, and sends that name with the name of the peer's
// session, as far as it is known. The end that has accepted the connection begins.
//
// Invariant, which README.md proves: a rail carries nothing before both ends have sent `enter`, so all connections of a
// session lead to one session of the peer. Held by tests/unit/link/bond/entries_test.cpp. Threads: as the link's.
#pragma once

#include <cstdint>

#include "link/bond/losses.hpp"

namespace lfc::bond {

class Entries {
 public:
  Entries(Rails& rails, Sessions& sessions, Losses& losses) noexcept
      : rails_(rails), sessions_(sessions), losses_(losses) {}

  // Sends our `enter` on a connected rail, unless it was sent. False: the link does not take it now.
  bool enter(Session& session, std::uint8_t rail) noexcept;
  // Sends it once more, now and then, while the peer's has not arrived: the link reports a connection that the peer has
  // closed only to a sender.
  void enter_again(Session& session, std::uint8_t rail, Clock::time_point now) noexcept;
  // The peer has sent `enter` with this head for the connection of this number.
  void welcome(Session& session, std::uint8_t rail, const Head& head, std::uint32_t connection);

 private:
  SendStatus send(Session& session, std::uint8_t rail) noexcept;
  void use(Session& session, std::uint8_t rail) noexcept;

  Rails& rails_;
  Sessions& sessions_;
  Losses& losses_;
};

}  // namespace lfc::bond
