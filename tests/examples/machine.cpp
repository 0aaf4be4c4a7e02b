// Settings for the examples in the folders below the links and of the engine, but for base.cpp and engine.cpp
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include <poll.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/bytes.hpp"
#include "base/errors.hpp"
#include "base/every_moment.hpp"
#include "base/nearest.hpp"
#include "elements/combine.hpp"
#include "elements/element_types.hpp"
#include "elements/single_elements.hpp"
#include "engine/linger.hpp"
#include "engine/ni.hpp"
#include "engine/own_section.hpp"
#include "engine/services.hpp"
#include "engine/trace.hpp"
#include "engine/watchdog.hpp"
#include "given.hpp"
#include "link/shm/shm_link.hpp"
#include "machine/address_room.hpp"
#include "machine/bell.hpp"
#include "machine/cores.hpp"
#include "machine/file_descriptor.hpp"
#include "machine/first_of_node.hpp"
#include "machine/hand_over.hpp"
#include "machine/local_peer.hpp"
#include "machine/mapping.hpp"
#include "machine/thread_probe.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/atomic_fence.hpp"
#include "sync/relax.hpp"
#include "sync/sleep_word.hpp"
#include "wire/key.hpp"
#include "wire/node_name.hpp"

namespace lfc::examples {

extern const Given arrivals, delay, fd, file, longest, longest_rest, meta, payload, pid, polls,
    print, progress, refuse, run_control_program, say, send, share_memory, shortest, size, use,
    wait, work_is_there, worked;
extern std::string why_not;

void bytes(std::span<const std::byte> bytes) {
#include "common/base/bytes.hpp.example"
}

void errors(int fd) {
#include "common/base/errors.hpp.example"
}

void every_moment() {
#include "common/base/every_moment.hpp.example"
}

void nearest_of() {
#include "common/base/nearest.hpp.example"
}

void element_types(std::byte* target, const std::byte* operand) {
  using T = double;
#include "common/elements/element_types.hpp.example"
}

void single_elements(SingleElements& mine, SingleElements& its) {
#include "common/elements/single_elements.hpp.example"
}

void linger(Linger::Time now, Linger::Time shortest, Linger::Time longest, Linger::Time wake_up) {
#include "common/engine/linger.hpp.example"
}

void own_section(AddressWriter& writer, PeerTable& peers, const Address& address) {
#include "common/engine/own_section.hpp.example"
}

void services(SendLock& lock, const Identity& identity, Counters& counters, PeerTable& peers,
              Sender& sender, Activity& activity, Outcomes& outcomes, Peer& peer) {
#include "common/engine/services.hpp.example"
}

void trace(Ni& ni, const ShmOptions& options) {
#include "common/engine/trace.hpp.example"
}

void watchdog(Watchdog::Outcome outcome, Watchdog::Time now) {
  using enum Watchdog::Action;
#include "common/engine/watchdog.hpp.example"
}

void bell(BellState& state, std::chrono::milliseconds for_ever,
          int (*poll)(int, std::chrono::milliseconds)) {
#include "common/machine/bell.hpp.example"
}

void cores() {
#include "common/machine/cores.hpp.example"
}

void file_descriptor() {
#include "common/machine/file_descriptor.hpp.example"
}

void first(std::uint32_t job, const char* line) {
#include "common/machine/first_of_node.hpp.example"
}

void hand_over_of(const hand_over::Cookie& name,
                  const std::shared_ptr<const FileDescriptor>& file) {
  using hand_over::Handed;
#include "common/machine/hand_over.hpp.example"
}

void address_room(std::size_t bytes, std::size_t spare) {
#include "common/machine/address_room.hpp.example"
}

void mapping(int fd, std::uint64_t offset, std::size_t size) {
#include "common/machine/mapping.hpp.example"
}

void thread_probe(void (*report_to_user)(const std::string&)) {
#include "common/machine/thread_probe.hpp.example"
}

void local_peer(const ProcessSpace& theirs) {
#include "common/machine/local_peer.hpp.example"
}

void asymmetric_fence(std::atomic<int>& mine, std::atomic<int>& theirs) {
  constexpr auto relaxed = std::memory_order_relaxed;
#include "common/sync/asymmetric_fence.hpp.example"
}

void atomic_fence() {
#include "common/sync/atomic_fence.hpp.example"
}

void relax_while(const std::atomic<bool>& ready) {
#include "common/sync/relax.hpp.example"
}

void key_of(std::span<const std::byte> message) {
#include "common/wire/key.hpp.example"
}

void node_name_of(const Peer& peer) {
#include "common/wire/node_name.hpp.example"
}

}  // namespace lfc::examples
