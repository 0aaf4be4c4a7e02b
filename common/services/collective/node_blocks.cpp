#include "services/collective/node_blocks.hpp"

namespace lfc {

void NodeBlocks::begin(CollOperation& operation) {
  if (kept_.empty()) return;
  const std::uint64_t step = kept_.begin()->first;
  const bool own = exchanges(operation.kind) && step == operation.first;
  if (step < operation.first || (operation.covers(step) && !own)) seat_.disagree();
  if (own) operation.arrived.store(kept_.count(step), std::memory_order_release);
}

void NodeBlocks::send(const CollOperation& operation, std::uint32_t member, Label label,
                      std::span<const std::byte> bytes) {
  MulticastHeader header;
  header.number = operation.first;
  header.tag = static_cast<std::uint8_t>(NodeTag::block);
  header.word = label.word();
  seat_.multicast.send_direct(*seat_.group, member, header, bytes);
}

Multicast::Receiver::Answer NodeBlocks::accept(const MulticastHeader& header) {
  using Answer = Multicast::Receiver::Answer;
  if (seat_.members().first(seat_.members().node(header.origin)) != header.origin)
    return Answer::malformed;
  const auto [first, last] = kept_.equal_range(header.number);
  for (auto entry = first; entry != last; ++entry)
    if (entry->second->header.origin == header.origin) return Answer::malformed;
  const bool another = seat_.current != nullptr && seat_.current->covers(header.number) &&
                       (!exchanges(seat_.current->kind) || seat_.current->first != header.number);
  if (another || header.number < seat_.own_next) {
    seat_.disagree();
    return Answer::taken;
  }
  return Answer::keep;
}

void NodeBlocks::keep(Multicast::Packet& packet) {
  const std::uint64_t step = packet.header.number;
  kept_.insert({step, &packet});
  if (seat_.current != nullptr && seat_.current->first == step)
    seat_.current->arrived.fetch_add(1, std::memory_order_release);
}

void NodeBlocks::drop() noexcept {
  for (auto& [step, packet] : kept_) seat_.multicast.release(*packet);
  kept_.clear();
}

}  // namespace lfc
