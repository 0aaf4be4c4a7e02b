// Pace: the interval in polls between two calls of epoll_wait(). It is 1 at first. After kFruitless calls in a row
// without an event it is kAlone, or kBesideActive while other connections are read directly.
//
//   if (pace.is_due()) pace.looked(count > 0, !active.empty());
//   pace.hurry();                                        // something may have come that no poll has counted
//
// A pure state machine. Held by tests/unit/link/tcp/parts_test.cpp.
#pragma once

#include <cstdint>

namespace lfc::tcp {

class Pace {
 public:
  static constexpr std::uint32_t kFruitless = 32;  // fruitless looks before they become rarer
  static constexpr std::uint32_t kBesideActive = 16;
  static constexpr std::uint32_t kAlone = 8;

  // Called once for each poll.
  bool is_due() noexcept { return polls_left_ == 0 || --polls_left_ == 0; }
  void looked(bool found, bool beside_active) noexcept {
    fruitless_ = found ? 0 : fruitless_ + 1;
    polls_left_ = fruitless_ < kFruitless ? 1 : beside_active ? kBesideActive : kAlone;
  }
  void hurry() noexcept { polls_left_ = 0; }

 private:
  std::uint32_t polls_left_ = 0;
  std::uint32_t fruitless_ = 0;  // looks in a row
};

}  // namespace lfc::tcp
