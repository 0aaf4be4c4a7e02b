// The algorithms of the load balancer (perf/apps/slb): which server each chooses, and when a server reports.
#include "../../../perf/apps/credits.hpp"

#include <string>

#include "catch.hpp"

using slb::Algorithm;
using slb::Credits;
using slb::Dispatcher;
using slb::Reporter;

namespace {

constexpr slb::Parameters kParameters{
    .places = 20, .interval = 4, .low_mark = 5, .least_credit = 8};

// Returns the choices for so many requests, a digit for each.
std::string choices(Dispatcher& dispatcher, int requests) {
  std::string chosen;
  for (int i = 0; i < requests; ++i) chosen += std::to_string(dispatcher.pick());
  return chosen;
}

std::string choices_of(Algorithm algorithm, std::vector<double> weights, int requests) {
  Dispatcher dispatcher(algorithm, std::move(weights), kParameters);
  return choices(dispatcher, requests);
}

// Returns after how many served requests the first report comes, while `queue` requests wait.
int first_report(Algorithm algorithm, int accepted, int queue) {
  Reporter reporter(algorithm, kParameters);
  for (int i = 0; i < accepted; ++i) reporter.accepted();
  for (int served = 1; served <= 100; ++served)
    if (reporter.served(queue)) return served;
  return 0;
}

}  // namespace

TEST_CASE("round robin takes each server in turn, and ignores weights", "[slb]") {
  CHECK(choices_of(Algorithm::kRoundRobin, {1, 2, 3}, 7) == "0120120");
}

TEST_CASE("weighted round robin gives each server its share, spread evenly", "[slb]") {
  CHECK(choices_of(Algorithm::kWeights, {1, 2}, 6) == "101101");
  CHECK(choices_of(Algorithm::kWeights, {1, 3}, 8) == "10111011");
}

TEST_CASE("least connections takes the server with the fewest requests, not the fastest", "[slb]") {
  Dispatcher dispatcher(Algorithm::kLeastConnections, {1, 5, 1}, kParameters);
  CHECK(choices(dispatcher, 4) == "0120");
  dispatcher.credit(2, {0, 20});  // it has served its request
  CHECK(choices(dispatcher, 3) == "212");
}

TEST_CASE("shortest expected delay divides the requests by the weight", "[slb]") {
  // (0 + 1) / 1 against (0 + 1) / 2; at 1 and 2 requests both are 1, so the next in turn is taken.
  CHECK(choices_of(Algorithm::kShortestDelay, {1, 2}, 6) == "101101");
  Dispatcher dispatcher(Algorithm::kShortestDelay, {1, 4}, kParameters);
  dispatcher.credit(1, {0, 13});  // seven requests: (7 + 1) / 4 = 2
  CHECK(choices(dispatcher, 3) == "010");
}

TEST_CASE("a configured weight that is too high draws requests to its server", "[slb]") {
  const auto share = [](double weight) {
    Dispatcher dispatcher(Algorithm::kWeights, {1, weight}, kParameters);
    const std::string chosen = choices(dispatcher, 3200);
    return std::count(chosen.begin(), chosen.end(), '1');
  };
  CHECK(share(2) == 2133);
  CHECK(share(2.2) == 2200);
}

TEST_CASE("servers with full credits take turns, and a server without credit is passed over",
          "[slb]") {
  for (const Algorithm algorithm : {Algorithm::kPlain, Algorithm::kLowWaterMark}) {
    Dispatcher dispatcher(algorithm, {1, 1, 1}, kParameters);
    dispatcher.credit(1, {0, 2});
    CHECK(choices(dispatcher, 8) == "01201202");
    for (std::size_t server : {0u, 1u, 2u}) dispatcher.credit(server, {5, 0});
    CHECK(dispatcher.pick() == -1);
  }
}

TEST_CASE("soft credits are used before hard ones", "[slb]") {
  for (const Algorithm algorithm : {Algorithm::kSoft, Algorithm::kDynamicSoft, Algorithm::kDpr}) {
    Dispatcher dispatcher(algorithm, {1, 1}, kParameters);
    dispatcher.credit(0, {1, 4});
    dispatcher.credit(1, {3, 4});
    CHECK(choices(dispatcher, 4) == "0111");
    CHECK(choices(dispatcher, 4) == "0100");
    CHECK(dispatcher.pick() == -1);
    dispatcher.credit(1, {Reporter::kKeepSoft, 1});
    CHECK(choices(dispatcher, 1) == "1");
  }
}

TEST_CASE("a server reports after its interval", "[slb]") {
  CHECK(first_report(Algorithm::kPlain, 0, 3) == 4);
  CHECK(first_report(Algorithm::kSoft, 0, 3) == 4);
  CHECK(first_report(Algorithm::kWeights, 0, 3) == 0);
  CHECK(first_report(Algorithm::kRoundRobin, 0, 3) == 0);
  CHECK(first_report(Algorithm::kLeastConnections, 0, 3) == 1);
  CHECK(first_report(Algorithm::kShortestDelay, 0, 3) == 1);
}

TEST_CASE("low-water mark reports when credits run out and enough places are free", "[slb]") {
  CHECK(first_report(Algorithm::kLowWaterMark, 15, 3) == 0);   // five credits are left
  CHECK(first_report(Algorithm::kLowWaterMark, 16, 13) == 0);  // seven places are free
  CHECK(first_report(Algorithm::kLowWaterMark, 16, 12) == 4);
}

TEST_CASE("the dynamic interval grows with the queue", "[slb]") {
  const auto second_report = [](Algorithm algorithm, int queue) {
    Reporter reporter(algorithm, kParameters);
    for (int served = 1, reports = 0; served <= 100; ++served)
      if (const auto credits = reporter.served(queue))
        if (credits->soft != Reporter::kKeepSoft && ++reports == 2) return served - 4;
    return 0;
  };
  CHECK(second_report(Algorithm::kSoft, 16) == 4);
  CHECK(second_report(Algorithm::kDynamicSoft, 16) == 8);
  CHECK(second_report(Algorithm::kDpr, 16) == 16);
  CHECK(second_report(Algorithm::kDpr, 2) == 4);
}
