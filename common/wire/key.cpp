#include "wire/key.hpp"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace lfc {
namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) noexcept {
    for (; count > 0; --count) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t word) noexcept {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  std::uint64_t result() noexcept {
    rounds(4);
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

Key siphash(const Key& key, std::span<const std::byte> message) noexcept {
  SipState state{key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d ^ 0xee,
                 key.low ^ 0x6c7967656e657261, key.high ^ 0x7465646279746573};
  const std::uint64_t size = message.size();
  std::uint64_t word = 0;
  for (; message.size() >= sizeof word; message = message.subspan(sizeof word)) {
    std::memcpy(&word, message.data(), sizeof word);
    state.take(word);
  }
  word = 0;
  if (!message.empty()) std::memcpy(&word, message.data(), message.size());
  state.take(word | size << 56);
  state.v2 ^= 0xee;
  const std::uint64_t low = state.result();
  state.v1 ^= 0xdd;
  return {low, state.result()};
}

std::uint32_t tag_of(const Key& key) noexcept {
  constexpr std::string_view kLabel = "tag";
  return static_cast<std::uint32_t>(siphash(key, std::as_bytes(std::span(kLabel))).low);
}

Key random_key() {
  Key key;
  while (!key) {
    const ssize_t got =
        ::getrandom(&key, sizeof key, 0);  // so few bytes are never returned in part
    if (got != static_cast<ssize_t>(sizeof key) && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return key;
}

}  // namespace lfc
