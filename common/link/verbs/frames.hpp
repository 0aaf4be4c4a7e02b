// Frames: how frames go over channels in pieces, and the link's own credits, which promise that a receive buffer is
// there.
//
//   SendStatus status = frames.send(peer, meta, slices, count);
//   frames.on_sent(channel, number, status);     // completions
//   frames.on_receive(completion, index);
//   if (frames.owes()) frames.return_credits();
//
// Threads: as Link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "link/verbs/channels.hpp"

namespace lfc::verbs {

class Frames {
 public:
  using State = Channel::State;

  Frames(Shared& shared, Channels& channels) noexcept : shared_(shared), channels_(channels) {}
  bool open(std::string& why_not);
  // Bytes of the largest frame.
  std::size_t payload() const noexcept { return payload_; }

  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept;
  // A frame of the link's own.
  bool send_note(Channel& channel, std::uint8_t type) noexcept;
  void on_sent(Channel& channel, std::uint32_t number, ibv_wc_status status) noexcept;
  void on_receive(const ibv_wc& ended, std::uint32_t index) noexcept;
  bool owes() const noexcept { return !due_.empty(); }
  void return_credits() noexcept;
  // Sees to completions for what has left without.
  void ask_for_ends() noexcept;

 private:
  bool post(Channel& channel, Word word, ibv_sge* pieces, int count, const Work& work,
            bool more) noexcept;
  bool send_inline(Channel& channel, Word word, const Slice* slices, int count,
                   std::size_t size) noexcept;
  bool send_pieces(Channel& channel, Word word, const Slice* slices, int count,
                   std::size_t size) noexcept;
  std::uint8_t collect(Channel& channel) noexcept;
  // True: it has taken a credit.
  bool accept(Channel& channel, Word word, std::span<const std::byte> bytes) noexcept;
  void on_note(Channel& channel, std::uint8_t type) noexcept;

  Shared& shared_;
  Channels& channels_;
  std::size_t payload_ = 0;
  std::vector<Channel*> due_;
};

}  // namespace lfc::verbs
