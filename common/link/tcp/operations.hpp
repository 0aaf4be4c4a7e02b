// OperationTable: this side's puts and gets that wait for their peer.
//
// An operation is named on the wire by slot and generation, so that a late or invented answer is
// recognised. Slots are reused; the table grows with the operations under way, not with peers.
//
//   OpRef ref = table.add({operation, peer, destination, size, size});
//   if (Pending* pending = table.find(ref, peer)) { ...; Operation* op = table.take(ref); }
//
// Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "link/link.hpp"
#include "link/tcp/stream.hpp"

namespace lfc::tcp {

struct Pending {
  Operation* operation = nullptr;
  PeerId peer = kNoPeer;
  std::byte* destination = nullptr;  // a get's; null for a put
  std::uint64_t size = 0;            // a get's
  std::uint64_t left = 0;            // bytes of it that were not announced yet
};

class OperationTable {
 public:
  OpRef add(const Pending& pending) {
    std::uint32_t index = 0;
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    slots_[index].pending = pending;
    return {index, ++slots_[index].generation};
  }

  // nullptr: no such operation, or another peer's. Valid until the next add().
  Pending* find(OpRef ref, PeerId peer) noexcept {
    if (ref.index >= slots_.size()) return nullptr;
    Slot& slot = slots_[ref.index];
    const bool live = slot.generation == ref.generation && slot.pending.operation != nullptr;
    return live && slot.pending.peer == peer ? &slot.pending : nullptr;
  }

  // Frees the slot of an operation that find() has found.
  Operation* take(OpRef ref) {
    Operation* operation = slots_[ref.index].pending.operation;
    slots_[ref.index].pending = {};
    free_.push_back(ref.index);
    return operation;
  }

  // Frees all operations of a peer, and appends them to `out`.
  void take_all(PeerId peer, std::vector<Operation*>& out) {
    for (std::uint32_t index = 0; index < slots_.size(); ++index) {
      const Pending& pending = slots_[index].pending;
      if (pending.operation != nullptr && pending.peer == peer)
        out.push_back(take({index, slots_[index].generation}));
    }
  }

 private:
  struct Slot {
    Pending pending;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace lfc::tcp
