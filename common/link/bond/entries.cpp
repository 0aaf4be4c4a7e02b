#include "link/bond/entries.hpp"

namespace lfc::bond {

SendStatus Entries::send(Session& session, std::uint8_t i) noexcept {
  const RailState& rail = session.rails[i];
  const Head head{session.names.ours, session.names.theirs};
  const Note note{NoteKind::enter, rail.theirs, 0, rail.connection};
  const Slice slices[] = {{&head, sizeof head}, {&note, sizeof note}};
  const SendStatus status = rails_[i].link->send(session.id, {FrameType::rail}, slices, 2);
  if (status == SendStatus::broken) losses_.suspect(session, i, "closed by the peer");
  return status;
}

bool Entries::enter(Session& session, std::uint8_t i) noexcept {
  RailState& rail = session.rails[i];
  rail.enter_due = false;
  if (!rail.connected() || rail.greeted) return true;
  const SendStatus status = send(session, i);
  rail.enter_due = status == SendStatus::again;
  rail.greeted = status == SendStatus::sent;
  if (rail.entered()) use(session, i);
  return !rail.enter_due;
}

void Entries::enter_again(Session& session, std::uint8_t i, Clock::time_point now) noexcept {
  RailState& rail = session.rails[i];
  if (!rail.greeted || rail.welcomed || now < rail.enter_again_at) return;
  if (rail.enter_again_at != Clock::time_point{}) static_cast<void>(send(session, i));
  rail.enter_again_at = now + kFirstPause;
}

void Entries::welcome(Session& session, std::uint8_t i, const Head& head,
                      std::uint32_t connection) {
  RailState& rail = session.rails[i];
  if (!rail.connected()) return;  // given up meanwhile
  if (rail.connection != connection || !session.names.pair(head.number, head.acknowledged))
    return losses_.suspect(session, i, "its connection was made for a session that has ended");
  session.names.theirs = head.number;
  if (rail.welcomed) return;  // sent again
  rail.welcomed = true;
  if (rail.greeted) return use(session, i);
  if (!enter(session, i)) sessions_.make_restless(session);
}

void Entries::use(Session& session, std::uint8_t i) noexcept {
  if (session.rails[i].state == RailState::State::returning) {
    ++session.usable_like(i);
    if (session.for_frames(i)) ++session.live;
  }
  session.came_up(i);
  sessions_.make_restless(session);  // frames and transfers may wait for it
}

}  // namespace lfc::bond
