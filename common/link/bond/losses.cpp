#include "link/bond/losses.hpp"

#include <string>

#include "wire/node_name.hpp"

namespace lfc::bond {

void Losses::suspect(Session& session, std::uint8_t rail, std::string_view why) noexcept {
  RailState& state = session.rails[rail];
  if (!state.connected()) return;
  if (state.usable()) {
    --session.usable_like(rail);
    if (session.for_frames(rail)) --session.live;
  }
  state.state = RailState::State::lost;
  // The link may still take frames, which would be lost, until leave() has abandoned it.
  if (session.lead == rail) session.lead = session.best_up();
  state.close_due = true;
  state.leave_due = true;
  state.why = why;
  sessions_.make_restless(session);
}

void Losses::broke(Session& session, std::uint8_t rail, std::string_view why) noexcept {
  suspect(session, rail, why);
  if (session.rails[rail].close_due) session.rails[rail].why = why;
}

void Losses::leave(Session& session, std::uint8_t rail) {
  RailState& state = session.rails[rail];
  state.close_due = false;
  rails_[rail].link->abandon(session.id);
  session.retained.forsake(rail);
  state.in_flight.clear();
  state.in_flight_bytes = 0;
  state.put_off(options_.now());
  sessions_.note_incomplete(session);
  // A failed attempt to return is no further loss.
  if (session.state != Session::State::open || session.usable == 0 || state.missed) return;
  counters_.add(Counter::rails_lost);
  report_loss(session, rail, state.why);
}

void Losses::peer_left(Session& session, std::uint8_t rail, std::uint32_t connection) {
  RailState& state = session.rails[rail];
  const std::int32_t ahead = distance(state.connection, connection);
  if (ahead < 0) return;
  suspect(session, rail, "left by the peer");
  if (ahead > 0) {  // an attempt of the peer that has not reached us
    if (state.state == RailState::State::none && session.for_frames(rail)) --session.live;
    state.state = RailState::State::lost;
    state.connection = connection;
    state.leave_due = true;
    state.put_off(options_.now());
    sessions_.note_incomplete(session);
  }
  state.peer_left = true;
  session.again.insert(session.again.end(), state.put_back.begin(), state.put_back.end());
  state.put_back.clear();
  sessions_.make_restless(session);
}

void Losses::life(Session& session, std::uint8_t rail) noexcept { ++session.rails[rail].progress; }

// The part of the line before the first colon is the same for all ranks of both nodes, so it is printed once.
void Losses::report(const Session& session, std::uint8_t rail, std::string_view what,
                    std::string_view rest) const {
  if (options_.notice == nullptr) return;
  const std::string rank = "rank " + std::to_string(session.address.identity().name.rank);
  const std::string node = node_name(session.address);
  options_.notice("rail " + rails_[rail].label + " to " + (node.empty() ? rank : "node " + node) +
                  " is " + std::string(what) + ": to " + rank + ", where " +
                  std::to_string(session.live + session.wider) + std::string(rest));
}

void Losses::report_loss(Session& session, std::uint8_t rail, std::string_view why) const {
  session.rails[rail].missed = true;
  report(session, rail, "left out", " remain: " + std::string(why));
}

void Losses::report_return(Session& session, std::uint8_t rail) const {
  session.rails[rail].missed = false;
  report(session, rail, "used again",
         " are in use. Further losses and returns are only counted (rails_lost, rails_returned)");
}

}  // namespace lfc::bond
