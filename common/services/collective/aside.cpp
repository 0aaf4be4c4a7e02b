#include "services/collective/aside.hpp"

namespace lfc {

Aside::~Aside() {
  const ServicePort::Access access(multicast_.port());
  multicast_.forget(*this);
}

void Aside::add(Entry& entry) {
  const ServicePort::Access access(multicast_.port());
  entry.next_ = first_;
  entry.place_ = &first_;
  if (first_ != nullptr) first_->place_ = &entry.next_;
  first_ = &entry;
  multicast_.wake(*this);
}

void Aside::remove(Entry& entry) noexcept {
  const ServicePort::Access access(multicast_.port());
  *entry.place_ = entry.next_;
  if (entry.next_ != nullptr) entry.next_->place_ = entry.place_;
}

bool Aside::work() {
  if (host_.is_engine())
    for (Entry* each = first_; each != nullptr; each = each->next_) each->advance_aside();
  return first_ != nullptr;
}

}  // namespace lfc
