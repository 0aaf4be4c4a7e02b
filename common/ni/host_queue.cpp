#include "ni/host_queue.hpp"

namespace lfc {

bool HostQueue::deliver(const Delivery& delivery) {
  if (mode_ == Mode::direct) {
    if (handler_.deliver != nullptr) handler_.deliver(handler_.context, delivery);
    return true;
  }
  Item item{delivery.peer,
            delivery.peer_context,
            delivery.tag,
            {delivery.bytes.begin(), delivery.bytes.end()}};
  const std::lock_guard guard(mutex_);
  items_.push_back(std::move(item));
  return false;
}

bool HostQueue::pop(Item& out) {
  const std::lock_guard guard(mutex_);
  if (items_.empty()) return false;
  out = std::move(items_.front());
  items_.pop_front();
  return true;
}

std::size_t HostQueue::waiting() const {
  const std::lock_guard guard(mutex_);
  return items_.size();
}

}  // namespace lfc
