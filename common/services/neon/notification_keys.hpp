// NotificationKeys: the numbers in the notification keys of a process (protocol/frame.hpp), one for each window, origin
// and tag. An origin sends the key as the immediate data of a write.
//
//   header.id = keys.key({&window, origin, tag}, generation);            // 0: no number is left
//   const NotificationKeys::Stream* stream = keys.find(key);             // any key that a peer sends
//   keys.leave(window);
//
// Threads: the caller serialises. Tests: tests/unit/services/neon/notification_test.cpp.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "services/neon/protocol/frame.hpp"

namespace lfc {

class NeonWindow;

class NotificationKeys {
 public:
  struct Stream {
    NeonWindow* window = nullptr;  // null: freed
    neon::Rank origin = 0;
    std::uint32_t tag = 0;
    auto operator<=>(const Stream&) const = default;
  };

  // Returns the key of a stream's generation; 0: no number is left.
  std::uint32_t key(const Stream& stream, std::uint32_t generation) {
    const std::uint32_t number = number_of(stream);
    return number == 0 ? 0 : neon::notification_key(number, generation);
  }
  // Frees the numbers of a window.
  void leave(NeonWindow& window) noexcept {
    const auto first = numbers_.lower_bound({&window, 0, 0});
    auto each = first;
    for (; each != numbers_.end() && each->first.window == &window; ++each) {
      streams_[each->second - 1].window = nullptr;
      free_.push_back(each->second);
    }
    numbers_.erase(first, each);
  }
  // Null: no stream has ever had the number in this key.
  const Stream* find(std::uint32_t key) const noexcept {
    const std::uint32_t number = key >> neon::kKeyGenerationBits;
    return number == 0 || number > streams_.size() ? nullptr : &streams_[number - 1];
  }

 private:
  // Made at the first call.
  std::uint32_t number_of(const Stream& stream) {
    if (const auto known = numbers_.find(stream); known != numbers_.end()) return known->second;
    if (free_.empty()) {
      if (streams_.size() == (1u << neon::kKeyNumberBits) - 1) return 0;
      streams_.emplace_back();
      free_.reserve(streams_.size());  // for leave()
      free_.push_back(static_cast<std::uint32_t>(streams_.size()));
    }
    const std::uint32_t number = free_.back();
    numbers_.emplace(stream, number);
    free_.pop_back();
    streams_[number - 1] = stream;
    return number;
  }

  std::vector<Stream> streams_;  // by number, which begins with 1
  std::vector<std::uint32_t> free_;
  std::map<Stream, std::uint32_t> numbers_;
};

}  // namespace lfc
