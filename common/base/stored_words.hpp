// Stored words: a copy into memory that other threads or processes poll.
//
//   store_words(to, from, bytes);   // a reader that does not wait never sees half of an aligned word
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"

namespace lfc {

// Copies bytes that do not overlap. Where address and size are multiples of 8, each word is one relaxed store. So is a
// single aligned word of 4 bytes.
inline void store_all_words(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const auto store = [&]<class Word>(std::size_t at, Word value) {
    std::atomic_ref(*reinterpret_cast<Word*>(to + at)).store(value, std::memory_order_relaxed);
  };
  const auto place = reinterpret_cast<std::uintptr_t>(to);
  if ((place | bytes) % 8 == 0) {
    for (std::size_t at = 0; at < bytes; at += 8) store(at, load_pod<std::uint64_t>(from + at));
  } else if (bytes == 4 && place % 4 == 0) {
    store(0, load_pod<std::uint32_t>(from));
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

// The largest copy that store_words() makes word by word: memcpy is faster for larger ones.
inline constexpr std::size_t kStoredWords = 512;

// As store_all_words() for copies of up to kStoredWords bytes, and as memcpy for larger ones.
inline void store_words(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes <= kStoredWords) {
    store_all_words(to, from, bytes);
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace lfc
