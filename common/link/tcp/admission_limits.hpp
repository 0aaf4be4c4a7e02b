// AdmissionLimits: bounds of the number of unauthenticated connections at a time and of invalid hellos in a second.
// Each invalid hello may be a guess at a proof.
//
//   if (limits.has_failures()) limits.forget(now);
//   while (limits.is_room()) { accept(); limits.came(); }
//   limits.failed(now);                  // an invalid hello
//   limits.left();                       // established, or gone
//
// A pure state machine. Held by tests/unit/link/tcp/parts_test.cpp.
#pragma once

#include <chrono>
#include <cstddef>

namespace lfc::tcp {

class AdmissionLimits {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kFailures = 256;
  static constexpr std::chrono::seconds kPeriod{1};

  explicit AdmissionLimits(std::size_t places) noexcept : places_(places) {}

  // Forgets the failures of a period that is over.
  void forget(Time now) noexcept {
    if (now >= forget_) failed_ = 0;
  }
  bool has_failures() const noexcept { return failed_ != 0; }
  // True: forget() makes room, left() does not.
  bool has_too_many_failures() const noexcept { return failed_ >= kFailures; }
  bool is_room() const noexcept { return inside_ < places_ && inside_ + failed_ < kFailures; }
  void came() noexcept { ++inside_; }
  void left() noexcept { --inside_; }
  void failed(Time now) noexcept {
    if (failed_++ == 0) forget_ = now + kPeriod;
  }

 private:
  const std::size_t places_;
  std::size_t inside_ = 0;  // accepted, not yet established
  std::size_t failed_ = 0;
  Time forget_{};
};

}  // namespace lfc::tcp
