// MulticastOptions and MulticastStats: the options and the statistics of a Multicast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "lfc/words.h"

namespace lfc {

// When a packet of a tree that is not monotone is suspected of being in a deadlock: never, so that such trees are the
// user's own risk; when no packet has left for its child for a while (LFC thesis 5.3.2); as soon as it has to wait for
// a credit (LFC thesis 4.3).
#define LFC_SUSPICIONS(ROW) ROW(never, "never") ROW(timer, "timer") ROW(immediate, "immediate")
enum class Suspicion : std::uint8_t { LFC_SUSPICIONS(LFC_VALUE) };
inline constexpr std::array kSuspicionNames{LFC_SUSPICIONS(LFC_WORD)};

struct MulticastOptions {
  // Largest number of bytes that one member of a group may have sent and another member has not taken yet. A packet
  // counts as its size plus MulticastPacket::kCost. A group that exceeds the limit is given up.
  std::size_t share = std::size_t{64} << 20;
  // The same limit for the packets of all groups not joined yet. A peer that exceeds it is disconnected.
  std::size_t early = limits::kMulticastEarly;
  bool forward_in_host = false;  // packets go on only when serve() is called (for comparison)
  Suspicion recovery = Suspicion::never;  // the same in all processes
  // Time until the timer suspects a queue that does not move, in units of `clock`. The timer draws between it
  // and twice that at random, so that not all members of a deadlock recover.
  std::uint64_t delay = 500'000;
  std::uint64_t (*clock)(const void* context) = nullptr;  // null: nanoseconds
  const void* clock_context = nullptr;
};

struct MulticastStats {
  std::uint64_t sent = 0;       // packets sent as origin, once for each child
  std::uint64_t forwarded = 0;  // packets sent on, once for each child
  std::uint64_t taken = 0;      // packets that arrived for this process
  std::uint64_t kept = 0;       // packets kept for a child or the receiver
  std::uint64_t blocked = 0;    // sends that had to wait for a credit or for room
  std::uint64_t early = 0;      // packets that came before their group was joined
  std::uint64_t stored = 0;     // bytes of packets not taken, with MulticastPacket::kCost each, now
  std::uint64_t most_stored = 0;  // the highest value of `stored` so far
};

}  // namespace lfc
