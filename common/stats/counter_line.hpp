// CounterLine: a line `name=value ...` of counters, in memory of the caller.
//
//   CounterLine line(text, size);
//   line.add("sent", sent);
//   line.add("taken", taken);      // "sent=12 taken=9"
//
// A counter for which there is no room is left out. Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace lfc {

class CounterLine {
 public:
  CounterLine(char* text, std::size_t size) noexcept : text_(text), size_(size) {
    if (size_ != 0) *text_ = '\0';
  }
  void add(const char* name, std::uint64_t value) noexcept {
    if (size_ == 0) return;
    const int added =
        std::snprintf(text_ + used_, size_ - used_, "%s%s=%llu", used_ == 0 ? "" : " ", name,
                      static_cast<unsigned long long>(value));
    if (added > 0 && used_ + static_cast<std::size_t>(added) < size_)
      used_ += static_cast<std::size_t>(added);
    else
      text_[used_] = '\0';
  }

 private:
  char* const text_;
  const std::size_t size_;
  std::size_t used_ = 0;
};

}  // namespace lfc
