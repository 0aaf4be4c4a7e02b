// Settings for the examples in services/windows, partitioned and channels, and the rest of services
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include <cstring>

#include "engine/ni.hpp"
#include "given.hpp"
#include "services/channels/protocol/keys.hpp"
#include "services/channels/protocol/plan.hpp"
#include "services/channels/protocol/receiver.hpp"
#include "services/channels/protocol/recording.hpp"
#include "services/channels/protocol/senders.hpp"
#include "services/neon/neon_service.hpp"
#include "services/neon/neon_writes.hpp"
#include "services/neon/protocol/exposure.hpp"
#include "services/neon/protocol/runs.hpp"
#include "services/ordered/protocol/fault.hpp"
#include "services/ordered/protocol/outgoing.hpp"
#include "services/partitioned/partitioned.hpp"
#include "services/partitioned/protocol/arrivals.hpp"
#include "services/partitioned/protocol/pairing.hpp"
#include "services/partitioned/protocol/protocol.hpp"
#include "services/partitioned/protocol/readiness.hpp"
#include "services/partitioned/protocol/ready_stack.hpp"
#include "services/push/push.hpp"
#include "services/windows/engine_carrier.hpp"
#include "services/windows/epoch_calls.hpp"
#include "services/windows/member_regions.hpp"
#include "services/windows/notified_access.hpp"
#include "services/windows/protocol/bundle.hpp"
#include "services/windows/protocol/epochs.hpp"
#include "services/windows/protocol/exposed_memory.hpp"
#include "services/windows/protocol/lock_order.hpp"
#include "services/windows/protocol/origin.hpp"
#include "services/windows/protocol/origin_peers.hpp"
#include "services/windows/protocol/pending_operations.hpp"
#include "services/windows/protocol/protocol.hpp"
#include "services/windows/protocol/reply.hpp"
#include "services/windows/protocol/target.hpp"
#include "services/windows/protocol/ticket_lock.hpp"
#include "services/windows/protocol/view.hpp"
#include "services/windows/protocol/way.hpp"
#include "services/windows/shown.hpp"
#include "services/windows/store_order.hpp"
#include "services/windows/window.hpp"
#include "services/windows/window_service.hpp"
#include "wire/verdict.hpp"

namespace lfc::rma::examples {

using lfc::examples::Given;

extern const Given allgather, copy, displacement, facts, from, here, local, local_peers, order_of,
    peers, progress, rank, ranks, rest, room, send, target, there;
extern Ni& ni;

void apply(const BundleEntry& entry, const std::byte* operands);

bool bundle(BundlePool& pool, Bundle& bundle, std::uint64_t bytes, std::size_t frame,
            std::uint64_t offset, std::uint8_t kind, std::uint8_t operation, std::uint8_t element,
            const std::byte* operands, std::span<const std::byte> payload) {
#include "common/services/windows/protocol/bundle.hpp.example"
}

void epochs(Epochs& epochs, std::span<const Rank> group) {
#include "common/services/windows/protocol/epochs.hpp.example"
}

void lock_order(LockOrder& order, Origin& origin, OriginPeer& peer) {
#include "common/services/windows/protocol/lock_order.hpp.example"
}

void origin(Origin& origin, const WindowCall& call) {
#include "common/services/windows/protocol/origin.hpp.example"
}

void origin_peers(OriginPeers& peers, Shape shape, std::span<const WindowFacts> facts) {
#include "common/services/windows/protocol/origin_peers.hpp.example"
}

void protocol(Flavor flavor, WindowControl* control, std::byte* base, std::uint64_t size,
              Operations& operations, Carrier& carrier, const WindowHead& head,
              Service::Verdict verdict, const WindowCall& call) {
#include "common/services/windows/protocol/protocol.hpp.example"
}

void reply(Reply& reply, const WindowHead& head, const ExposedMemory* memory,
           std::span<const Run> runs, std::size_t room,
           std::span<std::byte> (*buffer_of)(std::size_t),
           void (*send)(const WindowReply&, std::span<std::byte>)) {
#include "common/services/windows/protocol/reply.hpp.example"
}

struct Shows {
  operator Window&() const;
#include "common/services/windows/shown.hpp.example"
};

void store_order(StoreOrder& order) {
#include "common/services/windows/store_order.hpp.example"
}

void target_of(Target& target, const WindowHead& head) {
  using Verdict = Service::Verdict;
#include "common/services/windows/protocol/target.hpp.example"
}

void ticket_lock(TicketLock& lock, bool exclusive, bool yields){
#include "common/services/windows/protocol/ticket_lock.hpp.example"
}

WindowStatus view(std::int64_t displacement) {
#include "common/services/windows/protocol/view.hpp.example"
  return WindowStatus::ok;
}

void way(const OriginPeer& peer, Shape shape, Moment moment) {
#include "common/services/windows/protocol/way.hpp.example"
}

void window(WindowService* windows, WindowShape shape, const View& origin, const View& there,
            std::uint64_t word) {
#include "common/services/windows/window.hpp.example"
}

void engine_carrier(WindowService& windows, Window& window, PeerId id) {
#include "common/services/windows/engine_carrier.hpp.example"
}

void member_regions(std::uint32_t ranks, std::span<const WindowFacts> facts) {
#include "common/services/windows/member_regions.hpp.example"
}

void epoch_calls(Window& window, const View& origin, const View& there) {
#include "common/services/windows/epoch_calls.hpp.example"
}

void notified_access(Window& window, const WindowCall& call, WindowStatus& status,
                     bool (*count)(void*, std::uint64_t, std::uint64_t), void* context) {
#include "common/services/windows/notified_access.hpp.example"
}

void exposed_memory(ExposedMemory& memory, std::span<const Run> runs, std::int64_t& base,
                    std::uint64_t count) {
#include "common/services/windows/protocol/exposed_memory.hpp.example"
}

void pending_operations(Operations& operations, const WindowCall& call, const WindowAck& ack,
                        PeerId peer) {
#include "common/services/windows/protocol/pending_operations.hpp.example"
}

void window_service(const WindowHost& host, WindowShape shape, bool waiting) {
#include "common/services/windows/window_service.hpp.example"
}

namespace queued {
struct Target {
  std::vector<Rank> tickets_, peers_;
  Verdict on_lock(Rank from, const WindowHead& head);
};
#include "common/wire/verdict.hpp.example"
return Verdict::release;
}
}  // namespace queued

}  // namespace lfc::rma::examples

namespace lfc::partitioned::examples {

using lfc::examples::Given;

extern const Given bytes, bytes_of_each, data, finish, give_up, length, most, now, offset, owner,
    place, refuse, send_to, use_them;
extern const std::uint64_t partitions;
extern Ni& ni;

void arrivals() {
#include "common/services/partitioned/protocol/arrivals.hpp.example"
}

void pairing(Key key, Offer offer, Receiving& receive, PeerId peer,
             void (*pair)(Receiving&, const Pairing::Offered&)) {
#include "common/services/partitioned/protocol/pairing.hpp.example"
}

void partitioned(void (*done)(void*, Status, std::uint64_t), void (*dropped)(void*),
                 const Key& key) {
#include "common/services/partitioned/partitioned.hpp.example"
}

void protocol(Carrier& carrier, const Key& key) {
#include "common/services/partitioned/protocol/protocol.hpp.example"
}

void readiness(Given send, Bytes piece) {
#include "common/services/partitioned/protocol/readiness.hpp.example"
}

void ready_stack(Sending& send, void (*send_ready)(Sending&)) {
#include "common/services/partitioned/protocol/ready_stack.hpp.example"
}

}  // namespace lfc::partitioned::examples

namespace lfc::channels::examples {

using lfc::examples::Given;

extern const Given bytes, comm, id, number, peer, self, size, source, tag;
constexpr std::int32_t kAny = -1;

void key_table(const End& end) {
#include "common/services/channels/protocol/key_table.hpp.example"
}

void early(Key& key, const std::byte* frame) {
#include "common/services/channels/protocol/early.hpp.example"
  {}
}

void key(Key& key, Receive& receive) {
#include "common/services/channels/protocol/key.hpp.example"
  (void)taken;
}

void keys() {
#include "common/services/channels/protocol/keys.hpp.example"
}

void plan(std::string_view text) {
#include "common/services/channels/protocol/plan.hpp.example"
  {}
}

void note(Notes& notes, const Key& key, const Note& offer) {
#include "common/services/channels/protocol/note.hpp.example"
}

void senders(Notes& notes, const End& end, std::uint32_t from, const Note& note) {
#include "common/services/channels/protocol/senders.hpp.example"
}

void receiver(MatchingPort& matching, Notes& notes, std::size_t head, std::uint32_t from,
              const Note& note) {
#include "common/services/channels/protocol/receiver.hpp.example"
}

void recording() {
#include "common/services/channels/protocol/recording.hpp.example"
}

}  // namespace lfc::channels::examples

namespace lfc::neon::examples {

bool runs(std::span<const Run> runs, std::uint32_t room, std::byte* list, const Header& header,
          const std::byte* payload, std::size_t size,
          void (*store)(std::uint64_t at, const std::byte* data, std::size_t bytes)) {
#include "common/services/neon/protocol/runs.hpp.example"
}

}  // namespace lfc::neon::examples

namespace lfc::examples {

extern const Given ask_for, data, first, ids, limits, memory, multicast_as, n, offset, packet,
    peers, place, rank, ranks, size, tag, target, within;
extern Ni& ni;

void exposure(neon::Exposure exposure, std::uint64_t bytes) {
#include "common/services/neon/protocol/exposure.hpp.example"
}

void neon_service(const neon::Exposure& exposure, neon::Operation& op) {
#include "common/services/neon/neon_service.hpp.example"
}

void neon_writes(NeonWrites& writes, ServicePort& port, NeonWindow& window, bool again,
                 neon::Operation& op) {
#include "common/services/neon/neon_writes.hpp.example"
}

void order_fault() {
#include "common/services/ordered/protocol/fault.hpp.example"
}

void outgoing(std::span<const std::byte> bytes) {
#include "common/services/ordered/protocol/outgoing.hpp.example"
}

void push_of(PeerId peer, const RegionHandle& remote, std::uint64_t address, Operation* operation) {
#include "common/services/push/push.hpp.example"
}

}  // namespace lfc::examples
