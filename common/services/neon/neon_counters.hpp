// NeonCounters: names and meanings of NEON's counters, and their sum over the windows of a process.
//
//   neon::Statistics sum;
//   add_statistics(sum, window.neon().statistics());
//   for (const NeonCounter& each : kNeonCounters) print(each.name, sum.*each.value);
#pragma once

#include <array>
#include <cstdint>

#include "services/neon/protocol/carrier.hpp"
#include "stats/counter_room.hpp"

namespace lfc {

struct NeonCounter {
  const char* name;
  const char* help;
  std::uint64_t neon::Statistics::*value;
  bool level = false;  // it may fall, or is a maximum; else it counts events
};

// All members of neon::Statistics, in the order in which a line of statistics shows them.
inline constexpr std::array kNeonCounters{
    NeonCounter{"frames", "frames of NEON that were sent", &neon::Statistics::frames},
    NeonCounter{"early", "frames that arrived before their announcement", &neon::Statistics::early},
    NeonCounter{"hybrid",
                "rounds of an origin of which a part had arrived when they were announced",
                &neon::Statistics::hybrid},
    NeonCounter{"parked", "bytes that wait for their announcement now, 64 per frame included",
                &neon::Statistics::parked, true},
    NeonCounter{"parked_most", "most bytes that ever waited for it, added up over the windows",
                &neon::Statistics::parked_most, true},
    NeonCounter{"deferred", "requests for an announcement, by puts and gets that wait for it",
                &neon::Statistics::deferred},
    NeonCounter{"grants", "announcements that were sent to origins on request",
                &neon::Statistics::grants},
    NeonCounter{"written", "puts that went straight into announced memory",
                &neon::Statistics::written},
    NeonCounter{"puts_notified", "writes of the link that took their notification with them",
                &neon::Statistics::puts_notified},
    NeonCounter{"keyless", "puts and grants without a notification key, though the link notifies",
                &neon::Statistics::keyless},
    NeonCounter{"refused", "writes with a notification that the link refused",
                &neon::Statistics::refused},
    NeonCounter{"mapped", "puts and gets by loads and stores in mapped windows, without a frame",
                &neon::Statistics::mapped},
    NeonCounter{"late", "frames for an announcement that was withdrawn", &neon::Statistics::late},
    NeonCounter{"overruns", "frames that did not fit their buffer and were discarded",
                &neon::Statistics::overruns},
};
static_assert(sizeof(neon::Statistics) == kNeonCounters.size() * sizeof(std::uint64_t));
static_assert(has_room_for(kNeonCounters));

inline void add_statistics(neon::Statistics& sum, const neon::Statistics& part) noexcept {
  for (const NeonCounter& each : kNeonCounters) sum.*each.value += part.*each.value;
}

}  // namespace lfc
