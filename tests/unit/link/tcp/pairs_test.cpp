// The pairs of interfaces of two nodes: tables of the endpoints that both publish.
#include "link/tcp/pairs.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace lfc;
using namespace lfc::tcp;

namespace {

constexpr std::uint64_t kHere = 1;
constexpr std::uint64_t kThere = 2;

// "10.1.0.1/16", with " gw" if the interface leads to a gateway and " default" if by the default route.
Endpoint at(const std::string& text, std::uint64_t node, std::uint32_t megabits = 10'000) {
  const std::size_t slash = text.find('/');
  Endpoint endpoint;
  endpoint.ip = IpAddress::parse(text.substr(0, slash)).value();
  endpoint.prefix = static_cast<unsigned>(std::stoul(text.substr(slash + 1)));
  endpoint.port = 5000;
  endpoint.megabits = megabits;
  endpoint.standard = text.find("default") != std::string::npos;
  endpoint.gateway = endpoint.standard || text.find("gw") != std::string::npos;
  endpoint.node = node;
  return endpoint;
}

Rails node(std::uint64_t tag, const std::vector<std::vector<std::string>>& rails,
           const std::vector<std::uint32_t>& megabits = {}) {
  Rails made;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    made.emplace_back();
    for (const std::string& text : rails[i])
      made.back().push_back(at(text, tag, i < megabits.size() ? megabits[i] : 10'000));
  }
  return made;
}

// "0-1 1-0": our rail and theirs, the leading pair first. Both sides must agree.
std::string pairs(const Rails& ours, const Rails& theirs) {
  const Pairs here = pair_rails(ours, theirs);
  const Pairs there = pair_rails(theirs, ours);
  std::string text;
  REQUIRE(here.pairs.size() == there.pairs.size());
  for (std::size_t i = 0; i < here.pairs.size(); ++i) {
    const Pair& pair = here.pairs[i];
    CHECK((there.pairs[i].ours == pair.theirs && there.pairs[i].theirs == pair.ours));
    CHECK((there.pairs[i].from == pair.to && there.pairs[i].to == pair.from));
    CHECK(ours[pair.ours][pair.from].ip.family == theirs[pair.theirs][pair.to].ip.family);
    text +=
        (text.empty() ? "" : " ") + std::to_string(pair.ours) + "-" + std::to_string(pair.theirs);
  }
  const auto firsts = static_cast<std::size_t>(std::count_if(
      ours.begin(), ours.end(), [](const auto& rail) { return rail.front().strand == 0; }));
  const auto paired = static_cast<std::size_t>(
      std::count_if(here.pairs.begin(), here.pairs.end(),
                    [&](const Pair& pair) { return ours[pair.ours].front().strand == 0; }));
  CHECK(paired + here.left_out.size() == firsts);
  for (const RailLeftOut& each : here.left_out) CHECK_FALSE(each.why.empty());
  return text;
}

std::string why_left_out(const Rails& ours, const Rails& theirs) {
  const Pairs found = pair_rails(ours, theirs);
  return found.left_out.empty() ? "" : found.left_out.front().why;
}

}  // namespace

TEST_CASE("tcp: two devices with several addresses pair those of one subnet", "[tcp]") {
  const auto ends = [](const Rails& ours, const Rails& theirs) {
    CHECK(pairs(ours, theirs) == "0-0");  // both sides agree
    const Pair pair = pair_rails(ours, theirs).pairs.at(0);
    return std::to_string(pair.from) + std::to_string(pair.to);
  };
  const Rails here = node(kHere, {{"192.168.5.1/24 gw", "10.77.1.1/24 gw", "10.78.1.1/24 gw"}});
  CHECK(ends(here, node(kThere, {{"192.168.6.1/24 gw", "10.77.1.2/24 gw"}})) == "11");
  CHECK(ends(here, node(kThere, {{"10.78.1.2/24 gw", "192.168.6.1/24 gw", "10.77.1.2/24 gw"}})) ==
        "20");
  // Through gateways the first addresses pair, one for each device.
  CHECK(ends(here, node(kThere, {{"192.168.6.1/24 gw", "10.79.1.2/24 gw"}})) == "00");
}

TEST_CASE("pairs: a further connection goes between the same addresses, behind all others",
          "[pairs]") {
  const auto strands = [](Rails rails, std::vector<unsigned> numbers) {
    for (std::size_t i = 0; i < rails.size(); ++i)
      for (Endpoint& each : rails[i]) each.strand = numbers[i];
    return rails;
  };
  const Rails ours =
      strands(node(kHere, {{"10.1.0.1/16"}, {"10.2.0.1/16"}, {"10.1.0.1/16"}, {"10.2.0.1/16"}}),
              {0, 0, 1, 1});
  CHECK(pairs(ours, strands(node(kThere, {{"10.2.0.2/16"}, {"10.2.0.2/16"}, {"10.2.0.2/16"}}),
                            {0, 1, 2})) == "1-0 3-1");
  CHECK(pairs(ours, node(kThere, {{"10.1.0.2/16"}, {"10.2.0.2/16"}})) == "0-0 1-1");
  CHECK(pairs(ours, strands(node(kThere, {{"10.1.0.2/16"}, {"10.2.0.2/16"}, {"10.1.0.2/16"}}),
                            {0, 0, 1})) == "0-0 1-1 2-2");
  // Rails without a counterpart at the peer are not reported.
  CHECK(pair_rails(ours, node(kThere, {{"10.1.0.2/16"}, {"10.2.0.2/16"}})).left_out.empty());
}

TEST_CASE("pairs: by subnet whatever the order and the number", "[pairs]") {
  const Rails two = node(kHere, {{"10.1.0.1/16"}, {"10.2.0.1/16"}});
  CHECK(pairs(two, node(kThere, {{"10.1.0.2/16"}, {"10.2.0.2/16"}})) == "0-0 1-1");
  CHECK(pairs(two, node(kThere, {{"10.2.0.2/16"}, {"10.1.0.2/16"}})) == "0-1 1-0");
  CHECK(pairs(two, node(kThere, {{"10.2.0.2/16"}})) == "1-0");
  CHECK(pairs(two, node(kThere, {{"172.16.0.1/12"}, {"10.3.0.2/16"}, {"10.2.0.2/16"}})) == "1-2");
  CHECK(pairs(node(kHere, {{"10.1.0.1/16"}}),
              node(kThere, {{"192.168.122.1/24"}, {"10.1.0.2/16"}})) == "0-1");
  // All are in one subnet: they pair by position, each once.
  CHECK(pairs(node(kHere, {{"10.1.0.1/16"}, {"10.1.0.2/16"}}),
              node(kThere, {{"10.1.0.3/16"}, {"10.1.0.4/16"}, {"10.1.0.5/16"}})) == "0-0 1-1");
}

TEST_CASE("pairs: IPv4, IPv6, and both", "[pairs]") {
  const Rails four = node(kHere, {{"10.1.0.1/16"}});
  const Rails six = node(kHere, {{"fd00::1/64"}});
  const Rails both = node(kThere, {{"10.1.0.2/16", "fd00::2/64"}});
  CHECK(pairs(four, both) == "0-0");
  CHECK(pairs(six, both) == "0-0");
  CHECK(pair_rails(six, both).pairs[0].to == 1);
  CHECK(pairs(node(kHere, {{"10.1.0.1/16", "fd00::1/64"}}), both) == "0-0");
  CHECK(pair_rails(node(kHere, {{"10.1.0.1/16", "fd00::1/64"}}), both).pairs[0].to == 0);
  // The IPv4 networks differ, the IPv6 network is the same.
  CHECK(pair_rails(node(kHere, {{"10.9.0.1/16 gw", "fd00::1/64"}}), both).pairs[0].to == 1);
  CHECK(pairs(six, node(kThere, {{"10.1.0.2/16"}})).empty());
}

TEST_CASE("pairs: never between networks of each node's own", "[pairs]") {
  const Rails here = node(kHere, {{"192.168.122.1/24"}, {"10.1.0.1/16"}});
  const Rails there = node(kThere, {{"192.168.122.1/24"}, {"10.1.0.2/16"}});
  CHECK(pairs(here, there) == "1-1");
  CHECK(why_left_out(here, there).find("192.168.122.1") != std::string::npos);
  // The same holds if only one of two such addresses is equal.
  CHECK(pairs(node(kHere, {{"192.168.122.1/24"}, {"192.168.122.7/24"}}),
              node(kThere, {{"192.168.122.1/24"}, {"192.168.122.9/24"}}))
            .empty());
  CHECK(pairs(node(kHere, {{"127.0.0.1/8"}}), node(kThere, {{"127.0.0.1/8"}})).empty());
  CHECK(pairs(node(kHere, {{"127.0.0.1/8"}}), node(kHere, {{"127.0.0.1/8"}})) == "0-0");
  CHECK(pairs(node(kHere, {{"10.1.0.1/16"}, {"10.2.0.1/16"}}),
              node(kHere, {{"10.1.0.1/16"}, {"10.2.0.1/16"}})) == "0-0 1-1");
}

TEST_CASE("pairs: by gateways, where no subnet is shared", "[pairs]") {
  const Rails here = node(kHere, {{"192.168.1.1/24"}, {"10.1.0.1/24 default"}});
  CHECK(pairs(here, node(kThere, {{"10.1.1.1/24 default"}, {"192.168.2.1/24"}})) == "1-0");
  CHECK(pairs(here, node(kThere, {{"10.1.1.1/24 default"}, {"192.168.1.2/24"}})) == "1-0 0-1");
  // No route is known: the existing pairs are tried.
  CHECK(pairs(node(kHere, {{"10.1.0.1/32"}}), node(kThere, {{"10.1.0.2/32"}})) == "0-0");
  CHECK(pairs(node(kHere, {{"fe80::1/64"}}), node(kThere, {{"fd00::1/64 default"}})).empty());
}

TEST_CASE("pairs: the fastest pair leads, and pairs that would slow it down are left out",
          "[pairs]") {
  const std::vector<std::vector<std::string>> here{{"10.1.0.1/16 default"}, {"10.2.0.1/16"}};
  const std::vector<std::vector<std::string>> there{{"10.1.0.2/16 default"}, {"10.2.0.2/16"}};
  const auto with = [&](std::vector<std::uint32_t> ours, std::vector<std::uint32_t> theirs) {
    return pairs(node(kHere, here, ours), node(kThere, there, theirs));
  };
  CHECK(with({10'000, 10'000}, {10'000, 10'000}) == "0-0 1-1");
  CHECK(with({10'000, 25'000}, {10'000, 25'000}) == "1-1 0-0");
  CHECK(with({1'000, 25'000}, {1'000, 25'000}) == "1-1");
  CHECK(with({1'000, 4'000}, {1'000, 4'000}) == "1-1 0-0");
  CHECK(with({25'000, 25'000}, {1'000, 25'000}) == "1-1");  // the slower end counts
  CHECK(with({0, 25'000}, {0, 25'000}) == "1-1 0-0");       // its speed is unknown
  CHECK(with({0, 0}, {0, 0}) == "0-0 1-1");
  CHECK(why_left_out(node(kHere, here, {1'000, 25'000}), node(kThere, there, {1'000, 25'000}))
            .find("quarter") != std::string::npos);
  // Among equal rails the default route's leads.
  CHECK(pairs(node(kHere, {{"10.2.0.1/16"}, {"10.1.0.1/16 default"}}),
              node(kThere, {{"10.2.0.2/16"}, {"10.1.0.2/16 default"}})) == "1-1 0-0");
}

TEST_CASE("pairs: published rails are parsed as they were written, or not at all", "[pairs]") {
  const std::vector<Endpoint> both{at("10.1.0.1/16 default", 7, 25'000), at("fd00::1/64", 7, 0)};
  AddressWriter writer({{7, 3}, 1, 8});
  writer.add("tcp2", section_of(both));
  const Address address = Address::parse(std::move(writer).finish()).value();
  const Rails rails = published_rails(address);
  REQUIRE(rails.size() == 3);
  CHECK((rails[0].empty() && rails[1].empty()));
  REQUIRE(rails[2].size() == 2);
  CHECK(rails[2][0].ip == both[0].ip);
  CHECK((rails[2][0].standard && rails[2][0].gateway && !rails[2][1].standard));
  CHECK((rails[2][0].megabits == 25'000 && rails[2][0].prefix == 16 && rails[2][1].prefix == 64));
  CHECK((rails[2][0].node == 7 && rails[2][1].port == 5000));
  CHECK(rail_number("tcp2") == 2);
  CHECK(rail_name(0) == "tcp");
}
