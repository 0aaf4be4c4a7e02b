// Settings for the examples at the top of the headers in common/engine and common/flow (scripts/checks/examples): the
// types of their variables. Nothing here is ever run.
#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "engine/activity.hpp"
#include "engine/config.hpp"
#include "engine/departure.hpp"
#include "engine/flow.hpp"
#include "engine/host_call.hpp"
#include "engine/host_port.hpp"
#include "engine/host_queue.hpp"
#include "engine/host_side.hpp"
#include "engine/link_kinds.hpp"
#include "engine/memory_port.hpp"
#include "engine/message_ways.hpp"
#include "engine/ni.hpp"
#include "engine/ni_thread.hpp"
#include "engine/open.hpp"
#include "engine/outcomes.hpp"
#include "engine/packet.hpp"
#include "engine/packet_port.hpp"
#include "engine/packets.hpp"
#include "engine/peer_table.hpp"
#include "engine/process_ni.hpp"
#include "engine/receiver.hpp"
#include "engine/remote_memory.hpp"
#include "engine/remote_origin.hpp"
#include "engine/remote_target.hpp"
#include "engine/sender.hpp"
#include "engine/service.hpp"
#include "engine/service_port.hpp"
#include "engine/turn.hpp"
#include "engine/waiting.hpp"
#include "engine/way_chooser.hpp"
#include "flow/credits.hpp"

namespace lfc {

void complain(std::string_view why);
void complain(const char* option, std::string_view why);
void deliver(void* context, const Delivery& delivery);
void release(PeerId peer);

void credits(const Address& peer, Meta meta, std::uint32_t initial, void (*transmit)(),
             void (*queue)(), std::uint32_t count, void (*send_credit_frame)(std::uint32_t)) {
#include "common/flow/credits.hpp.example"
}

void host_queue(PeerId peer, void* peer_context, std::uint8_t tag,
                std::span<const std::byte> payload, void* context) {
#include "common/engine/host_queue.hpp.example"
}

void remote_memory(RemoteOpTable& table, std::uint64_t address, std::uint64_t size,
                   RegionRef region, const AckPayload& ack, PeerId peer) {
#include "common/engine/remote_memory.hpp.example"
}

void ni(const Config& config, std::unique_ptr<Link> link, void* context,
        std::span<const std::byte> blob, std::string& why_not, std::uint8_t tag,
        const Slice* slices, Message& message, bool running,
        void (*publish)(std::vector<std::byte>)) {
#include "common/engine/ni.hpp.example"
}

struct Inbox {
  bool empty() const;
};
void host_call(Ni& ni, Inbox& inbox) {
#include "common/engine/host_call.hpp.example"
}

namespace service {
extern Ni& ni_;  // the service's own
void example(Ni& ni) {
#include "common/engine/service.hpp.example"
}
}  // namespace service

void waiting(void* data, std::size_t size, WaitingQueue& queue) {
#include "common/engine/waiting.hpp.example"
}

void flow(std::uint32_t theirs, std::uint32_t ours, Meta meta, void (*wait)(),
          bool (*send)(FrameType, std::uint32_t), void (*send_credit_frame)(), WindowBudget& budget,
          Counters& counters) {
  const FrameType type = meta.type;
#include "common/engine/flow.hpp.example"
}

void config_of(std::uint32_t job, std::uint32_t rank) {
#include "common/engine/config.hpp.example"
}

void activity(Activity& activity, void (*retry)(), bool stream) {
#include "common/engine/activity.hpp.example"
}

void outcomes(SendLock& lock, Outcomes::BrokenHandler handler, void* context, Message& message) {
#include "common/engine/outcomes.hpp.example"
}

void peer_table(const Config& config, const Identity& identity, Counters& counters,
                Activity& activity, Outcomes& outcomes, std::unique_ptr<Link> link,
                const Address& address, std::string& why_not, void (*transmit)()) {
#include "common/engine/peer_table.hpp.example"
}

void sender(Sender& sender, Peer& peer, std::uint8_t tag, const Slice* slices, Message& message,
            const AckPayload& ack) {
#include "common/engine/sender.hpp.example"
}

void receiver(Receiver& receiver, MessageHandler handler) {
#include "common/engine/receiver.hpp.example"
}

void remote_origin(Ni& ni, PeerId peer, void* buffer, const void* source, std::uint64_t address,
                   std::size_t size, Operation& operation) {
#include "common/engine/remote_origin.hpp.example"
}

void message_ways(MessageWays& ways, RemoteOp& op, std::uint64_t began) {
#include "common/engine/message_ways.hpp.example"
}

void way_chooser(std::size_t size, double began, double ended, bool undisturbed,
                 const std::byte* data) {
#include "common/engine/way_chooser.hpp.example"
}

void remote_target(RegionTable& regions, Sender& sender, Peer& peer, Meta meta,
                   std::span<const std::byte> payload, GetService& get) {
#include "common/engine/remote_target.hpp.example"
}

void packet(PacketPort& packets, PeerId peer, std::uint64_t header, const void* data,
            std::size_t size, std::uint64_t note, void (*wait_for)(std::uint64_t)) {
  {
#include "common/engine/packet.hpp.example"
  }
}

void packet_port(ServicePort& port, PeerId peer, std::span<const std::byte> payload) {
#include "common/engine/packet_port.hpp.example"
}

void packets_of_engine(PeerTable& peers, Sender& sender, Counters& counters, const Peer& peer,
                       Service* service, FrameType type, std::span<const std::byte> payload) {
#include "common/engine/packets.hpp.example"
}

void service_port(Ni& ni, Service& service, PeerId peer, const Slice* slices, Packet packet,
                  MemoryPort& memory, const void* source, std::uint64_t address,
                  const RegionHandle& region, std::size_t size, Operation& operation) {
#include "common/engine/service_port.hpp.example"
}

void registration_cache(RegistrationCache& cache, void* buffer, std::size_t size,
                        void (*publish)(const RegionHandle&)) {
#include "common/engine/registration_cache.hpp.example"
}

void memory_port(MemoryPort& memory, ServicePort& port, void* buffer, const void* source,
                 std::size_t size, PeerId peer, std::uint64_t address, Operation& operation) {
#include "common/engine/memory_port.hpp.example"
}

void host_port(HostPort& host, const bool& arrived, std::span<Operation* const> finished) {
#include "common/engine/host_port.hpp.example"
}

void host_side(Turn& turn, SendLock& lock) {
#include "common/engine/host_side.hpp.example"
}

void turn(Turn& turn, Linger& linger, int& events) {
#include "common/engine/turn.hpp.example"
}

void departure(Departure& departure, Watchdog& dog, Watchdog::Step step, std::uint64_t (*polls)(),
               bool by_timer, bool worked, int& served) {
#include "common/engine/departure.hpp.example"
}

void ni_thread(Turn& turn, const SendLock& lock) {
#include "common/engine/ni_thread.hpp.example"
}

void open(std::uint32_t job, std::uint32_t rank) {
#include "common/engine/open.hpp.example"
}

void link_kinds(const NiOptions& options, Policy policy, std::unique_ptr<Ni> ni) {
#include "common/engine/link_kinds.hpp.example"
}

struct NeonService {
  NeonService(ServicePort& port, MemoryPort* memory);
};
void process_ni_of(std::shared_ptr<Ni> ni, ProcessName name) {
#include "common/engine/process_ni.hpp.example"
}

void traits(Ni& ni, PeerId peer, void (*put_now)()) {
#include "common/link/traits.hpp.example"
}

}  // namespace lfc
