// Bytes with several owners, and the pool that gives them.
#include "base/shared_bytes.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

#include "catch.hpp"

using namespace lfc;

TEST_CASE("bytes from a pool have at most a quarter more, and are copies", "[shared_bytes]") {
  BytesPool pool(0);
  for (const std::size_t size : {1u, 63u, 64u, 65u, 511u, 512u, 513u, 4000u, 65537u}) {
    std::vector<std::byte> bytes(size, std::byte{5});
    const SharedBytes made = pool.copy(bytes);
    bytes.assign(size, std::byte{6});
    REQUIRE(made.size() == size);
    for (const std::byte byte : made.span()) REQUIRE(byte == std::byte{5});
    CHECK(pool.memory() >= size);
    CHECK(pool.memory() <= size + size / 4 + 64);
  }
  CHECK(pool.memory() == 0);
}

TEST_CASE("bytes end with their last owner", "[shared_bytes]") {
  BytesPool pool(0);
  SharedBytes first = pool.take(64);
  std::memset(first.writable(), 7, 64);
  CHECK_FALSE(first.has_others());
  SharedBytes second = first;
  CHECK(second.data() == first.data());
  CHECK(first.has_others());
  SharedBytes end = first.part(60, 4);
  first = {};
  second = {};
  CHECK(pool.memory() != 0);
  REQUIRE(end.size() == 4);
  CHECK(end.span()[3] == std::byte{7});
  end = {};
  CHECK(pool.memory() == 0);
}

TEST_CASE("memory serves the next bytes of its size, and the spares are bounded",
          "[shared_bytes]") {
  BytesPool pool(4096);
  const std::byte* const place = pool.take(1000).data();
  CHECK(pool.take(990).data() == place);
  CHECK(pool.spare_bytes() > 0);
  std::vector<SharedBytes> many;
  for (int i = 0; i < 20; ++i) many.push_back(pool.take(1000));
  CHECK(pool.spare_bytes() == 0);
  many.clear();
  CHECK(pool.spare_bytes() <= 4096);
  CHECK(pool.memory() == pool.spare_bytes());
}
