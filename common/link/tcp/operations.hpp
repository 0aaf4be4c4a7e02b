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

#include "base/named_pool.hpp"
#include "link/link.hpp"
#include "link/tcp/stream.hpp"

namespace lfc::tcp {

struct Pending {
  Operation* operation = nullptr;
  PeerId peer = kNoPeer;
  std::byte* destination = nullptr;  // a get's; null for a put
  std::uint64_t size = 0;            // a get's
  std::uint64_t left = 0;            // bytes of it in segments that have not begun to arrive
  std::uint64_t name = 0;            // the table's
};

class OperationTable {
 public:
  OpRef add(const Pending& pending) {
    const Pending& added = pool_.take([&](Pending& made) { made = pending; });
    return {index_of(added.name), generation_of(added.name)};
  }

  // nullptr: no such operation, or another peer's. Valid until it is taken.
  Pending* find(OpRef ref, PeerId peer) noexcept {
    Pending* found = pool_.find(name_of(ref.index, ref.generation));
    return found != nullptr && found->peer == peer ? found : nullptr;
  }

  // Ends an operation that find() has found.
  Operation* take(OpRef ref) {
    Pending& found = *pool_.find(name_of(ref.index, ref.generation));
    Operation* operation = found.operation;
    pool_.give_back(found);
    return operation;
  }

  // Ends all operations of a peer, and appends them to `out`.
  void take_all(PeerId peer, std::vector<Operation*>& out) {
    pool_.for_each([&](Pending& pending) {
      if (pending.peer != peer) return;
      out.push_back(pending.operation);
      pool_.give_back(pending);
    });
  }

 private:
  NamedPool<Pending> pool_;
};

}  // namespace lfc::tcp
