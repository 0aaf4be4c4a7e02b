#include "link/bond/rail_watch.hpp"

namespace lfc::bond {

bool RailWatch::has_work(const Session& session, std::uint8_t rail) const noexcept {
  return session.rails[rail].chunks != 0 || session.retained.on_rail(rail) != 0;
}

void RailWatch::check(Clock::time_point now) {
  if (now < next_) return;
  next_ = now + options_.rail_timeout / 16;
  for (const auto& session : sessions_.all())
    if (session != nullptr && session->usable + session->wider > 1 && !session->plain)
      check(*session, now);
}

void RailWatch::check(Session& session, Clock::time_point now) {
  const auto interval = options_.rail_timeout / 3;
  for (std::uint8_t i = 0; i < rails_.count(); ++i) {
    RailState& rail = session.rails[i];
    if (!rail.up()) continue;
    if (rail.progress != rail.progress_seen || !has_work(session, i)) {
      rail.progress_seen = rail.progress;
      rail.since = now;
      rail.awaited_round = 0;
      continue;
    }
    if (rail.awaited_round == 0) {
      if (now - rail.since < interval) continue;
      if (session.probes.witnessed == session.probes.round) ++session.probes.round;
      rail.awaited_round = session.probes.round;
      rail.limit = Clock::time_point::max();
      continue;
    }
    // A reply on this rail itself would have been progress.
    const bool witnessed = distance(rail.awaited_round, session.probes.witnessed) >= 0;
    if (witnessed && rail.limit == Clock::time_point::max()) rail.limit = now + 2 * interval;
    const bool needed = session.for_frames(i) && session.live == 1;
    if (now >= rail.limit && !needed)
      losses_.suspect(session, i, "it makes no progress while another rail of the same peer does");
  }
  if (session.probes.witnessed == session.probes.round) return;
  for (std::uint8_t i = 0; i < rails_.count(); ++i) {
    RailState& rail = session.rails[i];
    if (!rail.up() || rail.probed == session.probes.round) continue;
    if (frames_.send_note(session, i, {NoteKind::probe, i, 0, session.probes.round}) ==
        SendStatus::sent)
      rail.probed = session.probes.round;
  }
}

bool RailWatch::has_work() const noexcept {
  for (const auto& session : sessions_.all()) {
    if (session == nullptr || session->plain || session->usable + session->wider < 2) continue;
    for (std::uint8_t rail = 0; rail < rails_.count(); ++rail)
      if (has_work(*session, rail)) return true;
  }
  return false;
}

}  // namespace lfc::bond
