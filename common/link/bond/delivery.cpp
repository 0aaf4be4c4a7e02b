#include "link/bond/delivery.hpp"

#include <string>

#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace lfc::bond {
namespace {

bool is_enter(Meta meta, std::span<const std::byte> payload) noexcept {
  return meta.type == FrameType::rail && load_pod<Note>(payload.data()).kind == NoteKind::enter;
}

}  // namespace

void Delivery::on_rail_frame(std::uint8_t rail, PeerId id, Meta meta,
                             std::span<const std::byte> payload) {
  Session* found = sessions_.by_id(id);
  if (found == nullptr) return;
  Session& session = *found;
  if (session.state == Session::State::over || session.state == Session::State::broken) return;
  if (session.plain) return sink_.on_frame(session.peer, meta, payload);
  losses_.life(session, rail);
  const bool is_note = meta.type == FrameType::rail;
  if (payload.size() < sizeof(Head) || (is_note && payload.size() != sizeof(Head) + sizeof(Note)))
    return violation(session, "a frame without its head");
  const auto head = load_pod<Head>(payload.data());
  payload = payload.subspan(sizeof head);
  // Before both ends have sent `enter`, the connection may be one of another session.
  if (!session.rails[rail].entered() || is_enter(meta, payload))
    return on_enter(session, rail, head, meta, payload);
  if (!session.acknowledge(head.acknowledged))
    return violation(session, "an acknowledgement of frames that were never sent");
  if (is_note) {
    const auto note = load_pod<Note>(payload.data());
    if (note.kind < NoteKind::arrived || note.kind > NoteKind::goodbye ||
        note.rail >= rails_.count())
      return violation(session, "an unknown note");
    if (!is_numbered(note.kind)) return on_note(session, rail, note);
  }

  if (payload.size() >= limits::kBondSpread) ++session.rails[rail].received;
  session.bytes_since_ack += payload.size();
  Arrivals& arrivals = session.arrivals;
  switch (arrivals.judge(head.number)) {
    case Arrivals::Order::had:
      counters_.add(Counter::rail_duplicates);
      frames_.acknowledge(session, rail);
      return;
    case Arrivals::Order::early:
      if (!arrivals.keep(head.number, meta, payload))
        return violation(session, "frames far beyond its window");
      break;
    case Arrivals::Order::due:
      arrivals.next();
      deliver(session, meta, payload);
      while (session.state != Session::State::over) {
        const auto kept = arrivals.take_due();
        if (!kept) break;
        deliver(session, kept->meta, kept->bytes);
      }
      break;
  }
  if (session.bytes_since_ack >= limits::kBondAckBytes ||
      distance(session.acknowledged_to_peer, arrivals.complete()) >= limits::kBondAckFrames)
    frames_.acknowledge(session, rail);
}

void Delivery::on_enter(Session& session, std::uint8_t rail, const Head& head, Meta meta,
                        std::span<const std::byte> payload) {
  if (!is_enter(meta, payload))
    return losses_.suspect(session, rail, "the peer did not begin its connection by `enter`");
  entries_.welcome(session, rail, head, load_pod<Note>(payload.data()).value);
}

void Delivery::deliver(Session& session, Meta meta, std::span<const std::byte> payload) {
  if (meta.type != FrameType::rail) {
    if (session.state == Session::State::open) sink_.on_frame(session.peer, meta, payload);
    return;
  }
  const auto note = load_pod<Note>(payload.data());
  if (note.kind == NoteKind::leave) return losses_.peer_left(session, note.rail, note.value);
  // A goodbye. If we have closed the session too, our goodbye has been sent or is due.
  if (session.state == Session::State::open) transfers_.abandon(session);
  session.state = Session::State::ending;
  session.goodbye_due = !session.goodbye_sent;
  sessions_.make_restless(session);
}

void Delivery::on_note(Session& session, std::uint8_t rail, const Note& note) {
  RailState& state = session.rails[rail];
  switch (note.kind) {
    case NoteKind::arrived: return state.arrive(note.value);
    case NoteKind::probe:
      state.reply_due = note.value;
      if (state.up() && frames_.send_note(session, rail, {NoteKind::reply, rail, 0, note.value}) ==
                            SendStatus::sent)
        state.reply_due = 0;
      if (state.reply_due != 0) sessions_.make_restless(session);
      return;
    case NoteKind::reply:
      if (distance(session.probes.witnessed, note.value) > 0 &&
          distance(note.value, session.probes.round) >= 0)
        session.probes.witnessed = note.value;
      return;
    default: return;
  }
}

void Delivery::violation(Session& session, std::string_view what) {
  counters_.add(Counter::frames_dropped);
  for (std::uint8_t rail = 0; rail < rails_.count(); ++rail)
    losses_.suspect(session, rail, "the peer sent " + std::string(what));
}

void Delivery::on_rail_broken(std::uint8_t rail, PeerId id, std::string_view why) {
  Session* found = sessions_.by_id(id);
  if (found != nullptr) losses_.broke(*found, rail, why);
}

}  // namespace lfc::bond
