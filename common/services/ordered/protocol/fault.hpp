// OrderFault: the reason why an ordered broadcast has ended; only the first reason is kept.
//
//   OrderFaultOnce fault;
//   fault.raise(OrderFault::lost);
//   if (fault.get() != OrderFault::none) return;
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace lfc {

enum class OrderFault : std::uint8_t {
  none,
  lost,      // a member is lost
  protocol,  // a member breaks the protocol
};

class OrderFaultOnce {
 public:
  void raise(OrderFault fault) noexcept {
    OrderFault none = OrderFault::none;
    fault_.compare_exchange_strong(none, fault, std::memory_order_release);
  }
  OrderFault get() const noexcept { return fault_.load(std::memory_order_acquire); }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  std::atomic<OrderFault> fault_ = OrderFault::none;
};

}  // namespace lfc
