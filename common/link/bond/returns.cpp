#include "link/bond/returns.hpp"

namespace lfc::bond {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};
constexpr unsigned kAttempts = 8;  // in one check, however many peers an interface has cut off

}  // namespace

void Returns::check() {
  const Clock::time_point now = options_.now();
  if (now < next_) return;
  next_ = now + kPeriod;
  present_now_ = present_.at(now);
  connecting_ = false;
  attempts_ = 0;
  for (const PeerId id : sessions_.take_incomplete()) {
    Session* session = sessions_.by_id(id);
    if (session == nullptr) continue;
    session->incomplete = false;
    if (session->state == Session::State::open && check(*session, now))
      sessions_.note_incomplete(*session);
  }
}

// True: some rail is still to return.
bool Returns::check(Session& session, Clock::time_point now) {
  bool rest = false;
  for (std::uint8_t i = 0; i < rails_.count(); ++i) {
    RailState& rail = session.rails[i];
    if (rail.theirs == kNoRail || rail.state == RailState::State::none) continue;
    if (rail.state == RailState::State::lost) attempt(session, i, now);
    if (rail.state == RailState::State::joining || rail.state == RailState::State::returning)
      greet(session, i);
    if (rail.state == RailState::State::up) {
      if (rail.missed) count(session, i, now);
      continue;
    }
    if (rail.state == RailState::State::returning) await(session, i);
    connecting_ |= rail.connected();
    rest = true;
  }
  return rest;
}

void Returns::attempt(Session& session, std::uint8_t i, Clock::time_point now) {
  RailState& rail = session.rails[i];
  if (session.usable == 0 || session.connect_due || now < rail.next_attempt || !rail.may_return())
    return;
  if (attempts_ == kAttempts) return;
  ++attempts_;
  if (!connector_.reconnect(session, i)) rail.put_off(now);
}

// Each end begins anew, however the other one lost track.
void Returns::await(Session& session, std::uint8_t i) noexcept {
  RailState& rail = session.rails[i];
  if (rail.returning_since == Clock::time_point{}) {
    rail.returning_since = present_now_;
  } else if (present_now_ - rail.returning_since >= 2 * kLongestPause) {
    losses_.suspect(session, i, "its return was not confirmed");
  }
}

// Sends the first frame on a rail that the bond otherwise would not use yet. A rail that joins late is up when the peer
// replies to the probe.
void Returns::greet(Session& session, std::uint8_t i) {
  RailState& rail = session.rails[i];
  if (rail.greeted) return;
  const bool returns = rail.state == RailState::State::returning;
  const Note note{returns ? NoteKind::back : NoteKind::probe, i, 0,
                  returns ? rail.connection : session.round};
  if (frames_.send_note(session, i, note) != SendStatus::sent) return;
  rail.greeted = true;
  if (rail.welcomed) use_again(session, i);
}

void Returns::welcome(Session& session, std::uint8_t i, std::uint32_t connection) {
  RailState& rail = session.rails[i];
  if (rail.state != RailState::State::returning || rail.connection != connection || rail.welcomed)
    return losses_.suspect(session, i, "the peer returns to a session that has ended");
  rail.welcomed = true;
  if (rail.greeted) return use_again(session, i);
  greet(session, i);
}

void Returns::use_again(Session& session, std::uint8_t i) noexcept {
  ++session.usable_like(i);
  if (session.for_frames(i)) ++session.live;
  session.came_up(i);
}

void Returns::count(Session& session, std::uint8_t i, Clock::time_point now) {
  session.rails[i].returned_at = now;
  counters_.add(Counter::rails_returned);
  losses_.report_return(session, i);
}

}  // namespace lfc::bond
