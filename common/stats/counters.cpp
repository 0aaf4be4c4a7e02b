#include "stats/counters.hpp"

namespace lfc {
namespace {

constexpr std::array<CounterInfo, kCounters> kInfo{{
    {"frames_sent", "frames passed to transports, control frames included"},
    {"frames_received", "frames delivered by transports, control frames included"},
    {"writes_saved", "frames that left over tcp without a system call of their own"},
    {"reads_saved", "frames that arrived over tcp together with an earlier frame"},
    {"bytes_sent", "payload bytes sent in frames and by native puts (single copy or RDMA)"},
    {"bytes_received", "payload bytes received in frames and by native gets (single copy or RDMA)"},
    {"messages_sent", "messages sent by the rank"},
    {"messages_received", "messages delivered to the rank"},
    {"credit_stalls", "sends that had to wait for a credit of the receiver"},
    {"link_stalls", "sends that had to wait for room in a transport (shared-memory ring, socket)"},
    {"explicit_credits",
     "frames that only return credits, because no other frame was sent to that peer"},
    {"window_growths", "times the credit window of a peer was enlarged"},
    {"put_native_bytes", "bytes of puts carried by single copy or RDMA"},
    {"get_native_bytes", "bytes of gets carried by single copy or RDMA"},
    {"put_frames_bytes", "bytes of puts sent in frames and stored by the LFC engine of the target"},
    {"get_frames_bytes",
     "bytes of gets read by the LFC engine of the target and returned in frames"},
    {"fetches_copied",
     "large messages from ranks of this node received by single copy, if the ring in shared "
     "memory was possible as well"},
    {"fetches_streamed",
     "large messages from ranks of this node received through the ring in shared memory, if "
     "single copy was possible as well"},
    {"fetches_tried",
     "messages of fetches_copied and fetches_streamed that took the slower path to measure it "
     "again"},
    {"atomics", "atomic operations issued"},
    {"registrations", "times memory was registered for remote access"},
    {"connections", "connections opened, by this process or by a peer"},
    {"frames_dropped", "frames dropped because they were malformed or foreign"},
    {"peers_broken", "peers lost: process ended, unreachable, or protocol violated"},
    {"thread_wakeups", "times an arriving frame woke the helper thread"},
    {"thread_turns", "times the helper thread found work to do while the rank was outside MPI"},
    {"thread_looks",
     "times a timer woke the helper thread to check whether the rank is still inside MPI"},
    {"multicasts", "multicast packets that started at this process"},
    {"multicast_links", "peers to which multicast packets have been sent or forwarded"},
    {"recoveries", "deadlock recoveries of multicasts, necessary or not"},
    {"recovery_packets",
     "multicast packets sent through an escape buffer, for this process or another"},
    {"pushes", "large messages sent with their data behind the rendezvous request (RTS)"},
    {"pushes_dropped",
     "large messages received with their data behind the rendezvous request (RTS) and dropped "
     "unread; the receiver fetched those that it needed"},
    {"rails_lost", "interfaces (rails) given up while other rails to the same peer went on"},
    {"rail_frames_again", "frames sent again because the rail that carried them was lost"},
    {"rail_duplicates", "frames dropped because they had already arrived over another rail"},
    {"rail0_bytes", "bytes of frames sent, puts and gets over the first of several rails"},
    {"rail1_bytes", "bytes of frames sent, puts and gets over the second of several rails"},
    {"rail2_bytes", "bytes of frames sent, puts and gets over the third of several rails"},
    {"rail3_bytes", "bytes of frames sent, puts and gets over the fourth of several rails"},
    {"rail4_bytes", "bytes of frames sent, puts and gets over the fifth of several rails"},
    {"rail5_bytes", "bytes of frames sent, puts and gets over the sixth of several rails"},
    {"rail6_bytes", "bytes of frames sent, puts and gets over the seventh of several rails"},
    {"rail7_bytes", "bytes of frames sent, puts and gets over the eighth of several rails"},
}};

}  // namespace

const std::array<CounterInfo, kCounters>& counter_info() noexcept { return kInfo; }

}  // namespace lfc
