// Counters: numbers that are always counted, by one relaxed add each. They can be read at any time, also during a hang.
//
//   counters.add(Counter::frames_sent);
//   print(counter_info()[0].name, counters.get(Counter{0}));   // by index, in the order of the enum
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
  frames_sent,
  frames_received,
  writes_saved,
  reads_saved,
  bytes_sent,
  bytes_received,
  messages_sent,
  messages_received,
  credit_stalls,
  link_stalls,
  explicit_credits,
  window_growths,
  put_native_bytes,
  get_native_bytes,
  puts_notified,
  put_frames_bytes,
  get_frames_bytes,
  fetches_copied,
  fetches_streamed,
  fetches_tried,
  atomics,
  registrations,
  connections,
  frames_dropped,
  peers_broken,
  thread_wakeups,
  thread_turns,
  thread_looks,
  leave_timers,
  leaves_served,
  multicasts,
  multicast_links,
  recoveries,
  recovery_packets,
  pushes,
  pushes_dropped,
  rails_lost,
  rails_returned,
  rail_frames_again,
  rail_duplicates,
  rail0_bytes,
  rail1_bytes,
  rail2_bytes,
  rail3_bytes,
  rail4_bytes,
  rail5_bytes,
  rail6_bytes,
  rail7_bytes,
  count_,
};
// The counter of one of several rails.
constexpr Counter rail_bytes(std::size_t rail) noexcept {
  return static_cast<Counter>(static_cast<std::size_t>(Counter::rail0_bytes) + rail);
}
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::count_);

struct CounterInfo {
  const char* name;
  const char* help;
};
// Name and one-line description of each counter, in the order of the enum.
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
