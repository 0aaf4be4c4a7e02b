#include "link/bond/bond_link.hpp"

#include <algorithm>
#include <cstring>

#include "base/limits.hpp"
#include "link/bond/bond_link_impl.hpp"

namespace lfc::bond {
namespace {

constexpr const char* kSection = "bond";
constexpr std::uint32_t kAttentive = 4096;  // polls without an event until a rail is polled rarely
constexpr std::uint64_t kQuietPeriod = 16;  // and then only each so many
constexpr std::uint64_t kTimePeriod = 16;   // polls between looks at the clock

// Who has connected to us has not told his key: until it is known the rails that are left are his to connect.
bool knows_key(Session& session, const FrameSink& sink) {
  if (session.address.has_key()) return true;
  const Address* published = sink.published(session.address);
  if (published == nullptr) return false;
  session.address = *published;
  return true;
}

}  // namespace

BondLink::BondLink(const BondOptions& options, const Identity& identity, FrameSink& sink,
                   Counters& counters)
    : Bond({.name = options.name, .wakes = true, .remote_memory = true}),
      options_(options),
      choice_(options.pair),
      identity_(identity),
      sink_(sink),
      counters_(counters) {
  for (std::uint8_t rail = 0; rail <= kMaxRails; ++rail)
    sinks_.push_back(std::make_unique<RailSink>(*this, rail));
}

// Says goodbye to all; each rail then does what it can for what is still on its way.
BondLink::~BondLink() {
  for (const auto& session : sessions_) {
    if (session == nullptr || session->plain || session->state != Session::State::open) continue;
    static_cast<void>(say_goodbye(*session));
  }
}

void BondLink::add_rail(std::string label, std::unique_ptr<Link> rail, RailUse use) {
  const std::size_t payload = rail->max_payload() - sizeof(Head);
  max_payload_ = rails_.empty() ? payload : std::min(max_payload_, payload);
  traits_.wakes = traits_.wakes && rail->traits().wakes;
  traits_.remote_memory = traits_.remote_memory && rail->traits().remote_memory;
  traits_.registration_costs |= rail->traits().registration_costs;
  rails_.push_back({std::move(label), std::move(rail), use});
}

void BondLink::publish(AddressWriter& writer) const {
  for (const Rail& rail : rails_) rail.link->publish(writer);
  const Section section{kBondVersion, static_cast<std::uint8_t>(rails_.size()), 0};
  writer.add(kSection, std::as_bytes(std::span(&section, 1)));
}

void BondLink::set_own_address(std::span<const std::byte> address) {
  choice_.set_own(address);
  for (const Rail& rail : rails_) rail.link->set_own_address(address);
}

bool BondLink::reach(const Address& peer, std::string& why_not) {
  for (const Rail& rail : rails_) {
    std::string why;
    if (rail.link->reach(peer, why)) return true;
    why_not += (why_not.empty() ? "" : ", ") + rail.label + ": " + why;
  }
  return false;
}

// --- Sessions ---

// Our rails that pair with one of the peer's, the best first; the user learns of each that does not, and why.
Session& BondLink::begin(const Address& address, PeerId peer) {
  Session& session = *sessions_.emplace_back(std::make_unique<Session>(address));
  session.id = static_cast<PeerId>(sessions_.size() - 1);
  session.peer = peer;
  const auto section = address.section(kSection);
  session.plain =
      section.size() != sizeof(Section) || section[0] != static_cast<std::byte>(kBondVersion);
  if (peer >= by_peer_.size()) by_peer_.resize(std::size_t{peer} + 1);
  by_peer_[peer] = &session;
  by_name_[address.identity().name.packed()] = &session;
  for (RailState& rail : session.rails) rail.state = RailState::State::lost;
  Pairing pairing = choice_.pairs_with(address, rail_count());
  for (const RailPair& pair : pairing.pairs) {
    std::string why;
    if (pair.ours >= rail_count()) continue;
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
    if (choice_.is_news(each.ours, each.why)) tell_user(session, each.ours, each.why);
  return session;
}

bool BondLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  if (Session* known = of(peer)) {
    if (known->state == Session::State::broken) {
      why_not = "the connection was lost before";
      return false;
    }
    if (known->state == Session::State::open)
      return known->connect_due || connect_rails(*known, why_not);
    forget(*known);
  }
  const auto older = by_name_.find(address.identity().name.packed());
  const bool closing = older != by_name_.end() && older->second->state == Session::State::closing;
  Session& session = begin(address, peer);
  session.connect_due = closing;
  if (closing) {
    stir(session);
    return true;
  }
  if (connect_rails(session, why_not)) return true;
  finish(session, Session::State::over);
  forget(session);
  return false;
}

// Begins to connect over a rail that is not in use yet.
bool BondLink::join(Session& session, std::uint8_t i, std::string& why_not) {
  RailState& rail = session.rails[i];
  std::string why;
  if (rails_[i].link->connect(session.id, session.address, why)) {
    rail.state = RailState::State::joining;
    ++session.usable_like(i);
    return true;
  }
  rail.state = RailState::State::lost;
  if (session.for_frames(i)) --session.live;
  why_not += (why_not.empty() ? "" : ", ") + rails_[i].label + ": " + why;
  tell_user(session, i, why);
  return false;
}

// Begins to connect over every rail for frames that is not in use yet. False: there is none.
bool BondLink::connect_rails(Session& session, std::string& why_not) {
  session.connect_due = false;
  if (!knows_key(session, sink_)) return session.usable != 0;
  for (const std::uint8_t i : session.order) {
    if (session.rails[i].state != RailState::State::none) continue;
    if (session.plain && session.usable != 0) break;
    if (join(session, i, why_not) && session.plain) session.lead = i;
  }
  return session.usable != 0;
}

// Likewise over those for chunks only, if that is due, once the peer is known to have this session. False: not yet.
bool BondLink::widen(Session& session) {
  if (!session.widen_due) return true;
  const bool known =
      session.lead != kNoRail && session.rails[session.lead].state == RailState::State::up;
  if (!known) return false;
  session.widen_due = false;
  if (session.plain || !knows_key(session, sink_)) return true;
  std::string why;
  for (const std::uint8_t i : session.wide)
    if (session.rails[i].state == RailState::State::none && !session.rails[i].peer_left)
      join(session, i, why);
  return true;
}

// A process connects over one of the rails. Its other rails follow, or have come before.
PeerId BondLink::caller(std::uint8_t rail, const Address& from) {
  const auto known = by_name_.find(from.identity().name.packed());
  Session* session = known == by_name_.end() ? nullptr : known->second;
  if (session != nullptr && session->state == Session::State::open) {
    if (session->address.identity().tag != from.identity().tag) return kNoPeer;
    if (session->connect_due) {
      // It calls anew, so it has done with the session whose end we are waiting for.
      for (const auto& older : sessions_)
        if (older != nullptr && older->state == Session::State::closing &&
            older->address.identity().name == from.identity().name)
          finish(*older, Session::State::over);
      session->connect_due = false;
    }
    const RailState::State state = session->rails[rail].state;
    if (state == RailState::State::lost) return kNoPeer;  // a rail that was lost stays so
    if (state == RailState::State::up) {
      if (!session->for_frames(rail))
        return kNoPeer;  // it would have called over another one before
      // The rail's connection has ended without a word to us: the peer has closed us and begins anew.
      abandon_transfers(*session);
      finish(*session, Session::State::over);
      session = nullptr;
    }
  } else if (session != nullptr) {
    finish(*session, Session::State::over);
    session = nullptr;
  }
  const bool first = rails_[rail].use == RailUse::all && choice_.may_call(from, rail, rail_count());
  if (session == nullptr && !first) return kNoPeer;
  if (session == nullptr || !session->announced) {
    const PeerId peer = sink_.on_connect(*this, from);
    if (peer == kNoPeer || (session != nullptr && session->peer != peer)) return kNoPeer;
    if (session == nullptr) {
      if (Session* earlier = of(peer)) forget(*earlier);
      session = &begin(from, peer);
      if (!session->rails[rail].live()) {  // but there the peer is
        session->rails[rail].state = RailState::State::none;
        ++session->live;
      }
    }
    session->announced = true;
  }
  RailState& state = session->rails[rail];
  if (state.state == RailState::State::none) {
    state.state = RailState::State::joining;
    ++session->usable_like(rail);
  }
  if (session->plain) session->lead = rail;
  return session->id;
}

void BondLink::close(PeerId peer) noexcept {
  Session* session = of(peer);
  if (session == nullptr) return;
  forget(*session);
  const bool talking = session->lead != kNoRail && !session->plain && !session->connect_due;
  if (session->state == Session::State::ending) return;  // our goodbye is due already
  if (session->state != Session::State::open || !talking) {
    abandon_transfers(*session);
    finish(*session, Session::State::over);
    return;
  }
  session->state = Session::State::closing;
  const bool hurry = session->chunks != 0;  // the caller takes its memory back now
  abandon_transfers(*session);
  const bool said = say_goodbye(*session);
  if (hurry) {
    finish(*session, Session::State::over);
  } else if (!said) {
    stir(*session);
  }
}

bool BondLink::say_goodbye(Session& session) {
  if (session.goodbye_sent) return true;
  session.goodbye_due = true;
  if (session.retained.unsent() != 0) return false;
  const Note note{NoteKind::goodbye, 0, 0, 0};
  const Slice slice{&note, sizeof note};
  if (send_numbered(session, {FrameType::rail}, &slice, 1) != SendStatus::sent) return false;
  session.goodbye_due = false;
  session.goodbye_sent = true;
  return true;
}

void BondLink::close_rails(Session& session) noexcept {
  for (std::uint8_t i = 0; i < rail_count(); ++i) {
    RailState& rail = session.rails[i];
    if (rail.state == RailState::State::none) continue;
    if (rail.usable() || rail.close_due) rails_[i].link->close(session.id);
    rail.close_due = false;
    rail.state = RailState::State::lost;
  }
  session.usable = session.live = session.wider = 0;
}

// No more of this session. Not to be called from inside a rail's poll() unless the rails' ends of it
// are known to be closed by the peer.
void BondLink::finish(Session& session, Session::State state) {
  if (session.state == Session::State::over) return;
  session.state = state;
  close_rails(session);
  session.retained = {};
  session.arrivals = {};
  const auto entry = by_name_.find(session.address.identity().name.packed());
  if (entry != by_name_.end() && entry->second == &session) by_name_.erase(entry);
  over_ = true;
}

// The NI does not know this session any more.
void BondLink::forget(Session& session) noexcept {
  if (session.peer != kNoPeer) by_peer_[session.peer] = nullptr;
  session.peer = kNoPeer;
  over_ = true;
}

void BondLink::bury() noexcept {
  over_ = false;
  for (auto& session : sessions_) {
    if (session == nullptr || session->peer != kNoPeer || session->restless) continue;
    if (session->state != Session::State::over && session->state != Session::State::broken)
      continue;
    if (session->chunks != 0) {
      over_ = true;
    } else {
      session.reset();
    }
  }
}

// --- The control program's turn ---

SendStatus BondLink::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  Session* session = of(peer);
  if (session == nullptr || session->state != Session::State::open) [[unlikely]]
    return SendStatus::broken;
  if (session->plain) return rails_[session->lead].link->send(session->id, meta, slices, count);
  return send_numbered(*session, meta, slices, count);
}

int BondLink::poll() noexcept {
  ++ticks_;
  int events = 0;
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    Rail& rail = rails_[i];
    if (rail.quiet >= kAttentive && (ticks_ + i) % kQuietPeriod != 0) {
      rail.link->push();
      continue;
    }
    const int found = rail.link->poll();
    rail.quiet = found != 0 ? 0 : std::min(rail.quiet + 1, kAttentive);
    events += found;
  }
  if (!restless_.empty()) events += attend();
  if (!cancelled_.empty()) {
    std::vector<Operation*> cancelled;
    cancelled.swap(cancelled_);
    for (Operation* operation : cancelled) operation->done(operation, Result::unreachable);
    events += static_cast<int>(cancelled.size());
  }
  if (ticks_ % kTimePeriod == 0) check_time();
  if (over_) bury();
  return events;
}

void BondLink::push() noexcept {
  for (const Rail& rail : rails_) rail.link->push();
}

std::chrono::nanoseconds BondLink::kept_since() const noexcept {
  std::chrono::nanoseconds oldest{0};
  for (const Rail& rail : rails_) {
    const std::chrono::nanoseconds since = rail.link->kept_since();
    if (since.count() != 0 && (oldest.count() == 0 || since < oldest)) oldest = since;
  }
  return oldest;
}

// The session wants something done outside of any rail's poll().
void BondLink::stir(Session& session) noexcept {
  if (session.restless) return;
  session.restless = true;
  restless_.push_back(&session);
}

int BondLink::attend() {
  std::vector<Session*> restless;
  restless.swap(restless_);
  int events = 0;
  for (Session* session : restless) {
    session->restless = false;
    if (settle(*session)) {
      stir(*session);
    } else {
      ++events;
    }
  }
  return events;
}

// Does what can be done now; true: something is left.
bool BondLink::settle(Session& session) {
  if (session.state == Session::State::over || session.state == Session::State::broken)
    return false;
  if (session.connect_due) {
    for (const auto& older : sessions_)
      if (older != nullptr && older->state == Session::State::closing &&
          older->address.identity().name == session.address.identity().name)
        return true;
    std::string why;
    if (!connect_rails(session, why)) {
      const PeerId peer = session.peer;
      finish(session, Session::State::broken);
      if (peer != kNoPeer) sink_.on_broken(peer, *this, why);
    }
    return false;
  }
  std::string why;
  for (std::uint8_t rail = 0; rail < rail_count(); ++rail) {
    if (!session.rails[rail].close_due) continue;
    why += (why.empty() ? "" : "; ") + rails_[rail].label + ": " + session.rails[rail].why;
    leave_rail(session, rail);
  }
  if (session.usable == 0 && session.state == Session::State::open && !session.plain)
    static_cast<void>(connect_rails(session, why));  // those that the peer was to connect
  if (session.usable == 0) {
    const bool open = session.state == Session::State::open;
    const PeerId peer = session.peer;
    if (open) abandon_transfers(session);
    finish(session, open ? Session::State::broken : Session::State::over);
    for (Operation* operation : std::exchange(cancelled_, {}))
      operation->done(operation, Result::unreachable);
    if (open && peer != kNoPeer) sink_.on_broken(peer, *this, why);
    return false;
  }

  bool rest = !send_unsent(session) || !widen(session);
  for (std::uint8_t rail = 0; rail < rail_count(); ++rail) {
    RailState& state = session.rails[rail];
    if (state.answer_due != 0 && state.usable()) {
      const Note note{NoteKind::answer, rail, 0, state.answer_due};
      if (send_note(session, rail, note) == SendStatus::sent) state.answer_due = 0;
      rest |= state.answer_due != 0;
    }
    if (state.leave_due) {
      const Note note{NoteKind::leave, state.theirs, 0, 0};
      const Slice slice{&note, sizeof note};
      state.leave_due = send_numbered(session, {FrameType::rail}, &slice, 1) != SendStatus::sent;
      rest |= state.leave_due;
    }
  }
  if (session.tell_due) {
    tell(session, session.best_usable());
    rest |= session.tell_due;
  }
  if (session.goodbye_due) rest |= !say_goodbye(session);
  // With puts and gets under way there is no waiting: their memory goes back to the caller.
  if (session.state == Session::State::ending && (session.goodbye_sent || session.chunks != 0)) {
    finish(session, Session::State::over);
    return false;
  }
  rest |= feed(session);
  for (const RailState& rail : session.rails) rest |= rail.close_due;
  return rest;
}

bool BondLink::drained() const noexcept {
  for (const auto& session : sessions_)
    if (session != nullptr && (session->retained.unsent() != 0 || session->goodbye_due))
      return false;
  return std::all_of(rails_.begin(), rails_.end(),
                     [](const Rail& rail) { return rail.link->drained(); });
}

std::size_t BondLink::memory() const noexcept {
  std::size_t bytes = 0;
  for (const Rail& rail : rails_) bytes += rail.link->memory();
  for (const auto& session : sessions_)
    if (session != nullptr) bytes += session->retained.memory() + session->arrivals.memory();
  return bytes;
}

}  // namespace lfc::bond

namespace lfc {

std::unique_ptr<Bond> make_bond_link(const BondOptions& options, const Identity& identity,
                                     FrameSink& sink, Counters& counters) {
  return std::make_unique<bond::BondLink>(options, identity, sink, counters);
}

std::size_t bond_peer_memory() noexcept {
  return bond::Retained::kMostMemory + limits::kBondBytes + bond::Retained::kControlBytes;
}

}  // namespace lfc
