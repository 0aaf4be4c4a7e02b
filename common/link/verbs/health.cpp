#include "link/verbs/health.hpp"

namespace lfc::verbs {

std::optional<Health::Loss> Health::next(Clock::time_point now) noexcept {
  Event event;
  while (device_.next_event(event)) {
    switch (event.kind) {
      case Event::Kind::none: break;
      case Event::Kind::port_down: too_long_at_ = now + longest_outage_; break;
      case Event::Kind::port_up: too_long_at_ = {}; break;
      case Event::Kind::pair_failed:
      case Event::Kind::device_failed: return Loss{event.queue_pair, event.text};
    }
  }
  if (!is_timed() || now < too_long_at_) return std::nullopt;
  too_long_at_ = now + longest_outage_;
  return Loss{kNoQueuePair, "the port is down"};
}

}  // namespace lfc::verbs
