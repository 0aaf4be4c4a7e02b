#include "services/windows/protocol/protocol.hpp"

namespace lfc::rma {

Verdict Protocol::on_head(Rank from, const WindowHead& head, std::span<const std::byte> rest) {
  switch (static_cast<WindowKind>(head.kind)) {
    case WindowKind::put:
    case WindowKind::accumulate:
    case WindowKind::get:
    case WindowKind::fetch:
    case WindowKind::compare_swap: return target.serve(from, head, rest);
    case WindowKind::bundle: return target.serve_bundle(from, head, rest);
    case WindowKind::lock: return target.on_lock(from, head);
    case WindowKind::granted: {
      OriginPeer* const holder = origin.find(from);
      return holder != nullptr ? origin.on_granted(*holder) : Verdict::malformed;
    }
    case WindowKind::unlock: return target.end_lock(from, head);
    case WindowKind::post: origin.on_post(origin.use(from)); return Verdict::release;
    case WindowKind::complete: return target.end_access(from, head);
    default: return Verdict::malformed;
  }
}

WindowStatus status_of(const WindowAck& ack) noexcept {
  return ack.status <= static_cast<std::uint8_t>(WindowStatus::memory)
             ? static_cast<WindowStatus>(ack.status)
             : WindowStatus::invalid;
}

}  // namespace lfc::rma
