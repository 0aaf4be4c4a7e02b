#include "link/bond/numbered_frames.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/faults.hpp"
#include "base/limits.hpp"

namespace lfc::bond {
namespace {

constexpr int kMaxSlices = 15;

}  // namespace

// Returns the rail for a frame of this size: the lead, or for a large frame the rail with the least under way.
std::uint8_t NumberedFrames::rail_for(Session& session, std::size_t size) const noexcept {
  if (session.usable == 1) return session.lead;
  if (fault(Fault::rail_strays)) return session.best_up();
  if (size < limits::kBondSpread) return session.lead;
  std::uint8_t best = session.lead;
  for (const std::uint8_t i : session.order)
    if (session.rails[i].up() &&
        session.rails[i].in_flight_bytes < session.rails[best].in_flight_bytes)
      best = i;
  return best;
}

SendStatus NumberedFrames::send(Session& session, Meta meta, const Slice* slices,
                                int count) noexcept {
  if (session.lead == kNoRail) return SendStatus::again;
  const std::size_t size = total_size(slices, count);
  const bool control = !is_data(meta.type);
  const bool kept = session.keeps_frames();
  Retained& retained = session.retained;
  if (retained.unsent() != 0 && !control) return SendStatus::again;
  if (kept && !retained.has_room(size, control)) return SendStatus::again;
  std::uint8_t rail = rail_for(session, size);
  const std::uint32_t number = session.next_number;
  SendStatus status = transmit(session, rail, number, meta, slices, count, size);
  if (status != SendStatus::sent && rail != session.lead) [[unlikely]] {  // full, or just lost
    for (const std::uint8_t other : session.order) {
      if (other == rail || !session.rails[other].up()) continue;
      status = transmit(session, other, number, meta, slices, count, size);
      if (status != SendStatus::sent) continue;
      rail = other;
      break;
    }
  }
  if (status != SendStatus::sent) return SendStatus::again;
  ++session.next_number;
  if (kept) retained.push(number, meta, slices, count, size, rail);
  return SendStatus::sent;
}

SendStatus NumberedFrames::transmit(Session& session, std::uint8_t rail, std::uint32_t number,
                                    Meta meta, const Slice* slices, int count,
                                    std::size_t size) noexcept {
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
    losses_.suspect(session, rail, "closed by the peer");
  if (status != SendStatus::sent) return status;
  session.acknowledged_to_peer = head.acknowledged;
  session.bytes_since_ack = 0;
  counters_.add(rail_bytes(rail), size);
  if (size >= limits::kBondSpread) {
    state.in_flight.push_back(static_cast<std::uint32_t>(size));
    state.in_flight_bytes += size;
  }
  return status;
}

SendStatus NumberedFrames::send_note(Session& session, std::uint8_t rail,
                                     const Note& note) noexcept {
  const Head head{0, session.arrivals.complete()};
  const Note named{note.kind, session.rails[rail].theirs, 0, note.value};
  const Slice slices[] = {{&head, sizeof head}, {&named, sizeof named}};
  const SendStatus status = rails_[rail].link->send(session.id, {FrameType::rail}, slices, 2);
  if (status == SendStatus::broken) losses_.suspect(session, rail, "closed by the peer");
  if (status == SendStatus::sent) {
    session.acknowledged_to_peer = head.acknowledged;
    session.bytes_since_ack = 0;
  }
  return status;
}

bool NumberedFrames::send_unsent(Session& session) noexcept {
  Retained& retained = session.retained;
  while (Retained::Frame* frame = retained.first_unsent()) {
    const std::uint8_t rail = session.lead;
    if (rail == kNoRail) return false;
    const Slice slice{retained.bytes(*frame), frame->size};
    if (transmit(session, rail, frame->number, frame->meta, &slice, 1, frame->size) !=
        SendStatus::sent)
      return false;
    counters_.add(Counter::rail_frames_again);
    retained.sent(*frame, rail);
  }
  return true;
}

void NumberedFrames::acknowledge(Session& session, std::uint8_t rail) noexcept {
  const Note note{NoteKind::arrived, rail, 0, session.rails[rail].received};
  session.ack_due =
      session.state != Session::State::over &&
      (!session.rails[rail].up() || send_note(session, rail, note) != SendStatus::sent);
  if (session.ack_due) sessions_.make_restless(session);
}

bool NumberedFrames::send_goodbye(Session& session) noexcept {
  if (session.goodbye_sent) return true;
  session.goodbye_due = true;
  if (session.retained.unsent() != 0) return false;
  const Note note{NoteKind::goodbye, 0, 0, 0};
  const Slice slice{&note, sizeof note};
  if (send(session, {FrameType::rail}, &slice, 1) != SendStatus::sent) return false;
  session.goodbye_due = false;
  session.goodbye_sent = true;
  return true;
}

}  // namespace lfc::bond
