// Address: a blob of an unknown peer is either accepted whole or rejected.
#include "wire/address.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "base/build_stamp.hpp"
#include "catch.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes;
  for (char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

std::vector<std::byte> example() {
  AddressWriter writer({{17, 3}, 0xabcd, 8});
  writer.add("shm", bytes_of("host-a"));
  writer.add("tcp", bytes_of("10.0.0.1:4711"));
  writer.add("empty", {});
  return std::move(writer).finish();
}

bool same(std::span<const std::byte> a, const std::vector<std::byte>& b) {
  return std::vector<std::byte>(a.begin(), a.end()) == b;
}

}  // namespace

TEST_CASE("an address is parsed as it was written", "[address]") {
  const auto address = Address::parse(example());
  REQUIRE(address.has_value());
  REQUIRE(address->identity().name == ProcessName{17, 3});
  REQUIRE(address->identity().key == 0xabcd);
  REQUIRE(address->identity().initial_window == 8);
  REQUIRE(same(address->section("shm"), bytes_of("host-a")));
  REQUIRE(same(address->section("tcp"), bytes_of("10.0.0.1:4711")));
  REQUIRE(address->section("empty").empty());
  REQUIRE(address->section("sh").empty());
  REQUIRE(address->section("shmx").empty());
  REQUIRE(address->section("").empty());
  REQUIRE(same(address->bytes(), example()));
}

TEST_CASE("an address outlives the blob it was parsed from", "[address]") {
  auto blob = std::make_unique<std::vector<std::byte>>(example());
  const auto address = Address::parse(*blob);
  blob.reset();
  REQUIRE(same(address->section("shm"), bytes_of("host-a")));
}

TEST_CASE("an address cut at any length is refused or holds whole sections only", "[address]") {
  const auto blob = example();
  int accepted = 0;
  for (std::size_t size = 0; size < blob.size(); ++size) {
    const auto address = Address::parse(std::span(blob).first(size));
    if (!address) continue;
    ++accepted;
    for (const char* name : {"shm", "tcp"}) {
      const auto section = address->section(name);
      const auto whole = Address::parse(blob)->section(name);
      REQUIRE((section.empty() || section.size() == whole.size()));
    }
  }
  REQUIRE(accepted == 3);  // exactly the three section boundaries before the end
}

TEST_CASE("random and damaged addresses are handled", "[address]") {
  Random random(3);
  const auto blob = example();
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes;
    if (random.chance(500)) {
      bytes = blob;
      for (auto flips = random.between(1, 4); flips > 0; --flips)
        bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    } else {
      bytes.resize(random.below(200));
      for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
    }
    const auto address = Address::parse(bytes);
    if (!address) continue;
    REQUIRE(address->identity().initial_window > 0);
    for (const char* name : {"shm", "tcp", "empty", "none"}) {
      const auto section = address->section(name);
      if (section.empty()) continue;
      REQUIRE(section.data() >= address->bytes().data());
      REQUIRE(section.data() + section.size() <= address->bytes().data() + bytes.size());
    }
  }
}

TEST_CASE("an address without a window, or of another version, is refused", "[address]") {
  AddressWriter writer({{1, 2}, 3, 0});
  REQUIRE_FALSE(Address::parse(std::move(writer).finish()).has_value());
  auto other = example();
  other[3] = static_cast<std::byte>('1');
  REQUIRE_FALSE(Address::parse(other).has_value());
}

TEST_CASE("an address of another build is refused, and the reason is reported", "[address]") {
  const BuildStamp more("a part that the other build has not", {1, 2});
  const auto theirs = example();
  const BuildStamp another("and one more", {3});
  CHECK_FALSE(Address::parse(theirs).has_value());
  CHECK(std::string(Address::fault_of(theirs)).find("another build") != std::string::npos);
  CHECK(Address::parse(example()).has_value());
  CHECK(std::string(Address::fault_of(std::span(theirs).first(20))).find("malformed") !=
        std::string::npos);
}

TEST_CASE("an address without its key is the same but for that", "[address]") {
  const auto address = Address::parse(example()).value();
  const auto shown = Address::parse(without_key(example())).value();
  REQUIRE(address.has_key());
  REQUIRE_FALSE(shown.has_key());
  REQUIRE(shown.identity().name == address.identity().name);
  REQUIRE(shown.identity().tag == address.identity().tag);
  REQUIRE(shown.identity().initial_window == 8);
  REQUIRE(same(shown.section("tcp"), bytes_of("10.0.0.1:4711")));
}

TEST_CASE("an address whose tag is not its key's is refused", "[address]") {
  auto blob = example();
  blob[12] ^= std::byte{1};
  REQUIRE_FALSE(Address::parse(blob).has_value());
}

TEST_CASE("an address never grows past its limit", "[address]") {
  AddressWriter writer({{1, 2}, 3, 4});
  writer.add("a", std::vector<std::byte>(kMaxAddress - 40 - 4));  // exactly full
  REQUIRE_THROWS_AS(writer.add("b", {}), std::length_error);
  const auto blob = std::move(writer).finish();
  REQUIRE(blob.size() == kMaxAddress);
  REQUIRE(Address::parse(blob).has_value());
  auto longer = blob;
  longer.push_back(std::byte{0});
  REQUIRE_FALSE(Address::parse(longer).has_value());
}

TEST_CASE("a section's name has 1 to 15 characters", "[address]") {
  AddressWriter writer({{1, 2}, 3, 4});
  REQUIRE_THROWS_AS(writer.add("", {}), std::length_error);
  REQUIRE_THROWS_AS(writer.add("sixteen-letters!", {}), std::length_error);
  writer.add("fifteen-letters", bytes_of("x"));
  REQUIRE(
      same(Address::parse(std::move(writer).finish())->section("fifteen-letters"), bytes_of("x")));
}

}  // namespace lfc
