#include "services/neon/mapped_peers.hpp"

#include <utility>

#include "base/limits.hpp"

namespace lfc {

using neon::MappedEntries;
using neon::MappedEntry;
using neon::Rank;

SharedMemoryName MappedPeers::create_entries() {
  own_ = SharedMemory::create(limits::kNeonEntries * sizeof(MappedEntry));
  if (!own_) return {};
  entries_ = MappedEntries(own_->data(), limits::kNeonEntries);
  return own_->name();
}

void MappedPeers::map_peer(Rank peer, std::span<std::byte> memory,
                           const SharedMemoryName& entries) {
  if (!own_ || entries.size != limits::kNeonEntries * sizeof(MappedEntry)) return;
  std::optional<SharedMemory> shared;
  if (peer != rank_ && !(shared = SharedMemory::open(entries))) return;
  Peer& made = peers_.at(peer);
  made.memory.base = memory.data();
  made.memory.size = memory.size();
  made.entries = shared ? MappedEntries(shared->data(), limits::kNeonEntries) : entries_;
  made.shared = std::move(shared);
}

bool MappedPeers::has_ended(Rank peer) const {
  Peer* const known = peers_.find(peer);
  if (known == nullptr || !known->shared) return false;
  if (!known->watch) known->watch.emplace(known->shared->name().pid);
  return known->watch->dead();
}

MappedEntry* MappedPeers::own_entry(Rank origin, std::uint32_t tag) {
  return peers_.find(origin) != nullptr ? entries_.make(origin, tag) : nullptr;
}

MappedEntry* MappedPeers::entry_of(Rank target, std::uint32_t tag) {
  const Peer* const known = peers_.find(target);
  return known != nullptr ? known->entries.find(rank_, tag) : nullptr;
}

std::byte* MappedPeers::mapped(Rank target, std::uint64_t place, std::uint64_t within,
                               std::uint64_t size) {
  const Peer* const known = peers_.find(target);
  return known != nullptr ? known->memory.at(place, within, size) : nullptr;
}

}  // namespace lfc
