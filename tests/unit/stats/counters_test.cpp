// Counters: their names, and the room for them in components and lines.
#include "stats/counters.hpp"

#include <array>
#include <set>
#include <string>

#include "catch.hpp"
#include "lfc/numbers.h"
#include "stats/counter_line.hpp"
#include "stats/counter_room.hpp"

namespace lfc {

TEST_CASE("counters have different names, and those of rails follow their number", "[counters]") {
  std::set<std::string> names;
  for (const CounterInfo& each : counter_info()) names.insert(each.name);
  CHECK(names.size() == kCounters);
  for (std::size_t rail = 0; rail < 8; ++rail) {
    const auto which = static_cast<std::size_t>(rail_bytes(rail));
    CHECK(counter_info()[which].name == "rail" + std::to_string(rail) + "_bytes");
  }
}

TEST_CASE("a component has room for some counters, and for no more", "[counters]") {
  struct Row {
    const char* name;
  };
  std::array<Row, LFC_MOST_COUNTERS> many;
  many.fill({"frames_sent"});
  CHECK(has_room_for(many));
  std::array<Row, LFC_MOST_COUNTERS + 1> more;
  more.fill({"x"});
  CHECK_FALSE(has_room_for(more));
  const std::string longest(LFC_COUNTERS_LINE / LFC_MOST_COUNTERS, 'x');
  many.fill({longest.c_str()});
  CHECK_FALSE(has_room_for(many));
}

TEST_CASE("a line of counters leaves out those without room", "[counters]") {
  std::array<char, 16> text{};
  CounterLine line(text.data(), text.size());
  CHECK(text[0] == '\0');
  line.add("sent", 12);
  line.add("taken_early", 9);
  CHECK(std::string(text.data()) == "sent=12");
  line.add("early", 9);
  CHECK(std::string(text.data()) == "sent=12 early=9");
  line.add("x", 1);
  CHECK(std::string(text.data()) == "sent=12 early=9");
}

}  // namespace lfc
