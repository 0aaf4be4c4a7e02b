// Numbered frames, acknowledgements and notes.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.hpp"
#include "base/faults.hpp"
#include "base/limits.hpp"
#include "link/bond/bond_link_impl.hpp"

namespace lfc::bond {
namespace {

constexpr int kMaxSlices = 15;

}  // namespace

// --- Sending ---

// The rail for a frame of this size: the lead; for a large one the rail with the least under way.
std::uint8_t BondLink::rail_for(Session& session, std::size_t size) const noexcept {
  if (session.usable == 1) return session.lead;
  if (fault(Fault::rail_strays)) return session.best_usable();
  if (size < limits::kBondSpread) return session.lead;
  std::uint8_t best = session.lead;
  for (const std::uint8_t i : session.order)
    if (session.rails[i].usable() &&
        session.rails[i].in_flight_bytes < session.rails[best].in_flight_bytes)
      best = i;
  return best;
}

SendStatus BondLink::send_numbered(Session& session, Meta meta, const Slice* slices,
                                   int count) noexcept {
  if (session.usable == 0 || session.connect_due) return SendStatus::again;
  const std::size_t size = total_size(slices, count);
  const bool control = !is_data(meta.type);
  const bool alone = session.live == 1;  // there is no other rail that frames could go over
  Retained& retained = session.retained;
  if (retained.unsent() != 0 && !control) return SendStatus::again;
  if (!alone && !retained.has_room(size, control)) return SendStatus::again;
  if (session.lead == kNoRail) [[unlikely]]
    session.lead = session.best_usable();
  std::uint8_t rail = rail_for(session, size);
  const std::uint32_t number = session.next_number;
  SendStatus status = transmit(session, rail, number, meta, slices, count, size);
  if (status != SendStatus::sent &&
      (rail != session.lead || session.rails[rail].state != RailState::State::up)) [[unlikely]] {
    // The rail is not up (yet): whichever is becomes the lead.
    for (const std::uint8_t other : session.order) {
      if (other == rail || !session.rails[other].usable()) continue;
      status = transmit(session, other, number, meta, slices, count, size);
      if (status != SendStatus::sent) continue;
      if (session.rails[session.lead].state != RailState::State::up) session.lead = other;
      rail = other;
      break;
    }
  }
  if (status != SendStatus::sent) return SendStatus::again;
  ++session.next_number;
  if (!alone) retained.push(number, meta, slices, count, size, rail);
  return SendStatus::sent;
}

SendStatus BondLink::transmit(Session& session, std::uint8_t rail, std::uint32_t number, Meta meta,
                              const Slice* slices, int count, std::size_t size) noexcept {
  const Head head{number, session.arrivals.complete()};
  std::array<Slice, kMaxSlices + 1> pieces;
  std::vector<std::byte> gathered;
  pieces[0] = {&head, sizeof head};
  if (count > kMaxSlices) [[unlikely]] {
    for (int i = 0; i < count; ++i) {
      const auto* bytes = static_cast<const std::byte*>(slices[i].data);
      gathered.insert(gathered.end(), bytes, bytes + slices[i].size);
    }
    pieces[1] = {gathered.data(), gathered.size()};
    count = 1;
  } else {
    std::copy(slices, slices + count, pieces.begin() + 1);
  }
  const SendStatus status = rails_[rail].link->send(session.id, meta, pieces.data(), count + 1);
  RailState& state = session.rails[rail];
  if (status == SendStatus::broken) [[unlikely]]
    suspect(session, rail, "closed by the peer");
  if (status != SendStatus::sent) return status;
  if (state.state != RailState::State::up) [[unlikely]]
    session.came_up(rail);
  session.told = head.acknowledged;
  session.untold_bytes = 0;
  counters_.add(rail_bytes(rail), size);
  if (size >= limits::kBondSpread) {
    state.in_flight.push_back(static_cast<std::uint32_t>(size));
    state.in_flight_bytes += size;
  }
  return status;
}

// A note without a number, on the rail that it is about.
SendStatus BondLink::send_note(Session& session, std::uint8_t rail, const Note& note) noexcept {
  const Head head{0, session.arrivals.complete()};
  const Note named{note.kind, session.rails[rail].theirs, 0, note.value};
  const Slice slices[] = {{&head, sizeof head}, {&named, sizeof named}};
  const SendStatus status = rails_[rail].link->send(session.id, {FrameType::rail}, slices, 2);
  if (status == SendStatus::broken) suspect(session, rail, "closed by the peer");
  if (status == SendStatus::sent) {
    session.told = head.acknowledged;
    session.untold_bytes = 0;
  }
  return status;
}

// Sends again what lost rails carried. False: some of it still waits.
bool BondLink::send_unsent(Session& session) noexcept {
  Retained& retained = session.retained;
  while (Retained::Frame* frame = retained.first_unsent()) {
    if (session.lead == kNoRail) session.lead = session.best_usable();
    if (session.lead == kNoRail) return false;
    const std::uint8_t rail = session.lead;
    const Slice slice{retained.bytes(*frame), frame->size};
    if (transmit(session, rail, frame->number, frame->meta, &slice, 1, frame->size) !=
        SendStatus::sent) {
      if (session.rails[rail].state != RailState::State::up) session.lead = kNoRail;
      return false;
    }
    counters_.add(Counter::rail_frames_again);
    retained.sent(*frame, rail);
  }
  if (session.live == 1) retained.clear();
  return true;
}

// --- Receiving ---

void BondLink::frame_on_rail(std::uint8_t rail, PeerId id, Meta meta,
                             std::span<const std::byte> payload) {
  Session* found = session(id);
  if (found == nullptr) return;
  Session& session = *found;
  if (session.state == Session::State::over || session.state == Session::State::broken) return;
  if (session.plain) return sink_.on_frame(session.peer, meta, payload);
  life(session, rail);
  const bool is_note = meta.type == FrameType::rail;
  if (payload.size() < sizeof(Head) || (is_note && payload.size() != sizeof(Head) + sizeof(Note)))
    return violation(session, "a frame without its head");
  const auto head = load_pod<Head>(payload.data());
  payload = payload.subspan(sizeof head);
  if (!session.acknowledge(head.acknowledged))
    return violation(session, "an acknowledgement of what was never sent");
  if (is_note) {
    const auto note = load_pod<Note>(payload.data());
    if (note.kind < NoteKind::arrived || note.kind > NoteKind::goodbye ||
        note.rail >= rails_.size())
      return violation(session, "an unknown note");
    if (!is_numbered(note.kind)) return note_on_rail(session, rail, note);
  }

  if (payload.size() >= limits::kBondSpread) ++session.rails[rail].received;
  session.untold_bytes += payload.size();
  Arrivals& arrivals = session.arrivals;
  switch (arrivals.judge(head.number)) {
    case Arrivals::Order::had:
      counters_.add(Counter::rail_duplicates);
      tell(session, rail);
      return;
    case Arrivals::Order::early:
      if (!arrivals.keep(head.number, meta, payload))
        return violation(session, "frames far ahead of what it may send");
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
  if (session.untold_bytes >= limits::kBondTellBytes ||
      distance(session.told, arrivals.complete()) >= limits::kBondTellFrames)
    tell(session, rail);
}

// Tells the peer what has arrived; if the rail has no room, attend() tries again.
void BondLink::tell(Session& session, std::uint8_t rail) noexcept {
  const Note note{NoteKind::arrived, rail, 0, session.rails[rail].received};
  session.tell_due =
      session.state != Session::State::over &&
      (!session.rails[rail].usable() || send_note(session, rail, note) != SendStatus::sent);
  if (session.tell_due) stir(session);
}

void BondLink::deliver(Session& session, Meta meta, std::span<const std::byte> payload) {
  if (meta.type != FrameType::rail) {
    if (session.state == Session::State::open) sink_.on_frame(session.peer, meta, payload);
    return;
  }
  const auto note = load_pod<Note>(payload.data());
  if (note.kind == NoteKind::leave) return peer_left(session, note.rail);
  // goodbye. If we have closed it too, ours has been sent or is due.
  if (session.state == Session::State::open) abandon_transfers(session);
  session.state = Session::State::ending;
  session.goodbye_due = !session.goodbye_sent;
  stir(session);
}

void BondLink::note_on_rail(Session& session, std::uint8_t rail, const Note& note) {
  RailState& state = session.rails[rail];
  switch (note.kind) {
    case NoteKind::arrived: return state.arrive(note.value);
    case NoteKind::probe:
      state.answer_due = note.value;
      if (state.usable() &&
          send_note(session, rail, {NoteKind::answer, rail, 0, note.value}) == SendStatus::sent)
        state.answer_due = 0;
      if (state.answer_due != 0) stir(session);
      return;
    case NoteKind::answer:
      if (distance(session.witnessed, note.value) > 0 && distance(note.value, session.round) >= 0)
        session.witnessed = note.value;
      return;
    default: return;
  }
}

void BondLink::violation(Session& session, std::string_view what) {
  counters_.add(Counter::frames_dropped);
  for (std::uint8_t rail = 0; rail < rail_count(); ++rail)
    suspect(session, rail, "the peer sent " + std::string(what));
}

}  // namespace lfc::bond
