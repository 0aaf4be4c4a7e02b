// Senders: the sending ends of a process's channels, and which of them are open.
//
//   Senders senders(notes);
//   Sender& sender = senders.use(end);        // MPI_Send_init
//   senders.on_note(from, note);              // an offer or an open has come from this peer
//   if (sender.channel != 0) ...              // messages may be sent on the channel
//   senders.leave(sender);                    // MPI_Request_free
//
// A sender exists while requests use it. They keep the communicator, so the name belongs to one communicator only.
// Threads: one. Tests: tests/unit/services/channels/handshake_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/channels/protocol/key_table.hpp"
#include "services/channels/protocol/note.hpp"

namespace lfc::channels {

struct Sender {
  explicit Sender(const End& its_end) : end(its_end) {}

  End end;
  std::uint32_t channel = 0;  // 0: not open
  std::uint32_t wish = 0;     // the last one that was sent
  std::uint32_t users = 0;
  bool refused = false;  // the receiver has closed the channel, and has not offered it again
};

class Senders {
 public:
  explicit Senders(Notes& notes) : notes_(notes) {}

  // Returns the sender of this end, for one more user. Throws std::bad_alloc.
  Sender& use(const End& end);
  // Removes the sender with its last user.
  void leave(Sender& sender) noexcept;
  void on_note(std::uint32_t from, const Note& note);
  const KeyTable<Sender>& all() const noexcept { return senders_; }
  // How many channels were opened.
  std::uint64_t opened() const noexcept { return opened_; }

 private:
  Notes& notes_;
  KeyTable<Sender> senders_;
  std::uint32_t wishes_ = 0;
  std::uint64_t opened_ = 0;
};

}  // namespace lfc::channels
