#include "lfc/exchange.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "c_api/process_state.hpp"

namespace {

using Bytes = lfc::ProcessState::Exchange::Bytes;

// A record: this head, the address, the facts for coll lfc. It has no byte order.
struct Head {
  std::uint8_t parts;
  std::uint8_t unused;
  std::array<std::uint8_t, 2> address_size;  // the lower byte first
};
constexpr std::size_t kMostAddress = 0xffff;
static_assert(sizeof(Head) == 4 && alignof(Head) == 1);

// A known rank has this bit in its entry, above all parts. The entry of any other rank is 0.
constexpr std::uint8_t kKnown = 0x80;

lfc::ProcessState::Exchange& state() noexcept { return lfc::process_state().exchange; }

void append(Bytes& to, const void* bytes, std::size_t size) {
  const auto* const first = static_cast<const std::uint8_t*>(bytes);
  to.insert(to.end(), first, first + size);
}

// Returns the record from which lfc_exchange_read() finds these parts.
Bytes record_of(const lfc_exchange_record& parts) {
  const std::size_t address = parts.address_size;
  const Head head{static_cast<std::uint8_t>(parts.parts),
                  0,
                  {static_cast<std::uint8_t>(address), static_cast<std::uint8_t>(address >> 8)}};
  Bytes record;
  record.reserve(sizeof head + address + parts.coll_size);
  append(record, &head, sizeof head);
  append(record, parts.address, address);
  append(record, parts.coll, parts.coll_size);
  return record;
}

}  // namespace

bool lfc_exchange_add(lfc_exchange_part part, const void* bytes, size_t size, const void** record,
                      size_t* record_size) try {
  lfc_exchange_record own = lfc_exchange_own();
  own.parts |= part;
  if (part == LFC_EXCHANGE_ADDRESS) {
    own.address = bytes;
    own.address_size = size;
    if (size > kMostAddress) return false;
  } else if (part == LFC_EXCHANGE_COLL) {
    own.coll = bytes;
    own.coll_size = size;
  }
  Bytes& own_record = state().own_record;
  own_record = record_of(own);
  const bool complete = (own.parts & LFC_EXCHANGE_ADDRESS) != 0;
  *record = complete ? own_record.data() : nullptr;
  *record_size = complete ? own_record.size() : 0;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void lfc_exchange_drop(lfc_exchange_part part) {
  Bytes& own_record = state().own_record;
  if (!own_record.empty()) own_record[offsetof(Head, parts)] &= static_cast<std::uint8_t>(~part);
}

lfc_exchange_record lfc_exchange_own(void) {
  lfc_exchange_record own;
  const Bytes& own_record = state().own_record;
  (void)lfc_exchange_read(own_record.data(), own_record.size(), &own);
  return own;
}

bool lfc_exchange_read(const void* record, size_t size, lfc_exchange_record* found) {
  *found = {};
  Head head;
  if (size < sizeof head) return false;
  std::memcpy(&head, record, sizeof head);
  const std::size_t address = head.address_size[0] | std::size_t{head.address_size[1]} << 8;
  if (address > size - sizeof head) return false;
  const auto* const bytes = static_cast<const std::uint8_t*>(record) + sizeof head;
  *found = {head.parts, bytes, address, bytes + address, size - sizeof head - address};
  return true;
}

bool lfc_exchange_recall(uint32_t job, uint32_t rank, unsigned* parts) {
  const std::lock_guard guard(state().mutex);
  const auto found = state().jobs.find(job);
  if (found == state().jobs.end() || rank >= found->second.size()) return false;
  const std::uint8_t known = found->second[rank];
  *parts = known & ~kKnown;
  return known != 0;
}

void lfc_exchange_remember(uint32_t job, uint32_t rank, unsigned parts) try {
  const std::lock_guard guard(state().mutex);
  Bytes& ranks = state().jobs[job];
  if (rank >= ranks.size()) ranks.resize(std::size_t{rank} + 1);
  ranks[rank] = static_cast<std::uint8_t>(kKnown | parts);
} catch (const std::bad_alloc&) {
}

void lfc_exchange_forget(void) {
  const std::lock_guard guard(state().mutex);
  state().jobs.clear();
  state().own_record.clear();
}
