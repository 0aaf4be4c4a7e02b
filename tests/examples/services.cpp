// Settings for the examples at the top of the headers in common/services (scripts/checks/examples): the types of their
// variables. Nothing here is ever run.
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "engine/ni.hpp"
#include "services/channels/channels.hpp"
#include "services/collective/communicator.hpp"
#include "services/collective/protocol/label.hpp"
#include "services/collective/protocol/names.hpp"
#include "services/collective/protocol/plan.hpp"
#include "services/collective/wait_policy.hpp"
#include "services/multicast/multicast.hpp"
#include "services/multicast/protocol/membership.hpp"
#include "services/multicast/protocol/tree.hpp"
#include "services/neon/neon_counters.hpp"
#include "services/neon/neon_service.hpp"
#include "services/neon/notification_keys.hpp"
#include "services/neon/protocol/arrivals.hpp"
#include "services/neon/protocol/confirmation.hpp"
#include "services/neon/protocol/mapped_entries.hpp"
#include "services/neon/protocol/neon.hpp"
#include "services/neon/protocol/slot.hpp"
#include "services/neon/protocol/tag_table.hpp"
#include "services/ordered/ordered_broadcast.hpp"
#include "services/ordered/protocol/hold_back.hpp"
#include "services/ordered/protocol/sequencer.hpp"

namespace lfc {

void channels_of(Ni& ni, channels::MatchingPort& matching, std::uint8_t tag,
                 const channels::End& end, PeerId peer, const void* data, std::byte* bytes,
                 std::size_t size, void (*send_otherwise)()) {
  using channels::Channels, channels::Receive, channels::Sender;
#include "common/services/channels/channels.hpp.example"
}

void communicator(std::unique_ptr<CommunicatorState> state, const CollOptions& options,
                  const lfc_coll_call& call) {
#include "common/services/collective/communicator.hpp.example"
}

void collective(CommunicatorState& state, CollOperation& operation) {
#include "common/services/collective/collective.hpp.example"
}

void names(std::uint64_t key) {
#include "common/services/collective/protocol/names.hpp.example"
}

void operation_of(Communicator& communicator, const lfc_coll_call& call) {
#include "common/services/collective/protocol/operation.hpp.example"
}

void patience_of(const CollOperation& operation, Communicator& communicator, int (*progress)(),
                 int (*progress_nowait)()) {
#include "common/services/collective/wait_policy.hpp.example"
}

void plan_of(CollOperation& operation, const CollectiveTraits& traits, const CollOptions& options,
             std::size_t bytes, bool synchronises) {
#include "common/services/collective/protocol/plan.hpp.example"
}

void label(const Label& theirs) {
#include "common/services/collective/protocol/label.hpp.example"
}

void tree(std::vector<int> member, int packet, void (*send)(int, int)) {
#include "common/services/multicast/protocol/tree.hpp.example"
}

void multicast(Ni& ni, std::uint64_t key, const Membership& membership, std::uint32_t self,
               const std::vector<PeerId>& peers, Multicast::Receiver& receiver,
               const MulticastHeader& header, std::span<const std::byte> bytes,
               std::atomic<std::uint32_t>& unsent) {
#include "common/services/multicast/multicast.hpp.example"
}

void neon_counters(NeonWindow& window, void (*print)(const char*, std::uint64_t)) {
#include "common/services/neon/neon_counters.hpp.example"
#include "common/stats/counter_room.hpp.example"
}

void neon_machine(neon::Rank target, neon::Rank from, const neon::Limits& limits,
                  neon::Carrier& carrier, neon::Announcement& buffer, neon::Operation& op,
                  std::uint32_t ranks, std::uint32_t tag, const std::byte* data, std::size_t n,
                  const neon::Header& header, const std::byte* payload, std::size_t size,
                  void (*give_up)(neon::Rank)) {
  using neon::Neon;
#include "common/services/neon/protocol/neon.hpp.example"
}

void notification_keys(NotificationKeys& keys, NeonWindow& window, neon::Rank origin,
                       std::uint32_t tag, std::uint32_t generation, std::uint32_t key,
                       neon::Header& header) {
#include "common/services/neon/notification_keys.hpp.example"
}

bool arrivals(neon::Arrivals& arrivals, const neon::Header& header) {
#include "common/services/neon/protocol/arrivals.hpp.example"
  return true;
}

bool confirmation(neon::Confirmer& confirmer, neon::Confirmations& confirmations,
                  neon::Operation& op, neon::Rank target, std::uint32_t tag,
                  std::uint32_t generation, std::uint32_t arrived, const neon::Header& header,
                  void (*reply)(std::uint64_t)) {
  using neon::Status;
#include "common/services/neon/protocol/confirmation.hpp.example"
  return true;
}

void mapped_entries(std::byte* memory, std::size_t count, const neon::MappedEntries& theirs,
                    neon::Rank origin, neon::Rank rank, std::uint32_t tag, std::uint32_t generation,
                    std::uint64_t place, std::uint64_t size, std::uint64_t offset,
                    const std::byte* data, std::uint64_t n) {
  using neon::MappedEntries, neon::MappedEntry;
#include "common/services/neon/protocol/mapped_entries.hpp.example"
}

void mapped_peers(NeonWindow& window, neon::Rank rank, std::span<std::byte> memory,
                  std::vector<SharedMemoryName> (*allgather)(const SharedMemoryName&)) {
#include "common/services/neon/mapped_peers.hpp.example"
}

void slot(void (*use)(const std::byte*), const std::byte* data) {
  using neon::Slot;
#include "common/services/neon/protocol/slot.hpp.example"
}

struct Record {};
void tag_table() {
  using neon::TagTable;
#include "common/services/neon/protocol/tag_table.hpp.example"
}

void hold_back(std::uint64_t number, std::uint32_t origin, std::uint32_t following,
               std::span<const std::byte> bytes,
               void (*handle)(std::uint32_t, std::uint64_t, std::span<const std::byte>)) {
#include "common/services/ordered/protocol/hold_back.hpp.example"
}

void sequencer(std::uint32_t members, std::uint32_t member, std::uint64_t taken,
               void (*grant)(std::uint32_t, std::uint64_t)) {
#include "common/services/ordered/protocol/sequencer.hpp.example"
}

void ordered(Multicast& multicast, Ni& ni, std::uint64_t key, std::vector<ProcessName> names,
             std::uint32_t self, const std::vector<PeerId>& peers,
             std::span<const std::byte> bytes) {
  using Fault = OrderedBroadcast::Fault;
#include "common/services/ordered/ordered_broadcast.hpp.example"
}

}  // namespace lfc
