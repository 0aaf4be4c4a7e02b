#include "services/collective/node_results.hpp"

#include <cstring>

namespace lfc {

bool NodeResults::place(std::uint64_t step, Label label, std::span<const std::byte> bytes) {
  if (!board_.is_open()) return place_in_buffer(step, label, bytes);
  if (!board_.writable(step, bytes.size())) {
    position_.multicast.wake(position_.receiver);
    return false;
  }
  if (!bytes.empty())
    std::memcpy(board_.room(board_.self(), step, bytes.size()), bytes.data(), bytes.size());
  board_.publish(board_.self(), step, label);
  return true;
}

bool NodeResults::place_in_buffer(std::uint64_t step, Label label,
                                  std::span<const std::byte> bytes) {
  CollOperation* const operation = position_.find(step);
  if (operation == nullptr) return false;
  const std::uint64_t index = (step - operation->first) / operation->per_chunk;
  if (label != operation->label(index, operation->size_of(index))) {
    position_.disagree();
    return true;
  }
  if (!bytes.empty()) std::memcpy(operation->got(index), bytes.data(), bytes.size());
  operation->arrived.fetch_add(1, std::memory_order_release);
  return true;
}

void NodeResults::place_own(std::uint64_t step, Label label, std::span<const std::byte> bytes) {
  if (!place(step, label, bytes)) own_.emplace(step, Own{label, {bytes.begin(), bytes.end()}});
}

void NodeResults::keep(Multicast::Packet& packet) { kept_.insert({packet.header.number, &packet}); }

// Stops at the first result without a place: later steps have no room on the board either.
bool NodeResults::work() {
  while (!own_.empty()) {
    const auto first = own_.begin();
    if (!place(first->first, first->second.label, first->second.bytes)) return board_.is_open();
    own_.erase(first);
  }
  for (auto entry = kept_.begin(); entry != kept_.end();) {
    Multicast::Packet& packet = *entry->second;
    const std::span<const std::byte> bytes = packet.bytes();
    if (!place(entry->first, Label::of(packet.header.word, bytes.size()), bytes))
      return board_.is_open();
    entry = kept_.erase(entry);
    position_.multicast.release(packet);
  }
  return false;
}

void NodeResults::drop() noexcept {
  for (auto& [step, packet] : kept_) position_.multicast.release(*packet);
  kept_.clear();
}

}  // namespace lfc
