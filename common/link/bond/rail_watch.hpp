// RailWatch: detection of rails on which nothing arrives. A broken rail reports itself when its connection is reset,
// but not when a cable is cut. A peer that computes sends nothing either, but on all rails. So when a rail that has
// work makes no progress, all rails are probed. If another rail has replied in that round and this one has not some
// time later, it is given up. Time in which this process does not poll does not count: replies may lie unread. A rail
// wrongly given up costs speed, never a byte.
//
//   watch.check(present);                           // now and then
//   bool timed = watch.has_work();                  // losses are detected by a timer only
//
// Held by tests/unit/link/bond/bond_test.cpp, "a peer that computes loses no rail, and one rail without replies is
// given up in time".
// Threads: as the link's.
#pragma once

#include <cstdint>

#include "link/bond/numbered_frames.hpp"

namespace lfc::bond {

class RailWatch {
 public:
  RailWatch(Rails& rails, Sessions& sessions, Losses& losses, NumberedFrames& frames,
            const BondOptions& options) noexcept
      : rails_(rails), sessions_(sessions), losses_(losses), frames_(frames), options_(options) {}

  // `now`: the bond's PresentTime.
  void check(Clock::time_point now);
  // True: some rail carries frames or chunks that it may lose.
  bool has_work() const noexcept;

 private:
  bool has_work(const Session& session, std::uint8_t rail) const noexcept;
  void check(Session& session, Clock::time_point now);

  Rails& rails_;
  Sessions& sessions_;
  Losses& losses_;
  NumberedFrames& frames_;
  const BondOptions& options_;
  Clock::time_point next_{};
};

}  // namespace lfc::bond
