// MessageWays: chooses the way by which the bytes of each RTS message come to this process, if its link permits two
// (LinkTraits::either_way). It measures the times for the WayChooser of each peer, and counts the ways.
//
//   ways.choose(op);                       // sets op.native, and when it began
//   ways.copied(op, began);                // the link copied it within the call that began then
//   ways.streamed(op);                     // its last frame has come
//
// The time of a streamed message begins with its request or, if others from its peer are under way, with the end of the
// one before. So it excludes the time that the message waits. It does not count if this processor copied meanwhile.
// Held by tests/unit/engine/message_ways_test.cpp. Threads: under the NI's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/remote_memory.hpp"
#include "engine/way_chooser.hpp"
#include "stats/counters.hpp"

namespace lfc {

class MessageWays {
 public:
  explicit MessageWays(Counters& counters) : counters_(counters) {}

  // Returns the time in ns. Only large messages read this clock.
  static std::uint64_t now() noexcept;

  void choose(RemoteOp& op);
  void copied(const RemoteOp& op, std::uint64_t began) noexcept;
  void streamed(const RemoteOp& op) noexcept;

 private:
  struct PeerWays {
    WayChooser chooser;
    std::uint64_t last_end = 0;     // of a streamed message
    std::uint64_t last_copies = 0;  // copies_ at that time
  };

  void took(const RemoteOp& op, std::uint64_t began, std::uint64_t ended,
            bool undisturbed) noexcept;

  Counters& counters_;
  std::vector<std::unique_ptr<PeerWays>>
      peers_;  // by PeerId; only for peers from which messages are fetched
  std::uint64_t copies_ = 0;
};

}  // namespace lfc
