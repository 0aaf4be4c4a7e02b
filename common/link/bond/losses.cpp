#include "link/bond/losses.hpp"

#include <string>

#include "wire/node_name.hpp"

namespace lfc::bond {

void Losses::suspect(Session& session, std::uint8_t rail, std::string_view why) noexcept {
  RailState& state = session.rails[rail];
  if (!state.usable()) return;
  state.state = RailState::State::lost;
  --session.usable_like(rail);
  if (session.for_frames(rail)) --session.live;
  state.close_due = true;
  state.leave_due = true;
  state.why = why;
  sessions_.stir(session);
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
  if (session.lead == rail) session.lead = session.best_usable();
  if (session.state != Session::State::open || session.usable == 0) return;
  counters_.add(Counter::rails_lost);
  report_to_user(session, rail, state.why);
}

void Losses::peer_left(Session& session, std::uint8_t rail) {
  RailState& state = session.rails[rail];
  state.peer_left = true;
  suspect(session, rail, "left by the peer");
  session.again.insert(session.again.end(), state.put_back.begin(), state.put_back.end());
  state.put_back.clear();
  sessions_.stir(session);
}

void Losses::life(Session& session, std::uint8_t rail) noexcept {
  RailState& state = session.rails[rail];
  ++state.progress;
  if (state.state == RailState::State::joining) session.came_up(rail);
}

void Losses::report_to_user(const Session& session, std::uint8_t rail, std::string_view why) const {
  if (options_.notice == nullptr) return;
  const std::string rank = "rank " + std::to_string(session.address.identity().name.rank);
  const std::string node = node_name(session.address);
  options_.notice("rail " + rails_[rail].label + " to " + (node.empty() ? rank : "node " + node) +
                  " is left out: to " + rank + ", where " +
                  std::to_string(session.live + session.wider) + " remain: " + std::string(why));
}

}  // namespace lfc::bond
