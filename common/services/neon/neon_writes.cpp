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
  const Target* to = nullptr;
  PeerId peer = kNoPeer;
  neon::Operation* op = nullptr;
  MemoryPort* memory = nullptr;
  neon::Rank rank = 0;
  std::uint32_t key = 0;  // under which it notifies the target; 0: not at all
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

void NeonWrites::map(neon::Rank rank, std::uint64_t address, std::uint64_t size, std::byte* here) {
  Target& target = targets_.at(rank);
  target.mapped = here;
  target.address = address;
  target.size = size;
}

void NeonWrites::prepare(neon::Rank to) {
  if (to == rank_ || to >= targets_.size()) return;
  {
    const ServicePort::Access access(port_);
    if (targets_.find(to) != nullptr) return;
  }
  const bool native = memory_ != nullptr && memory_->is_native(peers_[to]);
  const ServicePort::Access access(port_);
  targets_.at(to).native = native;
}

void NeonWrites::add(neon::Rank to, const neon::Token& token, std::uint64_t offset,
                     neon::Operation& op) {
  auto write = std::make_unique<Write>();
  std::memcpy(&write->region, token.bytes, sizeof write->region);
  write->owner = owner_;
  write->port = &port_;
  write->writes = this;
  write->to = targets_.find(to);  // not null, because can() is true
  write->peer = peers_[to];
  write->op = &op;
  write->address = (token.size > 0 ? write->region.address : write->to->address) + offset;
  write->memory = memory_;
  write->rank = to;
  write->key = write->to->mapped == nullptr ? op.key : 0;
  if (write->key != 0) ++notifying_;
  write->done = [](Operation* self, Result result) { over(static_cast<Write*>(self), result); };
  due_.push_back(std::move(write));
}

// A write has ended; called without Access. If the link cannot notify with it, nothing was written, and it begins anew.
void NeonWrites::over(Write* write, Result result) {
  std::unique_ptr<Write> ended(write);
  {
    const ServicePort::Access access(*ended->port);
    NeonWrites* const writes = ended->writes;
    if (writes == nullptr) return;
    const bool notifies = std::exchange(ended->key, 0u) != 0;
    if (notifies) --writes->notifying_;
    if (!notifies || result != Result::not_supported) {
      std::erase(writes->started_, write);
      const bool notified = notifies && result == Result::ok;
      if (notified) ++writes->sent_[ended->rank];
      return writes->ended(*ended->op, result, notified);
    }
  }
  begin(std::move(ended));
}

void NeonWrites::begin(std::unique_ptr<Write> write) {
  Write& begun = *write.release();
  if (begun.key != 0) {
    begun.memory->put_notified(begun.peer, begun.op->data, begun.address, begun.region,
                               begun.op->size, ServiceId::neon, begun.key, &begun);
  } else {
    begun.memory->put(begun.peer, begun.op->data, nullptr, begun.address, begun.region,
                      begun.op->size, &begun);
  }
}

// Called with Access.
void NeonWrites::ended(neon::Operation& op, Result result, bool notified) {
  neon_.written(op,
                result == Result::ok            ? neon::Status::ok
                : result == Result::unreachable ? neon::Status::unreachable
                                                : neon::Status::range,
                notified);
}

void NeonWrites::start() {
  std::vector<std::unique_ptr<Write>> writes;
  {
    const ServicePort::Access access(port_);
    writes.swap(due_);
    for (const std::unique_ptr<Write>& each : writes)
      if (each->to->mapped == nullptr) started_.push_back(each.get());
  }
  for (std::unique_ptr<Write>& each : writes) {
    const Target& to = *each->to;
    if (to.mapped != nullptr) {
      const std::uint64_t within = each->address - to.address;
      const bool inside = within <= to.size && each->op->size <= to.size - within;
      if (inside) std::memcpy(to.mapped + within, each->op->data, each->op->size);
      const ServicePort::Access access(port_);
      ended(*each->op, inside ? Result::ok : Result::bad_address, false);
      continue;
    }
    begin(std::move(each));
  }
}

// A registration of the cache contains the buffer; origins get the buffer's own bounds.
bool NeonWrites::register_buffer(const neon::Announcement& buffer, Revealed& revealed) {
  RegistrationCache* const cache = memory_->cache();
  if (cache == nullptr)
    return memory_->register_memory(buffer.address, buffer.size, kRemoteWrite, revealed.region);
  revealed.cached = cache->take(buffer.address, buffer.size, kRemoteWrite);
  if (revealed.cached == nullptr) return false;
  revealed.region = *revealed.cached;
  revealed.region.address = reinterpret_cast<std::uint64_t>(buffer.address);
  revealed.region.size = buffer.size;
  return true;
}

void NeonWrites::release(Revealed& revealed) {
  if (revealed.cached == nullptr) {
    memory_->deregister_memory(revealed.region);
  } else if (RegistrationCache* const cache = memory_->cache(); cache != nullptr) {
    cache->give_back(*revealed.cached);
  }
}

void NeonWrites::reveal(neon::Announcement& buffer) {
  if (memory_ == nullptr || buffer.size == 0) return;
  Revealed revealed;
  if (!register_buffer(buffer, revealed)) return;
  buffer.token.size = sizeof revealed.region;
  std::memcpy(buffer.token.bytes, &revealed.region, sizeof revealed.region);
  const std::lock_guard guard(revealed_lock_);
  revealed_.emplace(&buffer, revealed);
}

void NeonWrites::conceal(neon::Announcement& buffer) {
  decltype(revealed_)::node_type taken;
  {
    const std::lock_guard guard(revealed_lock_);
    taken = revealed_.extract(&buffer);
  }
  if (taken.empty()) return;
  buffer.token.size = 0;
  release(taken.mapped());
}

void NeonWrites::conceal_all() {
  decltype(revealed_) taken;
  {
    const std::lock_guard guard(revealed_lock_);
    taken.swap(revealed_);
  }
  for (auto& [buffer, revealed] : taken) {
    buffer->token.size = 0;
    release(revealed);
  }
}

}  // namespace lfc
