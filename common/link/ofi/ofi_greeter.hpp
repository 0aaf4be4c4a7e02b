// OfiGreeter: the handshake frames of a libfabric link: a hello, repeated until it is answered, the answer, and the
// goodbye. Each of both proves that it knows the key of who was asked.
//
//   greeter.on_hello(payload);
//   greeter.on_hello_ack(channel, payload);
//   bool goes_on = greeter.attend(channel, now);      // sends what is due; false: the channel has ended
//
// Threads: as Link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "link/ofi/ofi_frames.hpp"

namespace lfc {

class OfiGreeter {
 public:
  using Clock = OfiChannel::Clock;
  using State = OfiChannel::State;

  OfiGreeter(OfiShared& shared, OfiChannels& channels, OfiFrames& frames) noexcept
      : shared_(shared), channels_(channels), frames_(frames) {}
  void set_own_address(std::span<const std::byte> address);

  void on_hello(std::span<const std::byte> payload);
  void on_hello_ack(OfiChannel& channel, std::span<const std::byte> payload) noexcept;
  bool attend(OfiChannel& channel, Clock::time_point now) noexcept;
  // The provider lost a handshake frame.
  void repeat(OfiChannel& channel) noexcept;

 private:
  enum class Sent : std::uint8_t { yes, no_room, failed };
  Sent send(OfiChannel& channel, FrameType type, std::uint32_t sequence) noexcept;

  OfiShared& shared_;
  OfiChannels& channels_;
  OfiFrames& frames_;
  std::vector<std::byte> own_address_;
};

}  // namespace lfc
