// Keys: the published values of SipHash-2-4-128, and values that a key must not reveal.
#include "wire/key.hpp"

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "catch.hpp"

namespace lfc {
namespace {

using Bytes16 = std::array<std::uint8_t, 16>;

Key key_of(const Bytes16& bytes) {
  Key key;
  std::memcpy(&key, bytes.data(), sizeof key);
  return key;
}

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

const Bytes16 kCounting{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

}  // namespace

// Vectors of the authors. The message of n bytes counts from 0, as the key does.
TEST_CASE("siphash has the published values", "[key]") {
  const struct {
    std::size_t size;
    Bytes16 result;
  } published[] = {
      {0,
       {{0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
         0x93}}},
      {1,
       {{0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
         0x45}}},
      {2,
       {{0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff,
         0xe4}}},
      {3,
       {{0x9c, 0x70, 0xb6, 0x0c, 0x52, 0x67, 0xa9, 0x4e, 0x5f, 0x33, 0xb6, 0xb0, 0x29, 0x85, 0xed,
         0x51}}},
      {7,
       {{0xa1, 0xf1, 0xeb, 0xbe, 0xd8, 0xdb, 0xc1, 0x53, 0xc0, 0xb8, 0x4a, 0xa6, 0x1f, 0xf0, 0x82,
         0x39}}},
      {8,
       {{0x3b, 0x62, 0xa9, 0xba, 0x62, 0x58, 0xf5, 0x61, 0x0f, 0x83, 0xe2, 0x64, 0xf3, 0x14, 0x97,
         0xb4}}},
      {15,
       {{0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3,
         0xd9}}},
      {63,
       {{0x51, 0x50, 0xd1, 0x77, 0x2f, 0x50, 0x83, 0x4a, 0x50, 0x3e, 0x06, 0x9a, 0x97, 0x3f, 0xbd,
         0x7c}}},
  };
  for (const auto& one : published) {
    INFO(one.size << " bytes");
    CHECK(siphash(key_of(kCounting), counting(one.size)) == key_of(one.result));
  }
  // The 64 results for 0 to 63 bytes, hashed together.
  std::vector<std::byte> all;
  for (std::size_t size = 0; size < 64; ++size) {
    const Key result = siphash(key_of(kCounting), counting(size));
    const auto bytes = std::as_bytes(std::span(&result, 1));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  const Bytes16 expected{0x75, 0x20, 0xd7, 0x34, 0x8f, 0xb9, 0x88, 0xf9,
                         0x29, 0x62, 0x5c, 0xb3, 0xff, 0x11, 0x27, 0x55};
  CHECK(siphash(key_of(kCounting), all) == key_of(expected));
}

TEST_CASE("a key is random, never zero, and its tag is another number", "[key]") {
  std::set<std::uint64_t> words;
  for (int i = 0; i < 100; ++i) {
    const Key key = random_key();
    CHECK(key);
    CHECK(tag_of(key) != static_cast<std::uint32_t>(key.low));
    words.insert({key.low, key.high});
  }
  CHECK(words.size() == 200);
  CHECK_FALSE(Key{});
  CHECK_FALSE(Key(1, 2) == Key(1, 3));
  CHECK_FALSE(Key(1, 2) == Key(0, 2));
  CHECK(Key(1, 2) == Key(1, 2));
}

}  // namespace lfc
