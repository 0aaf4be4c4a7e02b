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
     "frames that return credits and nothing else, because no other frame went to that peer in "
     "time"},
    {"window_growths", "times the credit window of a peer was enlarged"},
    {"put_native_bytes", "bytes of puts carried by single copy or RDMA"},
    {"get_native_bytes", "bytes of gets carried by single copy or RDMA"},
    {"puts_notified", "puts whose notification went with them in one request of the device"},
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
     "messages of fetches_copied and fetches_streamed that took the path not preferred at that "
     "time, to measure it"},
    {"atomics", "atomic operations issued"},
    {"registrations", "times memory was registered for remote access"},
    {"connections", "connections opened, by this process or by a peer"},
    {"frames_dropped",
     "frames and handshakes dropped: malformed, from a lost peer, or not from a process of this "
     "job"},
    {"peers_broken",
     "peers lost because the process ended, was unreachable or violated the protocol"},
    {"thread_wakeups", "times an arriving frame woke the helper thread"},
    {"thread_turns",
     "times the helper thread found work to do (floating: only while the rank was outside MPI)"},
    {"thread_looks",
     "timer wake-ups of the helper thread to check whether the rank is still inside MPI"},
    {"leave_timers",
     "times a rank whose node forwards left a collective and set a timer for its helper thread"},
    {"leaves_served",
     "times the helper thread found work to do after such a timer had ended its rest"},
    {"multicasts", "multicast packets that started at this process"},
    {"multicast_links",
     "different peers to which this process has sent or forwarded multicast packets"},
    {"recoveries", "deadlock recoveries started by this process, false alarms included"},
    {"recovery_packets",
     "multicast packets sent through an escape buffer, started here or forwarded"},
    {"pushes", "large messages sent with their data behind the rendezvous request (RTS)"},
    {"pushes_dropped",
     "pushed messages whose data the receiver discarded to make room; the receiver fetched those "
     "that it needed"},
    {"rails_lost",
     "rails (connections to a peer) given up while other rails to the same peer went on"},
    {"rails_returned", "rails that were connected again after they had been lost or left out"},
    {"rail_frames_again", "frames sent again because the rail that carried them was lost"},
    {"rail_duplicates", "frames dropped because they had already arrived over another rail"},
    {"rail0_bytes",
     "bytes of frames sent, puts and gets over the first of several rails (connections)"},
    {"rail1_bytes",
     "bytes of frames sent, puts and gets over the second of several rails (connections)"},
    {"rail2_bytes",
     "bytes of frames sent, puts and gets over the third of several rails (connections)"},
    {"rail3_bytes",
     "bytes of frames sent, puts and gets over the fourth of several rails (connections)"},
    {"rail4_bytes",
     "bytes of frames sent, puts and gets over the fifth of several rails (connections)"},
    {"rail5_bytes",
     "bytes of frames sent, puts and gets over the sixth of several rails (connections)"},
    {"rail6_bytes",
     "bytes of frames sent, puts and gets over the seventh of several rails (connections)"},
    {"rail7_bytes",
     "bytes of frames sent, puts and gets over the eighth of several rails (connections)"},
}};

}  // namespace

const std::array<CounterInfo, kCounters>& counter_info() noexcept { return kInfo; }

}  // namespace lfc
