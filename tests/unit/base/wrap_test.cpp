// Counters of 32 bits that start just below their wrap. Counters of rings, bonds and NEON are tested with these parts.
#include <cstdint>
#include <cstring>

#include "catch.hpp"
#include "services/windows/protocol/ticket_lock.hpp"
#include "sync/sleep_word.hpp"

namespace lfc {
namespace {

// Sets the words of `object`, or the first of them. It consists of words only.
template <class Object>
void set_words(Object& object, std::uint32_t value, std::size_t bytes = sizeof(Object)) {
  for (std::size_t at = 0; at < bytes; at += sizeof value)
    std::memcpy(reinterpret_cast<std::byte*>(&object) + at, &value, sizeof value);
}

}  // namespace

TEST_CASE("the tokens of a sleep word wrap around, and a late reply stays late", "[wrap]") {
  SleepWord word;
  set_words(word, 0xfffffff8u);
  std::uint32_t late = 0;
  for (int i = 0; i < 16; ++i) {
    REQUIRE(word.asleep() == 0);
    word.arm();
    const std::uint32_t token = word.asleep();
    REQUIRE(token != 0);
    word.disarm(late);
    REQUIRE(word.asleep() == token);
    if (i % 2 == 0) {
      word.withdraw();
    } else {
      word.disarm(token);
    }
    late = token;
  }
}

TEST_CASE("a lock's tickets wrap around", "[wrap]") {
  TicketLock lock;
  set_words(lock, 0xfffffffcu, 3 * sizeof(std::uint32_t));  // the fourth counts the holders
  for (int round = 0; round < 4; ++round) {
    const std::uint32_t first = lock.draw(), second = lock.draw(), writer = lock.draw(),
                        last = lock.draw();
    REQUIRE_FALSE(lock.enter(second, false));
    REQUIRE(lock.enter(first, false));
    REQUIRE(lock.enter(second, false));
    REQUIRE_FALSE(lock.enter(writer, true));
    REQUIRE_FALSE(lock.enter(last, false));
    lock.leave(false);
    lock.leave(false);
    REQUIRE(lock.enter(writer, true));
    REQUIRE_FALSE(lock.enter(last, false));
    lock.leave(true);
    REQUIRE(lock.enter(last, false));
    lock.leave(false);
  }
}

}  // namespace lfc
