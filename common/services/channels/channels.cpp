#include "services/channels/channels.hpp"

#include <new>

namespace lfc::channels {
namespace {

// PostedNote: a note that waits for room or a credit.
struct PostedNote : Message {
  PostedNote(std::uint8_t tag_of_notes, const NoteFrame& note_frame) : frame(note_frame) {
    slices[0] = {&frame, sizeof frame};
    slice_count = 1;
    tag = tag_of_notes;
    done = [](Message* self, Result) { delete static_cast<PostedNote*>(self); };
  }
  NoteFrame frame;
};

}  // namespace

// The note is lost if memory is short.
void Channels::send(std::uint32_t peer, const Note& note) {
  const NoteFrame frame{.note = note};
  if (send_now(peer, {&frame, sizeof frame}, {})) return;
  if (auto* const posted = new (std::nothrow) PostedNote(tag_, frame)) ni_.post(peer, *posted);
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
