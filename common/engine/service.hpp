// Service: an extension of the control program with frames of its own: what a component needs the
// NI to do without its host (forward a multicast, combine an accumulate, match a notification).
//
// A service runs inside the control program, in whichever thread drives it, with the NI's lock held:
// it must not block, call the host, or call anything of the NI but its ServicePort. Its
// host side takes `Ni::Access` for the same functions, and learns of results by looking at what
// the service writes.
//
//   class Echo : public Service {
//     Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> bytes) override {
//       if (type != FrameType::service) return Verdict::malformed;
//       ni_.services().ack(peer, ServiceId::test, bytes.data(), std::min<std::size_t>(bytes.size(), 24));
//       return Verdict::hold;                    // ack() has freed the buffer
//     }
//     void on_lost(PeerId) override {}
//   };
//   Echo echo;
//   ni.services().attach(ServiceId::test, &echo);
//
// Flow control is the NI's: a `service` frame takes a credit; its receive buffer stays taken until
// the service releases it, so what a service keeps for a peer is bounded by the peer's window.
// `service_data` takes none and never waits for one: it is for bytes that the receiver has asked for
// and has room for. Whoever keeps a frame until he has sent another `service` frame himself
// (forwarding) must prove that no cycle of such waits exists.
// Source: LFC thesis 3.5 and 4.1 (what the engine does by itself).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "link/link.hpp"
#include "wire/frame.hpp"
#include "wire/verdict.hpp"

namespace lfc {

// On the wire as Meta::tag.
enum class ServiceId : std::uint8_t {
  multicast,
  windows,
  neon,
  ordered,
  push,
  partitioned,
  test,
  count_
};
inline constexpr std::size_t kServices = static_cast<std::size_t>(ServiceId::count_);
constexpr std::size_t service_index(ServiceId id) noexcept { return static_cast<std::size_t>(id); }

class Service {
 public:
  using Verdict = lfc::Verdict;

  virtual ~Service() = default;
  // A frame arrived; `type` is service, service_data or service_ack; only a `service` frame has a
  // receive buffer to hold. The bytes are valid during the call, 8-byte aligned, and may be a lie.
  virtual Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) = 0;
  // Likewise, of a large `service` frame whose bytes the link can place (LinkTraits::placed_payload) as they come,
  // behind the first kPlacedHead: FrameSink::place() and on_placed(). `release` counts when nothing is left to come.
  virtual std::byte* place(PeerId /*peer*/, const Placing& /*frame*/) { return nullptr; }
  virtual Verdict on_placed(PeerId /*peer*/, const Placing& /*frame*/) {
    return Verdict::malformed;
  }
  // The peer is gone; what was posted to it has been completed with `unreachable`.
  virtual void on_lost(PeerId peer) = 0;
  // Called once in the next pass after ServicePort::wake(). True: again in the pass after that.
  virtual bool work() { return false; }
};

}  // namespace lfc
