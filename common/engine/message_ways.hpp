// MessageWays: by which way each announced message comes to this process, where its link leaves that open
// (LinkTraits::either_way): takes the times that a WayChooser of its peer learns from, and counts the ways.
//
//   ways.choose(op);                       // op.native, and when it began
//   ways.copied(op, began);                // the link has copied it within the call that began then
//   ways.streamed(op);                     // its last frame has come
//
// The time of a streamed message begins with its request, or, when others are under way from its peer, with the end of
// the one before: so it is the time that it takes, not what waits before it. Meanwhile nothing may have been copied on
// this processor, else it does not count.
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

  // In ns. The only clock of the way of a message, and of large ones alone.
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
      peers_;  // by PeerId; of those from which messages are fetched
  std::uint64_t copies_ = 0;
};

}  // namespace lfc
