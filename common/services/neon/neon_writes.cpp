#include "services/neon/neon_writes.hpp"

#include <cstring>
#include <utility>

namespace lfc {
namespace {

static_assert(sizeof(RegionHandle) <= neon::Token::kRoom);

}  // namespace

struct NeonWrites::Write : Operation {
  std::shared_ptr<void> owner;
  ServicePort* port = nullptr;
  NeonWrites* writes = nullptr;  // null: freed after the loss of a member
  neon::Rank rank = 0;
  neon::Operation* op = nullptr;
  std::uint64_t address = 0;
  RegionHandle region;
};

NeonWrites::NeonWrites(std::shared_ptr<void> owner, ServicePort& port, MemoryPort* memory,
                       neon::Neon& neon, std::uint32_t rank, std::uint32_t ranks)
    : owner_(std::move(owner)),
      port_(port),
      memory_(memory),
      neon_(neon),
      rank_(rank),
      targets_(ranks) {}

void NeonWrites::forget() noexcept {
  for (Write* write : started_) write->writes = nullptr;
  started_.clear();
}

NeonWrites::~NeonWrites() = default;

void NeonWrites::connect(std::span<const PeerId> peers) {
  for (std::size_t rank = 0; rank < targets_.size(); ++rank) targets_[rank].id = peers[rank];
}

void NeonWrites::map(neon::Rank rank, std::uint64_t address, std::uint64_t size,
                     std::byte* here) noexcept {
  targets_[rank].mapped = here;
  targets_[rank].address = address;
  targets_[rank].size = size;
}

void NeonWrites::prepare(neon::Rank to) {
  if (to == rank_ || to >= targets_.size() || targets_[to].known || targets_[to].mapped != nullptr)
    return;
  const bool native = memory_ != nullptr && memory_->is_native(targets_[to].id);
  const ServicePort::Access access(port_);
  targets_[to].native = native;
  targets_[to].known = true;
}

void NeonWrites::add(neon::Rank to, const neon::Token& token, std::uint64_t offset,
                     neon::Operation& op) {
  auto write = std::make_unique<Write>();
  std::memcpy(&write->region, token.bytes, sizeof write->region);
  write->owner = owner_;
  write->port = &port_;
  write->writes = this;
  write->rank = to;
  write->op = &op;
  write->address = write->region.address + offset;
  write->done = [](Operation* self, Result result) {
    const std::unique_ptr<Write> over(static_cast<Write*>(self));
    const ServicePort::Access access(*over->port);
    if (over->writes == nullptr) return;
    std::erase(over->writes->started_, over.get());
    over->writes->ended(*over->op, result);
  };
  due_.push_back(std::move(write));
}

// Called with Access.
void NeonWrites::ended(neon::Operation& op, Result result) {
  neon_.written(op, result == Result::ok            ? neon::Status::ok
                    : result == Result::unreachable ? neon::Status::unreachable
                                                    : neon::Status::range);
}

void NeonWrites::start() {
  std::vector<std::unique_ptr<Write>> writes;
  {
    const ServicePort::Access access(port_);
    writes.swap(due_);
    for (const std::unique_ptr<Write>& each : writes)
      if (targets_[each->rank].mapped == nullptr) started_.push_back(each.get());
  }
  for (std::unique_ptr<Write>& each : writes) {
    const Target& to = targets_[each->rank];
    if (to.mapped != nullptr) {
      const std::uint64_t within = each->address - to.address;
      const bool inside = within <= to.size && each->op->size <= to.size - within;
      if (inside) std::memcpy(to.mapped + within, each->op->data, each->op->size);
      const ServicePort::Access access(port_);
      ended(*each->op, inside ? Result::ok : Result::bad_address);
      continue;
    }
    Write& write = *each.release();
    memory_->put(to.id, write.op->data, nullptr, write.address, write.region, write.op->size,
                 &write);
  }
}

void NeonWrites::reveal(neon::Announcement& buffer) {
  RegionHandle region;
  if (memory_ == nullptr || buffer.size == 0 ||
      !memory_->register_memory(buffer.address, buffer.size, kRemoteWrite, region))
    return;
  buffer.token.size = sizeof region;
  std::memcpy(buffer.token.bytes, &region, sizeof region);
}

void NeonWrites::conceal(neon::Announcement& buffer) {
  if (buffer.token.size == 0) return;
  RegionHandle region;
  std::memcpy(&region, buffer.token.bytes, sizeof region);
  memory_->deregister_memory(region);
  buffer.token.size = 0;
}

}  // namespace lfc
