#include "link/bond/deferred_calls.hpp"

#include <string>
#include <utility>
#include <vector>

namespace lfc::bond {

int DeferredCalls::run() {
  int events = 0;
  for (Session* session : sessions_.take_restless()) {
    session->restless = false;
    if (settle(*session)) {
      sessions_.make_restless(*session);
    } else {
      ++events;
    }
  }
  return events;
}

// Makes the calls that are possible now. True: some are left.
bool DeferredCalls::settle(Session& session) {
  if (session.connect_due && connect(session)) return true;
  if (session.state == Session::State::over || session.state == Session::State::broken)
    return false;
  if (!leave_lost_rails(session)) return false;
  bool rest = !frames_.send_unsent(session) || !connector_.widen(session);
  rest |= send_notes(session);
  if (session.ack_due && session.lead != kNoRail) frames_.acknowledge(session, session.lead);
  rest |= session.ack_due;
  if (session.goodbye_due) rest |= !frames_.send_goodbye(session);
  // With puts and gets under way it does not wait, because their memory goes back to the caller.
  if (session.state == Session::State::ending && (session.goodbye_sent || session.chunks != 0)) {
    connector_.finish(session, Session::State::over);
    return false;
  }
  rest |= transfers_.feed(session);
  for (const RailState& rail : session.rails) rest |= rail.close_due;
  return rest;
}

// Connects once the older session with the same process has ended. True: it has not.
bool DeferredCalls::connect(Session& session) {
  if (connector_.awaited(session) != nullptr) return true;
  std::string why;
  if (!connector_.connect_rails(session, why)) {
    const PeerId peer = session.peer;
    connector_.finish(session, Session::State::broken);
    if (peer != kNoPeer) sink_.on_broken(peer, link_, why);
  }
  return false;
}

// False: no rail is left, and the session has ended.
bool DeferredCalls::leave_lost_rails(Session& session) {
  std::string why;
  for (std::uint8_t rail = 0; rail < rails_.count(); ++rail) {
    if (!session.rails[rail].close_due) continue;
    why += (why.empty() ? "" : "; ") + rails_[rail].label + ": " + session.rails[rail].why;
    losses_.leave(session, rail);
  }
  if (session.usable == 0 && session.state == Session::State::open && !session.plain)
    static_cast<void>(
        connector_.connect_rails(session, why));  // rails that the peer should have connected
  if (session.usable != 0) return true;
  const bool open = session.state == Session::State::open;
  // A late connection of a session that has ended began this one: to the NI the peer is as before.
  if (session.begun == Begun::peer && session.names.theirs == 0 && !session.plain &&
      !session.names.first)
    sessions_.forget(session);
  const PeerId peer = session.peer;
  if (open) transfers_.abandon(session);
  connector_.finish(session, open ? Session::State::broken : Session::State::over);
  transfers_.complete_cancelled();
  if (open && peer != kNoPeer) sink_.on_broken(peer, link_, why);
  return false;
}

// Our `enter` on new connections, replies to probes, and notes about rails that we have left. True: some still wait.
bool DeferredCalls::send_notes(Session& session) {
  bool rest = false;
  for (std::uint8_t rail = 0; rail < rails_.count(); ++rail) {
    RailState& state = session.rails[rail];
    if (state.enter_due) rest |= !entries_.enter(session, rail);
    if (state.reply_due != 0 && state.up()) {
      const Note note{NoteKind::reply, rail, 0, state.reply_due};
      if (frames_.send_note(session, rail, note) == SendStatus::sent) state.reply_due = 0;
      rest |= state.reply_due != 0;
    }
    if (state.leave_due) {
      const Note note{NoteKind::leave, state.theirs, 0, state.connection};
      const Slice slice{&note, sizeof note};
      state.leave_due = frames_.send(session, {FrameType::rail}, &slice, 1) != SendStatus::sent;
      rest |= state.leave_due;
    }
  }
  return rest;
}

}  // namespace lfc::bond
