#include "engine/host_queue.hpp"

#include "base/faults.hpp"
#include "base/limits.hpp"

namespace lfc {

bool HostQueue::enqueue(const Delivery& delivery) {
  const std::lock_guard guard(mutex_);
  Item item;
  if (!spares_.empty()) {
    item = std::move(spares_.back());
    spares_.pop_back();
    memory_ -= item.cost();
  }
  item.peer = delivery.peer;
  item.peer_context = delivery.peer_context;
  item.tag = delivery.tag;
  item.bytes.assign(delivery.bytes.begin(), delivery.bytes.end());
  memory_ += item.cost();
  waiting_memory_ += item.cost();
  item.holds_buffer = !away_ || waiting_memory_ > limit_ || fault(Fault::queue_full);
  const bool released = !item.holds_buffer;
  items_.push_back(std::move(item));
  count_.store(items_.size(), std::memory_order_relaxed);
  return released;
}

bool HostQueue::pop(Item& out) {
  if (empty()) return false;
  const std::lock_guard guard(mutex_);
  if (items_.empty()) return false;
  out = std::move(items_.front());
  items_.pop_front();
  waiting_memory_ -= out.cost();
  count_.store(items_.size(), std::memory_order_relaxed);
  return true;
}

void HostQueue::recycle(Item item) {
  const std::lock_guard guard(mutex_);
  if (spares_.size() < limits::kQueueSpares) {
    spares_.push_back(std::move(item));
  } else {
    memory_ -= item.cost();
  }
}

std::size_t HostQueue::waiting() const {
  const std::lock_guard guard(mutex_);
  return items_.size();
}

std::size_t HostQueue::memory() const {
  const std::lock_guard guard(mutex_);
  return memory_;
}

}  // namespace lfc
