#include "stats/counters.hpp"

namespace lfc {

const std::array<CounterInfo, kCounters>& counter_info() noexcept {
  static constexpr std::array<CounterInfo, kCounters> info{{
      {"frames_sent", "frames given to links, control frames included"},
      {"frames_received", "frames delivered by links, control frames included"},
      {"writes_saved", "frames that did not need a system call of their own to leave by tcp"},
      {"reads_saved", "frames that came by tcp together with one before"},
      {"bytes_sent", "payload bytes sent in frames and by native puts"},
      {"bytes_received", "payload bytes received in frames and by native gets"},
      {"messages_sent", "messages of the rank sent"},
      {"messages_received", "messages delivered to the rank"},
      {"credit_stalls", "sends that had to wait for a credit"},
      {"link_stalls", "sends that had to wait for room in a link"},
      {"explicit_credits", "credit frames sent because no other frame went the peer's way"},
      {"window_growths", "times a peer's window was enlarged"},
      {"put_native_bytes", "bytes put by the link itself: single copy or RDMA"},
      {"get_native_bytes", "bytes got by the link itself: single copy or RDMA"},
      {"put_frames_bytes", "bytes put in frames that the target's engine stored"},
      {"get_frames_bytes", "bytes got in frames that the target's engine read"},
      {"fetches_copied",
       "announced messages of this node that came in a single copy, where both ways were open"},
      {"fetches_streamed", "such messages that came through the ring"},
      {"fetches_tried", "of both, those that went by the slower way to see whether it still is"},
      {"atomics", "atomic operations issued"},
      {"registrations", "times memory was registered for remote access"},
      {"connections", "connections opened, by us or by a peer"},
      {"frames_dropped", "malformed or foreign frames dropped"},
      {"peers_broken", "peers lost: died, unreachable or broke the protocol"},
      {"thread_wakeups", "times an arrival woke the engine's thread"},
      {"thread_turns", "times the engine's thread did the work of a rank outside MPI"},
      {"thread_looks",
       "times the engine's thread looked, by the clock, whether the rank is still inside MPI"},
      {"multicasts", "multicast packets sent as their origin"},
      {"multicast_links", "peers to which multicast packets have been sent or forwarded"},
      {"recoveries", "deadlock recoveries of multicasts, necessary or not"},
      {"recovery_packets", "multicast packets sent on a recovery channel, ours or another's"},
      {"pushes", "large messages whose bytes were sent behind their announcement"},
      {"pushes_dropped",
       "such messages of others that were dropped unread, and fetched if they were wanted"},
      {"rails_lost", "rails given up while others of the same peer went on"},
      {"rail_frames_again", "frames sent again because the rail that carried them was lost"},
      {"rail_duplicates", "frames dropped because they had come over another rail before"},
      {"rail0_bytes", "bytes of frames sent, puts and gets over the first of several rails"},
      {"rail1_bytes", "likewise, the second"},
      {"rail2_bytes", "likewise, the third"},
      {"rail3_bytes", "likewise, the fourth"},
      {"rail4_bytes", "likewise, the fifth"},
      {"rail5_bytes", "likewise, the sixth"},
      {"rail6_bytes", "likewise, the seventh"},
      {"rail7_bytes", "likewise, the eighth"},
  }};
  return info;
}

}  // namespace lfc
