// Slot: a 64-bit counter of notifications that have been received together with their data. Announcements wait for it
// to reach a value; the indices of put_notify are such slots; an expected count is a comparison.
//
//   Slot slot;
//   slot.add(1);                                 // the control program: the data is in place
//   if (slot.value() >= 3) use(data);            // the host: earlier stores are visible
//   const std::uint64_t seen = slot.exchange(0);
//
// Threads: any. The release in add() pairs with the acquire in value() and exchange(): the data before the notification
// is visible.
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc::neon {

class Slot {
 public:
  void add(std::uint64_t count) noexcept { value_.fetch_add(count, std::memory_order_release); }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }
  std::uint64_t exchange(std::uint64_t value) noexcept {
    return value_.exchange(value, std::memory_order_acq_rel);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace lfc::neon
