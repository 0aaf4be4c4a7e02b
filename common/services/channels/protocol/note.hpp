// Note: a frame by which the two ends of a channel open it.
//
//   notes.send(key.end.peer, offer);
//
// offer: from the receiver; a channel exists for the messages of this key
// wish:  from the sender, the reply to an offer; it wants to use the channel
// open:  from the receiver, the reply to a wish; the sender may use the channel
// close: from the receiver; the sender had better use it no longer
#pragma once

#include <cstdint>

namespace lfc::channels {

enum class NoteKind : std::uint32_t { offer, wish, open, close };

struct Note {
  NoteKind kind = NoteKind::offer;
  std::uint32_t comm = 0;
  std::int32_t sender = 0, receiver = 0;  // ranks in the communicator
  std::int32_t tag = 0;
  std::uint32_t channel = 0;  // the receiver's number for it
  std::uint32_t wish = 0;     // the sender's number for its wish
  bool operator==(const Note&) const = default;
};

// Notes: sends notes. A note may be lost: the receiver offers again.
class Notes {
 public:
  virtual void send(std::uint32_t peer, const Note& note) = 0;

 protected:
  ~Notes() = default;
};

}  // namespace lfc::channels
