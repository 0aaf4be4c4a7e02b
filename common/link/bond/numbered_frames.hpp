// NumberedFrames: the sending side of a session's stream: frames with numbers over whichever rail, kept until the peer
// has them, acknowledgements, and notes about rails.
//
//   if (frames.send(session, meta, slices, count) == SendStatus::again) ...   // no room, or what was lost goes first
//   frames.send_note(session, rail, {NoteKind::probe, rail, 0, round});
//   frames.tell(session, rail);                      // what has arrived
//   bool all = frames.send_unsent(session);          // what lost rails carried goes again
//
// Invariants: a frame has its number before it is sent, and keeps it wherever it goes again; nothing is kept while
// there is no other rail that it could go over (tests/unit/link/bond/bond_test.cpp). Threads: as the link's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "link/bond/losses.hpp"

namespace lfc::bond {

class NumberedFrames {
 public:
  NumberedFrames(Rails& rails, Sessions& sessions, Losses& losses, Counters& counters) noexcept
      : rails_(rails), sessions_(sessions), losses_(losses), counters_(counters) {}

  SendStatus send(Session& session, Meta meta, const Slice* slices, int count) noexcept;
  // A note without a number, on the rail that it is about.
  SendStatus send_note(Session& session, std::uint8_t rail, const Note& note) noexcept;
  // Sends again what lost rails carried. False: some of it still waits.
  bool send_unsent(Session& session) noexcept;
  // Tells the peer what has arrived; if the rail has no room, the session's errands try again.
  void acknowledge(Session& session, std::uint8_t rail) noexcept;
  // False: not yet.
  bool send_goodbye(Session& session) noexcept;

 private:
  std::uint8_t rail_for(Session& session, std::size_t size) const noexcept;
  SendStatus transmit(Session& session, std::uint8_t rail, std::uint32_t number, Meta meta,
                      const Slice* slices, int count, std::size_t size) noexcept;

  Rails& rails_;
  Sessions& sessions_;
  Losses& losses_;
  Counters& counters_;
};

}  // namespace lfc::bond
