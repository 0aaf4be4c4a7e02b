// NodeBlocks: the blocks of an exchange that a node sends to the leaders of other nodes, and those that it receives.
//
//   blocks.send(operation, member, label, bytes);
//   if (operation.arrived.load() == leaders) blocks.take(operation, [](auto member, Label label, auto bytes) { ... });
//
// A leader sends at most one block to each other leader in a step.
// Threads: under ServicePort::Access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "services/collective/tree_position.hpp"

namespace lfc {

class NodeBlocks {
 public:
  explicit NodeBlocks(TreePosition& position) noexcept : position_(position) {}

  void begin(CollOperation& operation);
  void send(const CollOperation& operation, std::uint32_t member, Label label,
            std::span<const std::byte> bytes);
  Multicast::Receiver::Reception accept(const MulticastHeader& header);
  void keep(Multicast::Packet& packet);
  template <class Each>
  void take(const CollOperation& operation, Each each) {
    const auto [first, last] = kept_.equal_range(operation.first);
    for (auto entry = first; entry != last; ++entry) {
      Multicast::Packet& packet = *entry->second;
      const MulticastHeader& header = packet.header;
      const std::span<const std::byte> bytes = packet.bytes();
      each(header.origin, Label::of(header.word, bytes.size()), bytes);
      position_.multicast.release(packet);
    }
    kept_.erase(first, last);
  }
  void drop() noexcept;

 private:
  TreePosition& position_;
  std::multimap<std::uint64_t, Multicast::Packet*> kept_;  // by step
};

}  // namespace lfc
