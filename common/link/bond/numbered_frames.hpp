// NumberedFrames: the sending side of a session's stream: numbered frames over any rail, kept until the peer has them,
// acknowledgements, and notes about rails.
//
//   if (frames.send(session, meta, slices, count) == SendStatus::again) ...   // no room, or lost frames go first
//   frames.send_note(session, rail, {NoteKind::probe, rail, 0, round});
//   frames.acknowledge(session, rail);               // frames that have arrived
//   bool all = frames.send_unsent(session);          // frames of lost rails are sent again
//
// Invariants: a frame gets its number before it is sent, and keeps it when it is sent again; nothing is kept for a
// peer with one rail for frames (tests/unit/link/bond/bond_test.cpp). Threads: as the link's.
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
  // Sends a note without a number, on the rail that it is about.
  SendStatus send_note(Session& session, std::uint8_t rail, const Note& note) noexcept;
  // Sends the frames of lost rails again. False: some of them still wait.
  bool send_unsent(Session& session) noexcept;
  // Acknowledges the frames that have arrived. If the rail has no room, DeferredCalls tries again.
  void acknowledge(Session& session, std::uint8_t rail) noexcept;
  // Sends the goodbye, behind all frames. False: not yet.
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
