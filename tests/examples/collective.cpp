// Settings for the examples in services/collective and services/multicast, but for those of services.cpp
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include "engine/ni.hpp"
#include "given.hpp"
#include "services/collective/agreement.hpp"
#include "services/collective/algorithms/exchange.hpp"
#include "services/collective/arena.hpp"
#include "services/collective/aside.hpp"
#include "services/collective/collectives.hpp"
#include "services/collective/communicator.hpp"
#include "services/collective/communicator_state.hpp"
#include "services/collective/loss_watch.hpp"
#include "services/collective/neighbourhood.hpp"
#include "services/collective/node_blocks.hpp"
#include "services/collective/node_reductions.hpp"
#include "services/collective/processes.hpp"
#include "services/collective/protocol/active_operations.hpp"
#include "services/collective/protocol/board.hpp"
#include "services/collective/protocol/communicator_lock.hpp"
#include "services/collective/protocol/environment.hpp"
#include "services/collective/protocol/mailbox.hpp"
#include "services/collective/protocol/partial.hpp"
#include "services/collective/protocol/ranks.hpp"
#include "services/collective/tree_node.hpp"
#include "services/multicast/departures.hpp"
#include "services/multicast/groups.hpp"
#include "services/multicast/multicast.hpp"
#include "services/multicast/protocol/header.hpp"
#include "services/multicast/protocol/membership.hpp"
#include "services/multicast/protocol/packets.hpp"
#include "services/multicast/protocol/receiver.hpp"
#include "services/multicast/protocol/recovery.hpp"
#include "services/multicast/rescue.hpp"

namespace lfc::examples {

extern const Given address, advance, busy, child, count, data, facts, first_blocked, from, group,
    leaders, keep, key, label, lanes, let_go, member, name, next_blocked, packet_size, parent,
    processes, publish, rank_of_member, read, return_credit, self, send, send_on, size, step,
    threads, to, under_way, use, users, width;
extern std::string why_not;
extern std::span<const std::byte> bytes;
extern Ni& ni;

void agreement(Agreement& agreement, std::uint32_t word, std::uint32_t ranks,
               bool (*is_hopeless)()) {
#include "common/services/collective/agreement.hpp.example"
}

void arena(bool refused) {
#include "common/services/collective/arena.hpp.example"
}

void aside(Multicast& multicast, HostPort& host, Aside::Entry& entry) {
#include "common/services/collective/aside.hpp.example"
}

void board(Board& board, std::uint32_t lane, std::uint64_t step, Label label, std::size_t size) {
#include "common/services/collective/protocol/board.hpp.example"
}

void collectives(const lfc_coll_options& options, lfc_coll_use use, const lfc_coll_call& call){
#include "common/services/collective/collectives.hpp.example"
}

Given communicator_lock(CommunicatorLock& lock) {
#include "common/services/collective/protocol/communicator_lock.hpp.example"
  return {};
}

void exchange(std::size_t bytes, const Membership& members, std::size_t packet,
              CommunicatorState& state, CollOperation& operation) {
#include "common/services/collective/algorithms/exchange.hpp.example"
}

void active_operations(ActiveOperations& active, ActiveOperations::Entry& mine) {
#include "common/services/collective/protocol/active_operations.hpp.example"
}

void loss_watch(LossWatch& watch, Communicator& communicator, Environment& environment,
                CollOperation& operation, lfc_coll_fault fault, const void* host) {
#include "common/services/collective/loss_watch.hpp.example"
}

void mailbox_of(Mailbox& mailbox, Mailbox::Request& request, std::uint64_t step,
                std::uint64_t address, std::uint32_t bytes, std::uint32_t owner) {
#include "common/services/collective/protocol/mailbox.hpp.example"
}

void neighbourhood_of(const lfc_coll_topology& topology, CommunicatorState& state) {
#include "common/services/collective/neighbourhood.hpp.example"
}

void node_blocks(NodeBlocks& blocks, CollOperation& operation, std::uint64_t leaders) {
#include "common/services/collective/node_blocks.hpp.example"
}

void node_reductions(NodeReductions& reductions, CollOperation& operation,
                     const MulticastHeader& header) {
#include "common/services/collective/node_reductions.hpp.example"
}

void partial(std::uint32_t children, Combiner combine) {
#include "common/services/collective/protocol/partial.hpp.example"
}

void processes_of(std::uint64_t parameters, ProcessName name, std::span<const std::byte> facts) {
#include "common/services/collective/processes.hpp.example"
}

void ranks_of(const Membership& membership, const lfc_coll_call& call) {
#include "common/services/collective/protocol/ranks.hpp.example"
}

namespace walks {
extern const std::byte* bytes;
#include "common/services/collective/communicator_state.hpp.example"
}  // namespace walks

void environment(Environment& environment, ProcessName first, ProcessName name, bool failed) {
#include "common/services/collective/protocol/environment.hpp.example"
}

void tree_node(TreeNode& tree, CollOperation& operation) {
#include "common/services/collective/tree_node.hpp.example"
}

void departures(ServicePort& port, const MulticastOptions& options, MulticastPackets& packets,
                MulticastStats& stats, PeerId peer, MulticastHeader& header,
                MulticastPacket& packet) {
#include "common/services/multicast/departures.hpp.example"
}

void groups(const MulticastOptions& options, const MulticastHeader& header, ServicePort& port,
            MulticastPacket* packet) {
#include "common/services/multicast/groups.hpp.example"
}

void header(Multicast& multicast, std::atomic<std::uint32_t>& unsent) {
#include "common/services/multicast/protocol/header.hpp.example"
}

void membership(const std::vector<ProcessName>& names, const std::vector<std::uint64_t>& nodes,
                TreeShape shape, std::uint32_t fan, std::uint32_t root) {
#include "common/services/multicast/protocol/membership.hpp.example"
}

void packets(MulticastStats& stats, ServicePort& port, PeerId from, const MulticastHeader& header,
             std::span<const std::byte> bytes, std::shared_ptr<MulticastStore> store) {
#include "common/services/multicast/protocol/packets.hpp.example"
}

struct Keeps : MulticastReceiver {
  bool ready;
  MulticastPacket* kept_;
#include "common/services/multicast/protocol/receiver.hpp.example"
};

void recovery(std::uint64_t own, Recovery::Out& out, Recovery::EscapePath escape,
              const TreeId& tree) {
#include "common/services/multicast/protocol/recovery.hpp.example"
}

void rescue(Departures& departures, ServicePort& port, ServiceId id,
            const MulticastOptions& options, MulticastSend& send, const MulticastHeader& header) {
#include "common/services/multicast/rescue.hpp.example"
}

}  // namespace lfc::examples
