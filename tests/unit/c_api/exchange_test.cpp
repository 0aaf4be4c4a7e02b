#include "lfc/exchange.h"

#include <string>
#include <string_view>

#include "catch.hpp"

namespace {

constexpr std::string_view kAddress = "an address";
constexpr std::string_view kFacts = "facts";

std::string_view text(const void* bytes, std::size_t size) {
  return {static_cast<const char*>(bytes), size};
}

struct Exchange {
  ~Exchange() { lfc_exchange_forget(); }
  void add(lfc_exchange_part part, std::string_view bytes = {}) {
    REQUIRE(lfc_exchange_add(part, bytes.data(), bytes.size(), &record, &size));
  }
  const void* record = nullptr;
  std::size_t size = 0;
};

}  // namespace

TEST_CASE("a record is published as soon as it has an address, and has all parts", "[c_api]") {
  Exchange at;
  at.add(LFC_EXCHANGE_OSC);
  at.add(LFC_EXCHANGE_COLL, kFacts);
  CHECK(at.record == nullptr);
  at.add(LFC_EXCHANGE_ADDRESS, kAddress);
  lfc_exchange_record found;
  REQUIRE(lfc_exchange_read(at.record, at.size, &found));
  CHECK(found.parts == (LFC_EXCHANGE_ADDRESS | LFC_EXCHANGE_COLL | LFC_EXCHANGE_OSC));
  CHECK(text(found.address, found.address_size) == kAddress);
  CHECK(text(found.coll, found.coll_size) == kFacts);
  CHECK(lfc_exchange_own().parts == found.parts);

  lfc_exchange_forget();
  at.add(LFC_EXCHANGE_ADDRESS, kAddress);
  REQUIRE(lfc_exchange_read(at.record, at.size, &found));
  CHECK(found.parts == LFC_EXCHANGE_ADDRESS);
  CHECK(found.coll_size == 0);
}

TEST_CASE("a record is a head of four bytes, the address and the facts", "[c_api]") {
  Exchange at;
  const std::string address(300, 'a');
  at.add(LFC_EXCHANGE_COLL, kFacts);
  at.add(LFC_EXCHANGE_ADDRESS, address);
  at.add(LFC_EXCHANGE_OSC);
  const std::string head("\x07\x00\x2c\x01", 4);  // all three parts; 300 bytes of address
  CHECK(text(at.record, at.size) == head + address + std::string(kFacts));
  const lfc_exchange_record own = lfc_exchange_own();
  CHECK(own.parts == (LFC_EXCHANGE_ADDRESS | LFC_EXCHANGE_COLL | LFC_EXCHANGE_OSC));
  CHECK(text(own.address, own.address_size) == address);
  CHECK(text(own.coll, own.coll_size) == kFacts);
}

TEST_CASE("a part that was not published is in no later record", "[c_api]") {
  Exchange at;
  at.add(LFC_EXCHANGE_COLL, kFacts);
  lfc_exchange_drop(LFC_EXCHANGE_COLL);
  CHECK(lfc_exchange_own().parts == 0);
  at.add(LFC_EXCHANGE_ADDRESS, kAddress);
  lfc_exchange_record found;
  REQUIRE(lfc_exchange_read(at.record, at.size, &found));
  CHECK(found.parts == LFC_EXCHANGE_ADDRESS);
  CHECK(text(found.address, found.address_size) == kAddress);
}

TEST_CASE("a record that ends within its address has no parts", "[c_api]") {
  Exchange at;
  at.add(LFC_EXCHANGE_ADDRESS, kAddress);
  lfc_exchange_record found;
  for (std::size_t size = 0; size < at.size; ++size) {
    CHECK_FALSE(lfc_exchange_read(at.record, size, &found));
    CHECK(found.parts == 0);
    CHECK(found.address == nullptr);
  }
}

TEST_CASE("parts are remembered by the name of the process", "[c_api]") {
  const Exchange at;
  unsigned parts = 0;
  CHECK_FALSE(lfc_exchange_recall(1, 5, &parts));
  lfc_exchange_remember(1, 5, LFC_EXCHANGE_ADDRESS);
  lfc_exchange_remember(2, 0, 0);  // a process without LFC
  REQUIRE(lfc_exchange_recall(1, 5, &parts));
  CHECK(parts == LFC_EXCHANGE_ADDRESS);
  REQUIRE(lfc_exchange_recall(2, 0, &parts));
  CHECK(parts == 0);
  CHECK_FALSE(lfc_exchange_recall(1, 4, &parts));
  CHECK_FALSE(lfc_exchange_recall(1, 6, &parts));
  CHECK_FALSE(lfc_exchange_recall(2, 5, &parts));
  lfc_exchange_forget();
  CHECK_FALSE(lfc_exchange_recall(1, 5, &parts));
}
