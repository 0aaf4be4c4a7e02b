#include "services/neon/protocol/mapped_entries.hpp"

#include <algorithm>
#include <cstring>

namespace lfc::neon {
namespace {

constexpr std::size_t kProbes = 8;  // places that an entry may have

std::uint64_t key_of(Rank origin, std::uint32_t tag) noexcept {
  return (std::uint64_t{origin} + 1) << 32 | tag;
}

}  // namespace

MappedEntry::State MappedEntry::close(std::uint32_t generation) noexcept {
  std::uint64_t found = word(generation, State::open);
  if (word_.compare_exchange_strong(found, word(generation, State::closed),
                                    std::memory_order_acq_rel, std::memory_order_acquire))
    return State::closed;
  if (found == word(generation, State::busy)) return State::busy;
  return is_final(found, generation) ? State::done : State::closed;
}

void MappedEntry::load_rest(std::size_t at, const std::byte* data, std::size_t size) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, data, size);
  words_[at / sizeof value].store(value, std::memory_order_relaxed);
}

MappedEntry::Carried MappedEntry::carried() const noexcept {
  const std::uint64_t found = word_.load(std::memory_order_acquire);
  Carried put;
  if (state_of(found) != State::carried) return put;
  put.offset = offset_.load(std::memory_order_relaxed);
  put.size = size_of(found);
  for (std::size_t i = 0; i < kCarriedWords; ++i)
    put.words[i] = words_[i].load(std::memory_order_relaxed);
  return put;
}

MappedEntry& MappedEntries::at(std::uint64_t key, std::size_t probe) const noexcept {
  const std::uint64_t hash = key * 0x9e3779b97f4a7c15u >> 32;
  return entries_[(hash + probe) & (count_ - 1)];
}

std::size_t MappedEntries::probes() const noexcept { return std::min(kProbes, count_); }

MappedEntry* MappedEntries::make(Rank origin, std::uint32_t tag) noexcept {
  const std::uint64_t key = key_of(origin, tag);
  for (std::size_t probe = 0; probe < probes(); ++probe) {
    MappedEntry& each = at(key, probe);
    const std::uint64_t found = each.key_.load(std::memory_order_relaxed);
    if (found == key) return &each;
    if (found != 0) continue;
    each.key_.store(key, std::memory_order_release);  // pairs with find()
    return &each;
  }
  return nullptr;
}

MappedEntry* MappedEntries::find(Rank origin, std::uint32_t tag) const noexcept {
  const std::uint64_t key = key_of(origin, tag);
  for (std::size_t probe = 0; probe < probes(); ++probe) {
    MappedEntry& each = at(key, probe);
    const std::uint64_t found = each.key_.load(std::memory_order_acquire);  // pairs with make()
    if (found == key) return &each;
    if (found == 0) break;
  }
  return nullptr;
}

}  // namespace lfc::neon
