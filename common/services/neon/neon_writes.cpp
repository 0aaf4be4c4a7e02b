#include "services/neon/neon_writes.hpp"

#include <cstring>
#include <utility>

namespace lfc {
namespace {

static_assert(sizeof(RegionHandle) <= neon::Token::kRoom);

}  // namespace

struct NeonWrites::Write : Operation, WaitingCall {
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
  const RegionHandle* source = nullptr;  // the cache's registration of the data; null: none

  void register_source() noexcept {
    RegistrationCache* const cache = memory->cache();
    if (cache != nullptr && source == nullptr) source = cache->take(op->data, op->size, 0);
  }
  void give_source_back() noexcept {
    RegistrationCache* const cache = memory->cache();
    const RegionHandle* const taken = std::exchange(source, nullptr);
    if (cache != nullptr && taken != nullptr) cache->give_back(*taken);
  }
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
  for (Write* write : under_way_) write->writes = nullptr;
  under_way_.clear();
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
  const ServicePort::Access access(port_);
  if (targets_.find(to) != nullptr) return;
  const bool native = memory_ != nullptr && memory_->is_native(peers_[to]);
  targets_.at(to).native = native;
}

bool NeonWrites::is_prepared_for_window(neon::Rank to) {
  const ServicePort::Access access(port_);
  const Target* const known = targets_.find(to);
  return known != nullptr && known->window_known;
}

void NeonWrites::prepare_for_window(neon::Rank to, const RegionHandle& region) {
  if (to == rank_ || to >= targets_.size()) return;
  prepare(to);
  const ServicePort::Access access(port_);
  Target& target = targets_.at(to);
  if (std::exchange(target.window_known, true)) return;  // by another thread
  if (target.native && region.size != 0 && port_.link_traits(peers_[to]).notified_puts)
    target.window = std::make_unique<const RegionHandle>(region);
}

NeonWrites::Write& NeonWrites::make(neon::Rank to, neon::Operation& op,
                                    const RegionHandle& region) {
  Write& write = *new Write;  // leave_queue() takes it over
  write.region = region;
  write.owner = owner_;
  write.port = &port_;
  write.writes = this;
  write.to = targets_.find(to);  // not null, because can() or can_notify() is true
  write.peer = peers_[to];
  write.op = &op;
  write.memory = memory_;
  write.rank = to;
  write.done = [](Operation* self, Result result) { over(static_cast<Write*>(self), result); };
  write.call = [](WaitingCall* self) {
    leave_queue(std::unique_ptr<Write>(static_cast<Write*>(self)));
  };
  return write;
}

void NeonWrites::queue(Write& write) {
  under_way_.push_back(&write);
  ++queued_;
  if (write.key != 0) ++notifying_;
  port_.call_host(write);
}

void NeonWrites::add(neon::Rank to, const neon::Token& token, std::uint64_t offset,
                     neon::Operation& op) {
  RegionHandle region;
  std::memcpy(&region, token.bytes, sizeof region);
  Write& write = make(to, op, region);
  write.address = (token.size > 0 ? region.address : write.to->address) + offset;
  write.key = write.to->mapped == nullptr ? op.key : 0;
  queue(write);
}

void NeonWrites::add_notified(neon::Rank to, std::uint64_t offset, std::uint32_t key,
                              neon::Operation& op) {
  const RegionHandle& region = *targets_.find(to)->window;
  Write& write = make(to, op, region);
  write.address = region.address + offset;
  write.key = key;
  queue(write);
}

// A write has ended; called without Access.
void NeonWrites::over(Write* write, Result result) {
  std::unique_ptr<Write> ended(write);
  // Before the operation ends, because then the program may give up its memory, and the cache.
  if (result != Result::not_supported) ended->give_source_back();
  if (begins_anew(*ended, result)) return begin(std::move(ended));
  ended->give_source_back();
}

// Handles the end of a write. True: the link cannot notify with it and has written nothing, so it begins anew without
// its notification. A notified put to the window at large goes in frames instead.
bool NeonWrites::begins_anew(Write& write, Result result) {
  const ServicePort::Access access(*write.port);
  NeonWrites* const writes = write.writes;
  if (writes == nullptr) return false;
  const bool notifies = std::exchange(write.key, 0u) != 0;
  if (notifies) --writes->notifying_;
  const bool refused = notifies && result == Result::not_supported;
  const bool again = refused && write.op->type == neon::Operation::Type::put;
  if (!again) std::erase(writes->under_way_, &write);
  if (refused) writes->neon_.note_refused();
  if (again) return true;
  const bool notified = notifies && result == Result::ok;
  if (notified) ++writes->sent_[write.rank];
  writes->ended(*write.op, result,
                refused    ? neon::Written::refused
                : notified ? neon::Written::notified
                           : neon::Written::data);
  return false;
}

void NeonWrites::begin(std::unique_ptr<Write> write) {
  Write& begun = *write.release();
  begun.register_source();
  const ServicePort::Visit visit(*begun.port);
  if (begun.key != 0) {
    begun.memory->put_notified(begun.peer, begun.op->data, begun.source, begun.address,
                               begun.region, begun.op->size, ServiceId::neon, begun.key, &begun);
  } else {
    begun.memory->put(begun.peer, begun.op->data, begun.source, begun.address, begun.region,
                      begun.op->size, &begun);
  }
}

// Called with Access.
void NeonWrites::ended(neon::Operation& op, Result result, neon::Written what) {
  const bool good = result == Result::ok || what == neon::Written::refused;
  neon_.written(op,
                good                            ? neon::Status::ok
                : result == Result::unreachable ? neon::Status::unreachable
                                                : neon::Status::range,
                what);
}

// Called by the host, without Access.
void NeonWrites::leave_queue(std::unique_ptr<Write> write) {
  {
    const ServicePort::Access access(*write->port);
    if (write->writes == nullptr) return;  // nothing has been written, or will be
    --write->writes->queued_;
  }
  if (write->to->mapped != nullptr) return copy(*write);
  begin(std::move(write));
}

void NeonWrites::copy(const Write& write) {
  const Target& to = *write.to;
  const std::uint64_t within = write.address - to.address;
  const bool inside = within <= to.size && write.op->size <= to.size - within;
  if (inside) std::memcpy(to.mapped + within, write.op->data, write.op->size);
  const ServicePort::Access access(*write.port);
  NeonWrites* const writes = write.writes;
  if (writes == nullptr) return;
  std::erase(writes->under_way_, &write);
  writes->ended(*write.op, inside ? Result::ok : Result::bad_address, neon::Written::data);
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
