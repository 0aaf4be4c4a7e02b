// Channels: the channels of a process, on the engine. Its senders and its receiver exchange messages of one tag with
// those of other processes.
//
//   Channels channels(ni, matching, tag);
//   Sender& sender = channels.senders().use(end);
//   if (!channels.send(sender, {data, size})) send_otherwise();  // no channel is open, or there is no credit or room
//   Receive receive(channels.receiver().key(end));
//   channels.receiver().start(receive);
//   channels.on_message(peer, bytes, size);                      // a message of the tag has arrived
//   channels.stop();
//
// | message of the tag | begins with              | then                            |
// |--------------------|--------------------------|---------------------------------|
// | on a channel       | MessageHead, channel > 0 | the program's bytes             |
// | note               | 0                        | Note (protocol/note.hpp)        |
// Both processes run on one node, so the fields have the machine's byte order. A message of another size or channel is
// untrusted, and ignored.
//
// The rank sends and receives such messages in its own calls. So this is no Service, and uses the NI instead of ports.
// Threads: the rank's; stop() is for any. Tests: tests/unit/services/channels/over_engine_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/ni.hpp"
#include "lfc/channels.h"
#include "services/channels/protocol/note.hpp"
#include "services/channels/protocol/receiver.hpp"
#include "services/channels/protocol/senders.hpp"

namespace lfc::channels {

// The head of a message on a channel, with its name at the receiver.
struct MessageHead {
  std::uint32_t channel;
  std::int32_t rank, tag;
  std::uint16_t comm;
};
inline constexpr std::size_t kMessageHead = LFC_CHANNEL_HEAD;
static_assert(offsetof(MessageHead, comm) + sizeof(std::uint16_t) == kMessageHead);

struct NoteFrame {
  std::uint32_t no_channel = 0;
  Note note;
};

class Channels final : private Notes {
 public:
  Channels(Ni& ni, MatchingPort& matching, std::uint8_t tag)
      : ni_(ni), tag_(tag), receiver_(matching, *this, kMessageHead) {}
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  Senders& senders() noexcept { return senders_; }
  Receiver& receiver() noexcept { return receiver_; }
  // Whether channels with this peer are possible: a message must be in the receiver's memory when send() returns.
  bool reaches(PeerId peer) const noexcept {
    return peer != kNoPeer && ni_.link_traits(peer).arrives_in_send;
  }

  // Sends a message now, in the order of all messages to the peer. Returns false, and sends nothing, if that fails or
  // the channel is not open.
  [[gnu::always_inline]] bool send(const Sender& sender, Slice message) noexcept {
    if (sender.channel == 0) return false;
    const End& end = sender.end;
    const MessageHead head{sender.channel, end.self, end.name.tag,
                           static_cast<std::uint16_t>(end.name.comm)};
    return send_now(end.peer, {&head, kMessageHead}, message);
  }
  // Ends sending on channels, for good.
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

  // Handles a message of the tag that has come from this peer. May overwrite its head.
  [[gnu::always_inline]] void on_message(PeerId from, std::byte* frame, std::size_t size) {
    MessageHead head{};
    if (size < kMessageHead) return;
    std::memcpy(&head, frame, kMessageHead);
    if (head.channel != 0)
      receiver_.on_message(head.channel, {head.comm, head.rank, head.tag}, frame, size);
    else
      on_note(from, frame, size);
  }

 private:
  [[gnu::always_inline]] bool send_now(PeerId peer, Slice head, Slice body) noexcept {
    return !stopped_.load(std::memory_order_relaxed) &&
           ni_.try_send(peer, tag_, std::array{head, body}.data(), 2);
  }
  void send(std::uint32_t peer, const Note& note) override;
  void on_note(PeerId from, const std::byte* frame, std::size_t size);

  Ni& ni_;
  const std::uint8_t tag_;
  std::atomic<bool> stopped_{false};
  Receiver receiver_;
  Senders senders_{*this};
};

}  // namespace lfc::channels
