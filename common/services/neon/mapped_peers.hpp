// MappedPeers: the members of a NEON window whose memory is mapped here, and the entries by which this process and they
// publish announcements to each other (protocol/mapped_entries.hpp). It is the part of the window's carrier for them.
//
//   const std::vector<SharedMemoryName> names = allgather(window.create_entries());
//   window.map_peer(rank, memory, names[rank]);            // for each rank that is mapped here
//   window.close_entries();                                // when all ranks have mapped all
//
// Entries that are not used take no memory: the kernel makes a page when it is first touched.
// Threads: these three while the window is made; the rest with Access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/sparse_table.hpp"
#include "machine/process_watch.hpp"
#include "machine/shared_memory.hpp"
#include "services/neon/protocol/carrier.hpp"
#include "services/neon/protocol/exposure.hpp"
#include "services/neon/protocol/mapped_entries.hpp"

namespace lfc {

class MappedPeers : public neon::Carrier {
 public:
  // Makes the entries of this process. Size 0: the kernel refuses, and none of its announcements is published.
  SharedMemoryName create_entries();
  // `memory`: that rank's part of the window, as it is mapped here. This process itself is mapped as well.
  void map_peer(neon::Rank peer, std::span<std::byte> memory, const SharedMemoryName& entries);
  void close_entries() noexcept {
    if (own_) own_->close();
  }
  // Returns whether the process of a mapped peer has ended, which no link may detect. A system call.
  bool has_ended(neon::Rank peer) const;

 protected:
  MappedPeers(neon::Rank rank, std::uint32_t ranks) : rank_(rank), peers_(ranks) {}

 private:
  struct Peer {
    neon::Exposure memory;
    neon::MappedEntries entries;
    std::optional<SharedMemory> shared;  // of `entries`; this process itself: none
    std::optional<ProcessWatch> watch;   // kept from the first query on: its pid may be used again
  };

  neon::MappedEntry* own_entry(neon::Rank origin, std::uint32_t tag) override;
  neon::MappedEntry* entry_of(neon::Rank target, std::uint32_t tag) override;
  std::byte* mapped(neon::Rank target, std::uint64_t place, std::uint64_t within,
                    std::uint64_t size) override;

  const neon::Rank rank_;
  std::optional<SharedMemory> own_;
  neon::MappedEntries entries_;
  SparseTable<Peer> peers_;
};

}  // namespace lfc
