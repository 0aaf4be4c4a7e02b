#include "link/bond/connector.hpp"

#include <utility>

namespace lfc::bond {
namespace {

constexpr const char* kSection = "bond";

// A process that has connected to us has not sent its key. Until the key is known, only the peer can connect the other
// rails.
bool knows_key(Session& session, const FrameSink& sink) {
  if (session.address.has_key()) return true;
  const Address* published = sink.published(session.address);
  if (published == nullptr) return false;
  session.address = *published;
  return true;
}

}  // namespace

void Connector::publish(AddressWriter& writer) const {
  rails_.publish(writer);
  const Section section{kBondVersion, rails_.count(), 0};
  writer.add(kSection, std::as_bytes(std::span(&section, 1)));
}

void Connector::set_own_address(std::span<const std::byte> address) {
  choice_.set_own(address);
  rails_.set_own_address(address);
}

// Pairs our rails with the peer's, the best first. Reports each rail that is left out to the user, with the reason.
Session& Connector::begin(const Address& address, PeerId peer) {
  Session& session = sessions_.add(address, peer);
  const auto section = address.section(kSection);
  session.plain =
      section.size() != sizeof(Section) || section[0] != static_cast<std::byte>(kBondVersion);
  for (RailState& rail : session.rails) rail.state = RailState::State::lost;
  Pairing pairing = choice_.pairs_with(address, rails_.count());
  for (const RailPair& pair : pairing.pairs) {
    std::string why;
    if (pair.ours >= rails_.count()) continue;
    RailState& rail = session.rails[pair.ours];
    rail.theirs = pair.theirs;
    const bool for_frames = rails_[pair.ours].use == RailUse::all;
    if (for_frames) rail.rank = static_cast<std::uint8_t>(session.order.size());
    (for_frames ? session.order : session.wide).push_back(pair.ours);
    if (rails_[pair.ours].link->reach(address, why)) {
      rail.state = RailState::State::none;
      if (for_frames) ++session.live;
    } else {
      pairing.left_out.push_back({pair.ours, why});
    }
  }
  for (const RailLeftOut& each : pairing.left_out)
    if (choice_.is_news(each.ours, each.why)) losses_.report_loss(session, each.ours, each.why);
  sessions_.note_incomplete(session);
  return session;
}

// A rail that has been connected before is not used until the peer has confirmed its return.
void Connector::begin_connection(Session& session, std::uint8_t i) noexcept {
  RailState& rail = session.rails[i];
  if (rail.state == RailState::State::lost && rail.connection == 0 && session.for_frames(i))
    ++session.live;
  rail.begin_connection();
  if (rail.usable()) ++session.usable_like(i);
}

bool Connector::connect(PeerId peer, const Address& address, std::string& why_not) {
  if (Session* known = sessions_.of(peer)) {
    if (known->begun == Begun::peer) known->begun = Begun::both;
    if (known->state == Session::State::broken) {
      why_not = "the connection was lost before";
      return false;
    }
    if (known->state == Session::State::open)
      return known->connect_due || connect_rails(*known, why_not);
    sessions_.forget(*known);
  }
  const Session* older = sessions_.latest(address.identity().name);
  const bool closing = older != nullptr && older->state == Session::State::closing;
  Session& session = begin(address, peer);
  session.connect_due = closing;
  if (closing) {
    sessions_.make_restless(session);
    return true;
  }
  if (connect_rails(session, why_not)) return true;
  finish(session, Session::State::over);
  sessions_.forget(session);
  return false;
}

// Begins to connect over a rail that is not in use yet. False: the rail is lost.
bool Connector::join(Session& session, std::uint8_t i, std::string& why_not) {
  RailState& rail = session.rails[i];
  std::string why;
  if (rails_[i].link->connect(session.id, session.address, why)) {
    begin_connection(session, i);
    return true;
  }
  rail.state = RailState::State::lost;
  if (session.for_frames(i)) --session.live;
  why_not += (why_not.empty() ? "" : ", ") + rails_[i].label + ": " + why;
  sessions_.note_incomplete(session);
  losses_.report_loss(session, i, why);
  return false;
}

bool Connector::reconnect(Session& session, std::uint8_t i) {
  std::string why;
  if (!knows_key(session, sink_) || !rails_[i].link->connect(session.id, session.address, why))
    return false;
  begin_connection(session, i);
  return true;
}

bool Connector::connect_rails(Session& session, std::string& why_not) {
  session.connect_due = false;
  if (!knows_key(session, sink_)) return session.usable != 0;
  for (const std::uint8_t i : session.order) {
    if (session.rails[i].state != RailState::State::none) continue;
    if (session.plain && session.usable != 0) break;
    if (join(session, i, why_not) && session.plain) session.lead = i;
  }
  return session.usable != 0;
}

bool Connector::widen(Session& session) {
  if (!session.widen_due) return true;
  if (session.lead == kNoRail) return false;
  session.widen_due = false;
  if (session.plain || !knows_key(session, sink_)) return true;
  std::string why;
  for (const std::uint8_t i : session.wide)
    if (session.rails[i].state == RailState::State::none) join(session, i, why);
  return true;
}

// Ends a session of the peer's if the peer has ended it: then the connection of a rail that was up has ended without a
// report. False: a new connection on this rail may be a late one of the session.
bool Connector::end_after_peer(Session& session, std::uint8_t rail) {
  if (!session.rails[rail].up()) return false;
  transfers_.abandon(session);
  finish(session, Session::State::over);
  return true;
}

PeerId Connector::caller(std::uint8_t rail, const Address& from) {
  Session* session = sessions_.latest(from.identity().name);
  if (session != nullptr && session->state == Session::State::open) {
    if (session->address.identity().tag != from.identity().tag) return kNoPeer;
    if (session->connect_due) {
      Session* const older = awaited(*session);
      if (older != nullptr && !end_after_peer(*older, rail)) return kPeerLater;
    }
    const RailState& known = session->rails[rail];
    if (known.state == RailState::State::lost) {
      if (session->plain || known.theirs == kNoRail) return kNoPeer;
      if (!known.may_return()) return kPeerLater;  // its `leave` is on its way
    }
    if (known.up() && !session->for_frames(rail))
      return kNoPeer;  // a new session begins on a rail for frames
    if (end_after_peer(*session, rail)) session = nullptr;
  } else if (session != nullptr) {
    if (!end_after_peer(*session, rail)) return kPeerLater;  // its goodbye is on its way
    session = nullptr;
  }
  const bool first =
      rails_[rail].use == RailUse::all && choice_.may_call(from, rail, rails_.count());
  if (session == nullptr && !first) return kNoPeer;
  if (session == nullptr || session->begun == Begun::self) {
    const PeerId peer = sink_.on_connect(link_, from);
    if (peer == kNoPeer || (session != nullptr && session->peer != peer)) return kNoPeer;
    if (session == nullptr) {
      if (Session* earlier = sessions_.of(peer)) sessions_.forget(*earlier);
      session = &begin(from, peer);
      session->begun = Begun::peer;
    } else {
      session->begun = Begun::both;
    }
  }
  RailState& made = session->rails[rail];
  if (!made.connected()) begin_connection(*session, rail);
  if (session->plain) {
    session->lead = rail;
  } else {
    made.greeted = made.welcomed = false;  // it may replace one that had no frame but `enter`
    made.enter_due = true;
    sessions_.make_restless(*session);
  }
  return session->id;
}

void Connector::close_rails(Session& session) noexcept {
  for (std::uint8_t i = 0; i < rails_.count(); ++i) {
    RailState& rail = session.rails[i];
    if (rail.state == RailState::State::none) continue;
    if (rail.connected() || rail.close_due) rails_[i].link->close(session.id);
    rail.close_due = false;
    rail.state = RailState::State::lost;
  }
  session.usable = session.live = session.wider = 0;
}

void Connector::finish(Session& session, Session::State state) {
  if (session.state == Session::State::over) return;
  session.state = state;
  session.connect_due = false;
  close_rails(session);
  session.retained = {};
  session.arrivals = {};
  sessions_.end(session);
}

Session* Connector::awaited(const Session& session) const noexcept {
  for (const auto& older : sessions_.all())
    if (older != nullptr && older->state == Session::State::closing &&
        older->address.identity().name == session.address.identity().name)
      return older.get();
  return nullptr;
}

}  // namespace lfc::bond
