// RailWatch: rails that fall silent. A rail breaks by itself (its connection is reset), or no word comes, as when a
// link is cut. A peer that computes is silent too, but on all rails. So a rail that has work and makes no progress is
// probed together with all others; when another rail has answered that round and this one has not, some time later, it
// is given up. A rail wrongly given up costs speed, never a byte.
//
//   watch.check();                                  // now and then
//   bool timed = watch.has_work();                  // something is found by the clock only
//
// Held by tests/unit/link/bond/bond_test.cpp, "a peer that computes loses no rail; one rail that is silent goes in
// time".
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

  void check();
  // Whether any rail carries something that it may lose.
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
