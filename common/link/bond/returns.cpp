#include "link/bond/returns.hpp"

namespace lfc::bond {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};
constexpr unsigned kAttempts = 8;  // in one check, however many peers an interface has cut off

}  // namespace

void Returns::check(Clock::time_point present) {
  const Clock::time_point now = options_.now();
  if (now < next_) return;
  next_ = now + kPeriod;
  present_ = present;
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
    if (rail.up()) {
      if (rail.missed) count(session, i, now);
      continue;
    }
    entries_.enter_again(session, i, now);
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
    rail.returning_since = present_;
  } else if (present_ - rail.returning_since >= 2 * kLongestPause) {
    losses_.suspect(session, i, "its return was not confirmed");
  }
}

void Returns::count(Session& session, std::uint8_t i, Clock::time_point now) {
  session.rails[i].returned_at = now;
  counters_.add(Counter::rails_returned);
  losses_.report_return(session, i);
}

}  // namespace lfc::bond
