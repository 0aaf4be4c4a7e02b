// OfiFrames: frames out and in over channels: numbered, so that what the provider turned round is put right again, and
// control frames held back for which it has no room.
//
//   SendStatus status = frames.send(peer, meta, slices, count);
//   frames.arrived(channel, header.sequence, frame);
//   bool alive = frames.send_held(channel);            // as far as there is room
//
// Threads: as Link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "link/ofi/ofi_channels.hpp"

namespace lfc {

class OfiFrames {
 public:
  using Clock = OfiChannel::Clock;
  using State = OfiChannel::State;

  OfiFrames(OfiShared& shared, OfiChannels& channels) noexcept;

  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept;
  // Sends what is held, as far as there is room. False when the channel failed.
  bool send_held(OfiChannel& channel) noexcept;
  // Writes a frame into `out`, padded so that the next one in a receive buffer is aligned.
  static std::size_t fill(std::byte* out, const OfiChannel& channel, std::uint32_t sequence,
                          Meta meta, const Slice* slices, int count, std::size_t payload) noexcept;
  // Gives a filled buffer to the provider; on success it is the provider's.
  ssize_t launch(const OfiChannel& channel, SendBuffer& buffer) noexcept;
  // A frame as it came, without the padding behind it.
  static std::span<const std::byte> without_padding(std::span<const std::byte> frame) noexcept;
  void arrived(OfiChannel& channel, std::uint32_t sequence,
               std::span<const std::byte> frame) noexcept;

 private:
  SendStatus hold(OfiChannel& channel, Meta meta, const Slice* slices, int count,
                  std::size_t payload) noexcept;
  // The next frame of the channel, whole.
  void accept(OfiChannel& channel, std::span<const std::byte> frame) noexcept;
  // A frame that comes too soon, or after one that is lost.
  void keep(OfiChannel& channel, std::uint32_t sequence, std::span<const std::byte> frame) noexcept;

  OfiShared& shared_;
  OfiChannels& channels_;
  const std::size_t inject_size_;
};

}  // namespace lfc
