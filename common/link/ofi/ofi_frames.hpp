// OfiFrames: frames out and in over connections. Their numbers restore the order of frames that overtook one another.
// Control frames for which the provider has no room are held back.
//
//   SendStatus status = frames.send(peer, meta, slices, count);
//   frames.arrived(connection, sequence, frame);
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
  // Sends held frames, as far as there is room. False: the connection has failed.
  bool send_held(OfiConnection& connection) noexcept;
  // Writes a frame into `out`, padded so that the next one in a receive buffer is aligned.
  static std::size_t fill(std::byte* out, const OfiConnection& connection, std::uint32_t sequence,
                          Meta meta, const Slice* slices, int count, std::size_t payload) noexcept;
  // Passes a filled buffer to the provider, which owns it on success.
  ssize_t launch(const OfiConnection& connection, SendBuffer& buffer) noexcept;
  // Returns the frame without the padding behind it.
  static std::span<const std::byte> without_padding(std::span<const std::byte> frame) noexcept;
  void arrived(OfiConnection& connection, std::uint32_t sequence,
               std::span<const std::byte> frame) noexcept;

 private:
  SendStatus hold(OfiConnection& connection, Meta meta, const Slice* slices, int count,
                  std::size_t payload) noexcept;
  // Takes the next frame of the connection, whole.
  void accept(OfiConnection& connection, std::span<const std::byte> frame) noexcept;
  // Keeps a frame that has overtaken others, or that follows a lost one.
  void keep(OfiConnection& connection, std::uint32_t sequence,
            std::span<const std::byte> frame) noexcept;

  OfiShared& shared_;
  OfiConnections& connections_;
  const std::size_t inject_size_;
};

}  // namespace lfc
