#include "services/channels/channels.hpp"

namespace lfc::channels {

static_assert(sizeof(NoteFrame) <= Packet::kHead);

// The note is lost if memory is short.
void Channels::send(std::uint32_t peer, const Note& note) try {
  const NoteFrame frame{.note = note};
  if (send_now(peer, {&frame, sizeof frame}, {})) return;
  const Ni::Access access(ni_);
  PacketPort& packets = ni_.services().packets();
  Packet packet = packets.make_message(tag_);
  packet.set_head(&frame, sizeof frame);
  packets.send(peer, std::move(packet));
} catch (const std::bad_alloc&) {
}

void Channels::on_note(PeerId from, const std::byte* frame, std::size_t size) {
  NoteFrame received;
  if (size != sizeof received) return;
  std::memcpy(&received, frame, sizeof received);
  if (received.note.kind == NoteKind::wish)
    receiver_.on_wish(from, received.note);
  else
    senders_.on_note(from, received.note);
}

}  // namespace lfc::channels
