// Published records, read back from this process's own memory as lfc-look reads those of other processes.
#include "look/published.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../../mca/tools/lfc_look/reader.hpp"
#include "catch.hpp"
#include "engine/ni.hpp"
#include "engine/trace.hpp"
#include "link/loop/loop_link.hpp"
#include "look/fields.hpp"

LFC_LOOK_OFFSETS

namespace {

struct Other {
  std::uint64_t before = 1;
  std::uint16_t number = 513;
  std::string name = "other";
};
struct Thing {
  bool flag = true;
  std::uint32_t number = 7;
  Other* other = nullptr;
  std::vector<std::uint32_t> some{4, 5, 6};
};

}  // namespace

template <>
const lfc::look::Field lfc::Insight<Thing>::kFields[] = {
    lfc::look::number<bool>("flag", {offsetof(Thing, flag)}),
    lfc::look::number<std::uint32_t>("number", {offsetof(Thing, number)}),
    lfc::look::number<std::uint16_t>("others", {offsetof(Thing, other), offsetof(Other, number)}),
    lfc::look::text("name", 16, {offsetof(Thing, other), offsetof(Other, name), 0}),
    lfc::look::list<std::uint32_t>("some", {offsetof(Thing, some)}),
};
template <>
const lfc::look::Schema lfc::Insight<Thing>::kSchema = lfc::look::schema("thing", kFields);

namespace {

using lfc::Insight;
using lfc::look::Published;

std::vector<look::Row> shown(const char* kind) {
  look::Reader reader(getpid());
  std::string problem;
  if (!reader.open(problem)) FAIL("nothing is shown: " << problem);
  std::vector<look::Row> rows = reader.rows();
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [kind](const look::Row& row) { return row.kind != kind; }),
             rows.end());
  return rows;
}

TEST_CASE("look: numbers, texts and lists are found where they are") {
  Thing thing;
  const Published published(Insight<Thing>::kSchema, &thing);
  std::vector<look::Row> rows = shown("thing");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["flag"] == 1);
  CHECK(rows[0]["number"] == 7);
  CHECK(rows[0].list("some") == std::vector<std::uint64_t>{4, 5, 6});
  CHECK_FALSE(rows[0].has("others"));  // the field does not exist
  CHECK_FALSE(rows[0].has("name"));

  Other other;
  thing.other = &other;
  thing.number = 8;
  rows = shown("thing");
  CHECK(rows[0]["others"] == 513);
  CHECK(rows[0].text("name") == "other");
  CHECK(rows[0]["number"] == 8);
}

TEST_CASE("look: an address that leads nowhere is no value") {
  Thing thing;
  thing.other = reinterpret_cast<Other*>(8);
  const Published published(Insight<Thing>::kSchema, &thing);
  const std::vector<look::Row> rows = shown("thing");
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].has("others"));
  CHECK(rows[0]["number"] == 7);
}

TEST_CASE("look: objects that have ended are not shown, in whichever order they end") {
  std::optional<Published> first, second, third;
  Thing things[6];
  first.emplace(Insight<Thing>::kSchema, things, 2, sizeof(Thing), things);
  second.emplace(Insight<Thing>::kSchema, things + 2, 1, 0, nullptr);
  third.emplace(Insight<Thing>::kSchema, things + 3, 3, sizeof(Thing), nullptr);
  std::vector<look::Row> rows = shown("thing");
  REQUIRE(rows.size() == 6);
  CHECK(rows[1].owner == rows[0].owner);
  CHECK(rows[1].index == 1);
  CHECK(rows[2].index == 0);
  second.reset();
  CHECK(shown("thing").size() == 5);
  third.reset();
  CHECK(shown("thing").size() == 2);
  second.emplace(Insight<Thing>::kSchema, things + 2, 1, 0, nullptr);
  first.reset();
  CHECK(shown("thing").size() == 1);
  second.reset();
  CHECK(shown("thing").empty());
}

TEST_CASE("look: an engine shows its name, its counters, and the state of each peer") {
  lfc::Config config;
  config.name = {3, 14};
  lfc::Ni ni(config);
  ni.counters().add(lfc::Counter::recoveries, 5);
  const std::vector<look::Row> rows = shown("ni");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["job"] == 3);
  CHECK(rows[0]["rank"] == 14);
  CHECK(rows[0]["recoveries"] == 5);
  CHECK(rows[0]["frames_sent"] == 0);
  CHECK(rows[0].has("passes"));
  CHECK_FALSE(rows[0].has("presence"));  // without a thread
}

TEST_CASE("look: a trace shows the last frames, and changes nothing else") {
  lfc::Config config;
  config.name = {3, 14};
  lfc::Ni ni(config);
  const auto trace = std::make_shared<lfc::Trace>(ni.sink(), 4);
  std::string why_not;
  ni.add_link(trace->around(lfc::make_loop_link({}, ni.identity(), trace->sink(), why_not)));
  const auto address = lfc::Address::parse(ni.open());
  REQUIRE(address);
  const lfc::PeerId self = ni.add_peer(*address, why_not);
  REQUIRE(self != lfc::kNoPeer);
  const std::uint64_t word = 1;
  lfc::Message message;
  message.slices[0] = {&word, sizeof word};
  message.slice_count = 1;
  message.tag = 77;
  message.done = [](lfc::Message*, lfc::Result) {};
  ni.post(self, message);
  for (int i = 0; i < 3; ++i) ni.progress();
  REQUIRE(ni.counters().get(lfc::Counter::messages_received) == 1);

  const std::vector<look::Row> rows = shown("event");
  REQUIRE(rows.size() == 4);
  const auto is = [&](std::size_t index, lfc::Trace::What what, lfc::FrameType type) {
    return rows[index]["what"] == static_cast<std::uint64_t>(what) &&
           rows[index]["type"] == static_cast<std::uint64_t>(type) && rows[index]["peer"] == self;
  };
  CHECK(is(0, lfc::Trace::What::connected, {}));
  CHECK(is(1, lfc::Trace::What::sent, lfc::FrameType::message));
  CHECK(is(2, lfc::Trace::What::met, {}));
  CHECK(is(3, lfc::Trace::What::received, lfc::FrameType::message));
  CHECK(rows[1]["tag"] == 77);
  CHECK(rows[1]["bytes"] == sizeof word);
  CHECK(rows[3]["time"] >= rows[1]["time"]);
}

TEST_CASE("look: the reasons differ for processes without LFC, without permission and for none") {
  std::string problem;
  look::Reader none(1 << 22);
  CHECK_FALSE(none.open(problem));
  CHECK(problem == "process 4194304 does not exist");
}

}  // namespace
