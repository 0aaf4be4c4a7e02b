// Service: an extension of the control program with frames of its own. It does work without the host: it forwards a
// multicast, combines an accumulate or matches a notification.
//
// A service runs inside the control program, in the thread that drives it, with the NI's lock held.
// It must not block, call the host, or call anything of the NI but its ServicePort. Its
// host side takes `Ni::Access` for the same functions, and reads the results that the service
// writes.
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
// Flow control is the NI's: a `service` frame takes a credit, which its sender gets back when the service releases
// the frame. So the peer's window bounds the frames that a service holds for a peer.
// `service_data` takes no credit and never waits for one: it is for bytes that the receiver has requested
// and has room for. A service that keeps a frame until it has sent another `service` frame itself
// (forwarding) must prove that no cycle of such waits exists.
// Source: LFC thesis 3.5 and 4.1 (the engine's work without the host).
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

// The value of a notification has so many bits; the others name the service.
inline constexpr unsigned kNotificationBits = 29;
inline constexpr std::uint32_t kNotificationMask = (1u << kNotificationBits) - 1;
static_assert(kServices <= 1u << (32 - kNotificationBits));
constexpr std::uint32_t notification_word(ServiceId id, std::uint32_t value) noexcept {
  return static_cast<std::uint32_t>(id) << kNotificationBits | (value & kNotificationMask);
}

class Service {
 public:
  using Verdict = lfc::Verdict;

  virtual ~Service() = default;
  // A frame arrived; `type` is service, service_data or service_ack; only a `service` frame has a
  // credit to hold. The bytes are valid during the call, 8-byte aligned, and untrusted.
  virtual Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) = 0;
  // A large `service` frame is arriving whose bytes the link can place behind the first kPlacedHead
  // (LinkTraits::placed_payload): FrameSink::place() and on_placed(). `release` counts when no bytes are left to come.
  virtual std::byte* place(PeerId /*peer*/, const Placing& /*frame*/) { return nullptr; }
  virtual Verdict on_placed(PeerId /*peer*/, const Placing& /*frame*/) {
    return Verdict::malformed;
  }
  // A put with a notification (MemoryPort::put_notified()) is in our memory. The value is untrusted.
  virtual Verdict on_notified(PeerId /*peer*/, std::uint32_t /*value*/) {
    return Verdict::malformed;
  }
  // A packet that was sent with a note and had to wait has left; `unreachable`: it has not, because the peer is lost.
  // Called in a pass, before on_lost().
  virtual void on_left(PeerId /*peer*/, std::uint64_t /*note*/, Result /*result*/) {}
  // The peer is lost; messages posted to it have been completed with `unreachable`. Called in a pass of the control
  // program, before work() and never inside a call of ServicePort, so a service may change any state of its own.
  // ServicePort::is_lost() is true before that.
  virtual void on_lost(PeerId peer) = 0;
  // Called once in the next pass after ServicePort::wake(). Returns true to be called again in the next pass.
  virtual bool work() { return false; }
};

}  // namespace lfc
