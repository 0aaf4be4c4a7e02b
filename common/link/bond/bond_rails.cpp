// Rails that die. A rail breaks by itself (its connection is reset), or falls silent: no word comes,
// as when a cable is cut. A peer that computes is silent too, but on all rails. So a rail that has
// work and makes no progress is probed together with all others; when another rail has answered that
// round and this one has not, some time later, it is given up. A rail wrongly given up costs speed,
// never a byte.
#include <algorithm>

#include "link/bond/bond_link_impl.hpp"

namespace lfc::bond {

void BondLink::rail_broken(std::uint8_t rail, PeerId id, std::string_view why) {
  Session* found = session(id);
  if (found == nullptr) return;
  suspect(*found, rail, why);
}

// Notes that the rail is lost; attend() does the rest.
void BondLink::suspect(Session& session, std::uint8_t rail, std::string_view why) noexcept {
  RailState& state = session.rails[rail];
  if (!state.usable()) return;
  state.state = RailState::State::lost;
  --session.usable_like(rail);
  if (session.for_frames(rail)) --session.live;
  state.close_due = true;
  state.leave_due = true;
  state.why = why;
  stir(session);
}

void BondLink::leave_rail(Session& session, std::uint8_t rail) {
  RailState& state = session.rails[rail];
  state.close_due = false;
  rails_[rail].link->abandon(session.id);
  session.retained.forsake(rail);
  state.in_flight.clear();
  state.in_flight_bytes = 0;
  if (session.lead == rail) session.lead = session.best_usable();
  if (session.state != Session::State::open || session.usable == 0) return;
  counters_.add(Counter::rails_lost);
  tell_user(session, rail, state.why);
}

void BondLink::tell_user(const Session& session, std::uint8_t rail, std::string_view why) const {
  if (options_.notice == nullptr) return;
  const ProcessName name = session.address.identity().name;
  options_.notice("rail " + rails_[rail].label + " to process " + std::to_string(name.job) + ":" +
                  std::to_string(name.rank) + " is left out, " +
                  std::to_string(session.live + session.wider) + " remain: " + std::string(why));
}

// The peer has closed the rail: no put of ours can land there any more, so they may go again.
void BondLink::peer_left(Session& session, std::uint8_t rail) {
  RailState& state = session.rails[rail];
  state.peer_left = true;
  suspect(session, rail, "left by the peer");
  session.again.insert(session.again.end(), state.put_back.begin(), state.put_back.end());
  state.put_back.clear();
  stir(session);
}

// A sign of life from the rail.
void BondLink::life(Session& session, std::uint8_t rail) noexcept {
  RailState& state = session.rails[rail];
  ++state.progress;
  if (state.state == RailState::State::joining) session.came_up(rail);
}

bool BondLink::has_work(const Session& session, std::uint8_t rail) const noexcept {
  return session.rails[rail].chunks != 0 || session.retained.on_rail(rail) != 0;
}

// --- Waiting without polling ---

void BondLink::wait_fds(std::vector<int>& out) const {
  for (const Rail& rail : rails_) rail.link->wait_fds(out);
}

Link::Armed BondLink::arm() noexcept {
  if (!cancelled_.empty()) return Armed::busy;
  // Whether a rail still carries what it was given is found by the clock.
  bool timed = !restless_.empty() || over_;
  for (const auto& session : sessions_) {
    if (session == nullptr || session->plain) continue;
    for (std::uint8_t rail = 0; rail < rail_count(); ++rail) timed |= has_work(*session, rail);
  }
  Armed least = timed ? Armed::partly : Armed::fully;
  for (Rail& rail : rails_) {
    rail.quiet = 0;  // whatever wakes may be on any of them
    const Armed armed = rail.link->arm();
    if (armed == Armed::busy) {
      disarm();
      return Armed::busy;
    }
    least = std::min(least, armed);
  }
  return least;
}

void BondLink::disarm() noexcept {
  for (const Rail& rail : rails_) rail.link->disarm();
}

void BondLink::check_time() {
  const Clock::time_point now = options_.now();
  if (now < next_check_) return;
  next_check_ = now + options_.rail_timeout / 16;
  for (const auto& session : sessions_)
    if (session != nullptr && session->usable + session->wider > 1 && !session->plain)
      check_rails(*session, now);
}

void BondLink::check_rails(Session& session, Clock::time_point now) {
  const auto patience = options_.rail_timeout / 3;
  for (std::uint8_t i = 0; i < rail_count(); ++i) {
    RailState& rail = session.rails[i];
    if (!rail.usable()) continue;
    if (rail.progress != rail.progress_seen || !has_work(session, i)) {
      rail.progress_seen = rail.progress;
      rail.since = now;
      rail.asked = 0;
      continue;
    }
    if (rail.asked == 0) {
      if (now - rail.since < patience) continue;
      if (session.witnessed == session.round) ++session.round;
      rail.asked = session.round;
      rail.limit = Clock::time_point::max();
      continue;
    }
    // Its own answer would have been progress.
    const bool witnessed = distance(rail.asked, session.witnessed) >= 0;
    if (witnessed && rail.limit == Clock::time_point::max()) rail.limit = now + 2 * patience;
    const bool needed = session.for_frames(i) && session.live == 1;
    if (now >= rail.limit && !needed)
      suspect(session, i, "it makes no progress while another rail of the same peer does");
  }
  if (session.witnessed == session.round) return;
  for (std::uint8_t i = 0; i < rail_count(); ++i) {
    RailState& rail = session.rails[i];
    if (!rail.usable() || rail.probed == session.round) continue;
    if (send_note(session, i, {NoteKind::probe, i, 0, session.round}) == SendStatus::sent)
      rail.probed = session.round;
  }
}

}  // namespace lfc::bond
