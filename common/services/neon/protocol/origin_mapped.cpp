#include "services/neon/protocol/origin_mapped.hpp"

#include <cstring>

#include "base/limits.hpp"
#include "base/stored_words.hpp"

namespace lfc::neon {
namespace {

// Returns the target's entry; null: there is none yet.
MappedEntry* entry_for(Stream& to, Carrier& carrier) {
  if (to.entry == nullptr && !to.open) to.entry = carrier.entry_of(to.target, to.tag);
  return to.entry;
}

// Frames and direct writes of this generation: the target counts them, and the final one as well.
bool has_begun(const Stream& to) {
  return to.running || to.sent > 0 || to.writing > 0 || !to.queue.empty();
}

// Ends a generation whose final put or get takes no frame.
void end_mapped(Stream& to) {
  to.generation = next_generation(to.generation);
  to.end_generation();
}

// Lets the entry carry a final put. False: nothing was done.
bool carry(Stream& to, std::uint64_t offset, const std::byte* data, std::uint64_t size,
           std::uint64_t end, Carrier& carrier, Statistics& statistics) {
  if (size > MappedEntry::kCarried || has_begun(to)) return false;
  MappedEntry* const entry = entry_for(to, carrier);
  if (entry == nullptr) return false;
  entry->prefetch();  // else the load of its word would fetch the line for reading first
  if (!entry->load(to.generation, offset, data, size)) return false;
  const MappedEntry::Buffer buffer = entry->buffer();
  if (!fits(offset, size, buffer.size) || end > buffer.size) return false;
  if (!entry->carry(to.generation, size)) return false;
  ++statistics.mapped;
  end_mapped(to);
  return true;
}

}  // namespace

bool may_fit(Stream& to, std::uint64_t offset, std::uint64_t size, Carrier& carrier) {
  if (to.granted == to.generation) return fits(offset, size, to.size);
  const MappedEntry* const entry = entry_for(to, carrier);
  if (entry == nullptr || !entry->is_open(to.generation)) return true;
  const MappedEntry::Buffer buffer = entry->buffer();
  return fits(offset, size, buffer.size) || !entry->is_open(to.generation);
}

std::byte* claim_mapped(Stream& to, std::uint64_t offset, std::uint64_t size, std::uint64_t end,
                        Carrier& carrier, Statistics& statistics) {
  MappedEntry* const entry = has_begun(to) ? nullptr : entry_for(to, carrier);
  if (entry == nullptr || !entry->claim(to.generation)) return nullptr;
  const MappedEntry::Buffer buffer = entry->buffer();
  std::byte* const place = fits(offset, size, buffer.size) && end <= buffer.size
                               ? carrier.mapped(to.target, buffer.place, offset, size)
                               : nullptr;
  if (place == nullptr) {
    entry->release(to.generation, false);  // the target reports the error, as for any frame
  } else {
    ++statistics.mapped;
  }
  return place;
}

bool access_mapped(Stream& to, Operation& op, Carrier& carrier, Statistics& statistics) {
  const bool put = op.type == Operation::Type::put;
  if (put && op.final && !op.strong &&
      carry(to, op.offset, op.data, op.size, op.whole_end, carrier, statistics)) {
    op.issued = true;
    op.moved = op.size;
    return true;
  }
  std::byte* const place = claim_mapped(to, op.offset, op.size, op.whole_end, carrier, statistics);
  if (place == nullptr) return false;
  if (op.final) end_mapped(to);
  op.issued = true;
  op.moved = op.size;
  const bool apart = put && op.size > limits::kNeonCopy && carrier.can_write(to.target);
  if (apart && carrier.write(to.target, {}, to.entry->buffer().place + op.offset, op)) {
    op.writing = op.claimed = true;
    ++to.writing;
    return true;
  }
  if (put) {
    store_words(place, op.data, op.size);
  } else if (op.size > 0) {
    std::memcpy(op.data, place, op.size);
  }
  to.entry->release(op.generation, op.final);
  return true;
}

// --- Origin ---

bool Origin::put_mapped(Rank target, std::uint32_t tag, std::uint64_t offset, const void* data,
                        std::uint64_t size, bool final, bool strong) {
  Stream* const to = find(target, tag);
  if (to == nullptr || outlet_.is_lost(target) || size > limits::kNeonCopy) return false;
  const auto* const bytes = static_cast<const std::byte*>(data);
  if (final && !strong && carry(*to, offset, bytes, size, 0, carrier_, statistics_)) return true;
  std::byte* const place = claim_mapped(*to, offset, size, 0, carrier_, statistics_);
  if (place == nullptr) return false;
  store_words(place, bytes, size);
  to->entry->release(to->generation, final);
  if (final) end_mapped(*to);
  return true;
}

}  // namespace lfc::neon
