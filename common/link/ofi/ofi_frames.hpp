// OfiFrames: frames out and in over connections: numbered, so that what the provider turned round is put right again,
// and control frames held back for which it has no room.
//
//   SendStatus status = frames.send(peer, meta, slices, count);
//   frames.arrived(connection, header.sequence, frame);
//   bool alive = frames.send_held(connection);            // as far as there is room
//
// Threads: as Link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "link/ofi/ofi_connections.hpp"

namespace lfc {

class OfiFrames {
 public:
  using Clock = OfiConnection::Clock;
  using State = OfiConnection::State;

  OfiFrames(OfiShared& shared, OfiConnections& connections) noexcept;

  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept;
  // Sends what is held, as far as there is room. False when the connection failed.
  bool send_held(OfiConnection& connection) noexcept;
  // Writes a frame into `out`, padded so that the next one in a receive buffer is aligned.
  static std::size_t fill(std::byte* out, const OfiConnection& connection, std::uint32_t sequence,
                          Meta meta, const Slice* slices, int count, std::size_t payload) noexcept;
  // Gives a filled buffer to the provider; on success it is the provider's.
  ssize_t launch(const OfiConnection& connection, SendBuffer& buffer) noexcept;
  // A frame as it came, without the padding behind it.
  static std::span<const std::byte> without_padding(std::span<const std::byte> frame) noexcept;
  void arrived(OfiConnection& connection, std::uint32_t sequence,
               std::span<const std::byte> frame) noexcept;

 private:
  SendStatus hold(OfiConnection& connection, Meta meta, const Slice* slices, int count,
                  std::size_t payload) noexcept;
  // The next frame of the connection, whole.
  void accept(OfiConnection& connection, std::span<const std::byte> frame) noexcept;
  // A frame that comes too soon, or after one that is lost.
  void keep(OfiConnection& connection, std::uint32_t sequence,
            std::span<const std::byte> frame) noexcept;

  OfiShared& shared_;
  OfiConnections& connections_;
  const std::size_t inject_size_;
};

}  // namespace lfc
