// Settings for the examples at the top of the headers in common/base, sync, stats, wire, machine and elements
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/build_stamp.hpp"
#include "base/choice.hpp"
#include "base/column.hpp"
#include "base/faults.hpp"
#include "base/lasting.hpp"
#include "base/lazy_queue.hpp"
#include "base/limits.hpp"
#include "base/make_room.hpp"
#include "base/name_table.hpp"
#include "base/named_pool.hpp"
#include "base/prefetch.hpp"
#include "base/shared_bytes.hpp"
#include "base/spares.hpp"
#include "base/sparse_table.hpp"
#include "base/stored_words.hpp"
#include "elements/accumulate.hpp"
#include "elements/combine.hpp"
#include "elements/element_types.hpp"
#include "elements/layout.hpp"
#include "lfc/words.h"
#include "link/link.hpp"
#include "machine/cma.hpp"
#include "machine/cores.hpp"
#include "machine/local_peer.hpp"
#include "machine/placement.hpp"
#include "machine/process_watch.hpp"
#include "machine/shared_memory.hpp"
#include "stats/counter_line.hpp"
#include "stats/counters.hpp"
#include "sync/gate.hpp"
#include "sync/published.hpp"
#include "sync/send_lock.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace lfc {

void cma(std::uint32_t pid, std::uint64_t probe_address, std::uint64_t cookie, void* destination,
         std::uint64_t remote_address, std::size_t size) {
#include "common/machine/cma.hpp.example"
}

namespace build_stamp {
struct Cell {
  std::uint64_t epoch;
};
constexpr std::uint64_t kCells = 16;
void example(std::uint32_t theirs, const std::function<void()>& refuse) {
#include "common/base/build_stamp.hpp.example"
}
}  // namespace build_stamp

#define LFC_COLOURS(ROW) ROW(red, "red") ROW(green, "green") ROW(blue, "blue")
enum class Colour : std::uint8_t { LFC_COLOURS(LFC_VALUE) };
namespace choice {
void example() {
  using ::lfc::Colour;
#define inline static
#include "common/base/choice.hpp.example"
#undef inline
}
}  // namespace choice

enum class Attempt : std::uint8_t { no_room };
Attempt faults() {
#include "common/base/faults.hpp.example"
  return {};
}

void lasting(const std::string& reason) {
#include "common/base/lasting.hpp.example"
}

void limits_of(std::span<const std::byte> packet) {
#include "common/base/limits.hpp.example"
}

struct Window {};
struct Pending {
  std::uint64_t name = 0;
};
void named_pool(std::uint64_t name) {
#include "common/base/named_pool.hpp.example"
}

void name_table(Window& window) {
#include "common/base/name_table.hpp.example"
}

struct Peer {
  struct ControlFrame {};
  bool open = false;
};
void lazy_queue(const Peer::ControlFrame& frame, bool (*send)(const Peer::ControlFrame&)) {
#include "common/base/lazy_queue.hpp.example"
}

struct Fact {
  std::uint32_t displacement_unit;
};
void column(std::uint32_t ranks, std::span<const Fact> facts) {
#include "common/base/column.hpp.example"
}
void make_room(std::vector<int>& entries, int (*open_first)(), int (*open_second)()) {
  using ::lfc::make_room;
#include "common/base/make_room.hpp.example"
}

struct Carrier {
  Carrier* next;
};
void sparse_table(std::uint32_t ranks) {
#include "common/base/sparse_table.hpp.example"
}
void shared_bytes(void (*fill)(std::byte*, std::size_t)) {
#include "common/base/shared_bytes.hpp.example"
}
void spares() {
#include "common/base/spares.hpp.example"
}
void stored_words(std::byte* to, const std::byte* from, std::size_t bytes) {
#include "common/base/stored_words.hpp.example"
}

void accumulate(std::byte* base, const std::byte* operands, std::byte* old, std::size_t bytes,
                std::span<const Run> runs, ElementLock& window_lock) {
#include "common/elements/accumulate.hpp.example"
}

void combine(std::byte* target, const std::byte* operands) {
#include "common/elements/combine.hpp.example"
}

void layout(std::byte* memory, std::uint64_t budget, std::int64_t base_offset,
            void (*copy)(std::byte*, std::uint64_t)) {
#include "common/elements/layout.hpp.example"
}

void process_watch(std::uint32_t pid) {
#include "common/machine/process_watch.hpp.example"
}

void shared_memory(std::size_t bytes, const SharedMemoryName& name,
                   void (*publish)(const SharedMemoryName&)) {
  std::string why_not;
#include "common/machine/shared_memory.hpp.example"
}

void placement(const Cores& cores, void (*say)(std::string_view)) {
#include "common/machine/placement.hpp.example"
}

void counters(lfc::Counters& counters, void (*print)(const char*, std::uint64_t)) {
#include "common/stats/counters.hpp.example"
}

void counter_line(char* text, std::size_t size, std::uint64_t sent, std::uint64_t taken) {
#include "common/stats/counter_line.hpp.example"
}

void gate(Gate& gate) {
#include "common/sync/gate.hpp.example"
}

enum class State : std::uint8_t { none, held };
void published() {
#include "common/sync/published.hpp.example"
}

void send_lock() {
#include "common/sync/send_lock.hpp.example"
}

void address(const Identity& identity, const Link& shm, const Link& ofi) {
#include "common/wire/address.hpp.example"
}

void frame(Link& link, PeerId peer, std::uint8_t tag, std::uint8_t credits, const Slice* slices) {
#include "common/wire/frame.hpp.example"
}

void prefetch(const void* entry) {
#include "common/base/prefetch.hpp.example"
}

}  // namespace lfc
