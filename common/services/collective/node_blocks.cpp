#include "services/collective/node_blocks.hpp"

#include "services/collective/collective.hpp"

namespace lfc {

void NodeBlocks::begin(CollOperation& operation) {
  const auto early = kept_.lower_bound(operation.first);
  if (early == kept_.end() || !operation.covers(early->first)) return;
  if (traits_of(operation).exchange != 0 && early->first == operation.first)
    operation.arrived.store(kept_.count(operation.first), std::memory_order_release);
  else
    position_.disagree();
}

void NodeBlocks::send(const CollOperation& operation, std::uint32_t member, Label label,
                      std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.number = operation.first;
  header.tag = static_cast<std::uint8_t>(NodeTag::block);
  header.word = label.word();
  position_.multicast.send_direct(*position_.group, member, header, bytes);
}

Multicast::Receiver::Reception NodeBlocks::accept(const MulticastHeader& header) {
  using Reception = Multicast::Receiver::Reception;
  if (position_.members().first(position_.members().node(header.origin)) != header.origin)
    return Reception::malformed;
  const auto [first, last] = kept_.equal_range(header.number);
  for (auto entry = first; entry != last; ++entry)
    if (entry->second->header.origin == header.origin) return Reception::malformed;
  const CollOperation* const operation = position_.find(header.number);
  const bool fits = operation == nullptr
                        ? header.number >= position_.begun_to
                        : traits_of(*operation).exchange != 0 && operation->first == header.number;
  if (!fits) {
    position_.disagree();
    return Reception::taken;
  }
  return Reception::keep;
}

void NodeBlocks::keep(Multicast::Packet& packet) {
  const std::uint64_t step = packet.header.number;
  kept_.insert({step, &packet});
  if (CollOperation* const operation = position_.find(step))
    operation->arrived.fetch_add(1, std::memory_order_release);
}

void NodeBlocks::drop() noexcept {
  for (auto& [step, packet] : kept_) position_.multicast.release(*packet);
  kept_.clear();
}

}  // namespace lfc
