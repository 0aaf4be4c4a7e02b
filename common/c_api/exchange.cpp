#include "lfc/exchange.h"

#include <array>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

// A record: this head, the address, the facts for coll lfc. It has no byte order.
struct Head {
  std::uint8_t parts;
  std::uint8_t unused;
  std::array<std::uint8_t, 2> address_size;  // the lower byte first
};
static_assert(sizeof(Head) == 4 && alignof(Head) == 1);

// This process.
unsigned own_parts;
Bytes own_address;
Bytes own_coll;
Bytes own_record;

// Other processes.
std::mutex mutex;
constexpr std::uint8_t kKnown = 0x80;           // above all parts
std::unordered_map<std::uint32_t, Bytes> jobs;  // for each rank: kKnown and parts, or 0

void append(Bytes& to, const Bytes& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

bool lfc_exchange_add(lfc_exchange_part part, const void* bytes, size_t size, const void** record,
                      size_t* record_size) try {
  const auto* const first = static_cast<const std::uint8_t*>(bytes);
  if (part == LFC_EXCHANGE_ADDRESS) own_address.assign(first, first + size);
  if (part == LFC_EXCHANGE_COLL) own_coll.assign(first, first + size);
  const std::size_t length = own_address.size();
  own_record = {static_cast<std::uint8_t>(own_parts | part), 0, static_cast<std::uint8_t>(length),
                static_cast<std::uint8_t>(length >> 8)};
  append(own_record, own_address);
  append(own_record, own_coll);
  own_parts |= part;
  const bool complete = (own_parts & LFC_EXCHANGE_ADDRESS) != 0;
  *record = complete ? own_record.data() : nullptr;
  *record_size = complete ? own_record.size() : 0;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void lfc_exchange_drop(lfc_exchange_part part) { own_parts &= ~static_cast<unsigned>(part); }

lfc_exchange_record lfc_exchange_own(void) {
  return {own_parts, own_address.data(), own_address.size(), own_coll.data(), own_coll.size()};
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
  const std::lock_guard guard(mutex);
  const auto found = jobs.find(job);
  if (found == jobs.end() || rank >= found->second.size()) return false;
  const std::uint8_t known = found->second[rank];
  *parts = known & ~kKnown;
  return known != 0;
}

void lfc_exchange_remember(uint32_t job, uint32_t rank, unsigned parts) try {
  const std::lock_guard guard(mutex);
  Bytes& ranks = jobs[job];
  if (rank >= ranks.size()) ranks.resize(std::size_t{rank} + 1);
  ranks[rank] = static_cast<std::uint8_t>(kKnown | parts);
} catch (const std::bad_alloc&) {
}

void lfc_exchange_forget(void) {
  const std::lock_guard guard(mutex);
  jobs.clear();
  own_parts = 0;
  own_address.clear();
  own_coll.clear();
}
