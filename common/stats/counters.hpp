// Counters: numbers that are always counted, by one relaxed add each. They can be read at any time, also during a hang.
//
//   counters.add(Counter::frames_sent);
//   print(counter_info()[0].name, counters.get(Counter{0}));   // by index
//
// Another counter is a row of counters.def.
//
// Writers: the thread that drives the NI, or a sender under the send lock; a counter has one
// writer at a time, so an add is a plain load and store. Readers: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lfc {

enum class Counter : std::uint8_t {
#define LFC_COUNTER(name, help) name,
#include "stats/counters.def"
#undef LFC_COUNTER
  count_,
};
// The counter of one of several rails. The rows of the rails follow each other.
constexpr Counter rail_bytes(std::size_t rail) noexcept {
  return static_cast<Counter>(static_cast<std::size_t>(Counter::rail0_bytes) + rail);
}
static_assert(rail_bytes(7) == Counter::rail7_bytes);
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::count_);

struct CounterInfo {
  const char* name;
  const char* help;
};
// Name and one-line description of each counter, by its number.
const std::array<CounterInfo, kCounters>& counter_info() noexcept;

class Counters {
 public:
  void add(Counter which, std::uint64_t amount = 1) noexcept {
    auto& cell = values_[static_cast<std::size_t>(which)];
    cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  std::uint64_t get(Counter which) const noexcept {
    return values_[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kCounters> values_{};
};

}  // namespace lfc
