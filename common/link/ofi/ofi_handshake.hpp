// OfiHandshake: the handshake frames of a libfabric link: a hello, repeated until the reply arrives, the reply
// (hello_ack), and the goodbye. Hello and reply prove that their sender knows the key of the process that the hello is
// for.
//
//   handshake.on_hello(payload);
//   handshake.on_hello_ack(connection, payload);
//   bool goes_on = handshake.advance(connection, now);     // sends due frames; false: it has ended
//
// Threads: as Link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "link/ofi/ofi_frames.hpp"

namespace lfc {

class OfiHandshake {
 public:
  using Clock = OfiConnection::Clock;
  using State = OfiConnection::State;

  OfiHandshake(OfiShared& shared, OfiConnections& connections, OfiFrames& frames) noexcept
      : shared_(shared), connections_(connections), frames_(frames) {}
  void set_own_address(std::span<const std::byte> address);

  void on_hello(std::span<const std::byte> payload);
  void on_hello_ack(OfiConnection& connection, std::span<const std::byte> payload) noexcept;
  bool advance(OfiConnection& connection, Clock::time_point now) noexcept;
  // The provider lost a handshake frame: it is sent again.
  void repeat(OfiConnection& connection) noexcept;

 private:
  enum class Sent : std::uint8_t { yes, no_room, failed };
  Sent send(OfiConnection& connection, FrameType type, std::uint32_t sequence) noexcept;

  OfiShared& shared_;
  OfiConnections& connections_;
  OfiFrames& frames_;
  std::vector<std::byte> own_address_;
};

}  // namespace lfc
