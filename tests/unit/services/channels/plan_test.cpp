#include "services/channels/protocol/plan.hpp"

#include <string>

#include "catch.hpp"

namespace {

using lfc::channels::Plan;
using lfc::channels::Program;

const Program kProgram{"app", 0xdeadbeef};
const std::string kTitle = "lfc-plan version=2 ranks=4 program=app digest=00000000deadbeef\n";

std::string fault_of(const std::string& text, int ranks = 4) {
  std::string why_not;
  const bool read = Plan::parse(text, kProgram, ranks, why_not).has_value();
  CHECK(read == why_not.empty());
  return why_not;
}

}  // namespace

TEST_CASE("plan: it names the keys of its lines, and no others", "[channels]") {
  std::string why_not;
  const auto plan = Plan::parse(
      kTitle + "open comm=18446744073709551615/4 from=0 to=3 tag=7 messages=12 gain=1.5\n" +
          "open comm=5/2 from=3 to=0 tag=0 messages=1",
      kProgram, 4, why_not);
  REQUIRE(plan);
  CHECK(plan->size() == 2);
  CHECK(plan->names({18446744073709551615U, 0, 3, 7}));
  CHECK(plan->names({5, 3, 0, 0}));
  CHECK_FALSE(plan->names({5, 0, 3, 0}));
  CHECK_FALSE(plan->names({5, 3, 0, 1}));
  CHECK_FALSE(plan->names({6, 3, 0, 0}));
  CHECK(plan->concerns(0));
  CHECK(plan->concerns(3));
  CHECK_FALSE(plan->concerns(1));
}

TEST_CASE("plan: `every` names all keys", "[channels]") {
  std::string why_not;
  const auto plan =
      Plan::parse("lfc-plan version=2 ranks=any digest=any\nopen every\n", kProgram, 77, why_not);
  REQUIRE(plan);
  CHECK(plan->names({1, 2, 3, 4}));
  CHECK(plan->concerns(5));
}

TEST_CASE("plan: a plan for something else is refused with the reason", "[channels]") {
  CHECK(fault_of(kTitle).empty());
  CHECK(fault_of("") == "the plan is empty");
  CHECK(fault_of("lfc-recording version=1 ranks=4\n") == "this is no plan of version 2");
  CHECK(fault_of("lfc-plan version=1 ranks=4 digest=any\n") == "this is no plan of version 2");
  CHECK(fault_of(kTitle, 3) == "the plan is for 4 ranks, and the job has 3");
  CHECK(fault_of("lfc-plan version=2 digest=any\n") ==
        "the plan is for ? ranks, and the job has 4");
  CHECK(fault_of("lfc-plan version=2 ranks=4 program=other digest=1\n") ==
        "the plan was made from another program, or from another build of it: other");
  for (const char* const line :
       {"open\n", "open comm=5 from=1 to=2\n", "open comm=x from=1 to=2 tag=3\n",
        "open comm=5 from=1 to=2 tag=3x\n", "close comm=5 from=1 to=2 tag=3\n",
        "open comm=99999999999999999999 from=1 to=2 tag=3\n"}) {
    INFO(line);
    CHECK(fault_of(kTitle + "\n" + line).starts_with("line 3 is none of a plan: "));
  }
}

TEST_CASE("plan: each key has the gain of its messages, if the plan has it", "[channels]") {
  std::string why_not;
  const auto plan = Plan::parse(kTitle +
                                    "open comm=5/2 from=0 to=1 tag=1 messages=12 gain=18.0\n"
                                    "open comm=5/2 from=0 to=1 tag=2 messages=10\n"
                                    "open comm=5/2 from=0 to=1 tag=3 messages=0 gain=1.0\n"
                                    "open comm=5/2 from=0 to=1 tag=4 messages=4 gain=-1.0\n"
                                    "open comm=5/2 from=0 to=1 tag=5 messages=4 gain=much\n"
                                    "open comm=5/2 from=0 to=1 tag=6 messages=4 gain=1.0\n",
                                kProgram, 4, why_not);
  REQUIRE(plan);
  CHECK(plan->gain_us() == 19.0);
  CHECK(plan->gain_us({5, 0, 1, 1}) == 1.5);
  for (const int tag : {2, 3, 4, 5, 7}) CHECK(plan->gain_us({5, 0, 1, tag}) == 0);
  CHECK(plan->gain_us({5, 0, 1, 6}) == 0.25);
}
