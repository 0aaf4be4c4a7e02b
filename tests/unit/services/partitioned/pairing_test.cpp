// Which receive belongs to a send: for any order of offers, with receives that are freed, and for programs that never
// use a tag twice.
#include "services/partitioned/protocol/pairing.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "catch.hpp"
#include "link/sim/random.hpp"

namespace lfc::partitioned {
namespace {

constexpr PeerId kPeer = 5;

Key key(std::int32_t tag) { return {.peer = kPeer, .comm = 99, .tag = tag}; }
Offer offer(std::uint64_t number, std::int32_t tag, std::uint64_t name) {
  return {.comm = 99, .number = number, .total = 8, .name = name, .tag = tag};
}
std::unique_ptr<Receiving> receive(std::int32_t tag) {
  return std::make_unique<Receiving>(key(tag), nullptr, nullptr, 1, 8);
}
void refuse(Receiving&, const Pairing::Offered&) { FAIL("nobody waits"); }

}  // namespace

TEST_CASE("pairing: a tag without waiting requests takes no memory", "[partitioned]") {
  Pairing sender, receiver;
  for (std::int32_t tag = 0; tag < 1000; ++tag) {
    const auto one = receive(tag), other = receive(tag);
    const std::uint64_t first = sender.number_send(kPeer), second = sender.number_send(kPeer);
    int paired = 0;
    CHECK(!receiver.expect(*one));
    CHECK(receiver.on_offer(kPeer, offer(first, tag, 1), [&](Receiving& found, const auto&) {
      paired += &found == one.get() ? 1 : 0;
    }));
    CHECK(receiver.on_offer(kPeer, offer(second, tag, 2), refuse));
    CHECK(receiver.keys() == 1);
    const auto offered = receiver.expect(*other);
    CHECK((offered && offered->name == 2));
    receiver.forget(*one);
    receiver.forget(*other);
    CHECK(paired == 1);
    CHECK(receiver.keys() == 0);
  }
  CHECK(sender.keys() == 0);
}

TEST_CASE("pairing: the k-th send of a tag is for its k-th receive, whichever comes first",
          "[partitioned]") {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    Pairing pairing;
    std::vector<Offer> sends;
    std::vector<std::unique_ptr<Receiving>> receives;
    std::vector<std::uint64_t> expected, got(12);
    std::uint64_t made[3] = {};
    for (std::uint64_t i = 0; i < 12; ++i) {
      const auto tag = static_cast<std::int32_t>(random.below(3));
      sends.push_back(offer(i, tag, static_cast<std::uint64_t>(tag) * 100 + ++made[tag]));
    }
    std::uint64_t taken[3] = {};
    const auto pair = [&](Receiving& found, const Pairing::Offered& offered) {
      for (std::size_t i = 0; i < receives.size(); ++i)
        if (receives[i].get() == &found) got[i] = offered.name;
    };
    while (!sends.empty() || receives.size() < 12) {
      if (!sends.empty() && (receives.size() == 12 || random.below(2) == 0)) {
        const auto which = static_cast<std::ptrdiff_t>(random.below(sends.size()));
        REQUIRE(pairing.on_offer(kPeer, sends[static_cast<std::size_t>(which)], pair));
        sends.erase(sends.begin() + which);
      } else {
        const auto tag = static_cast<std::int32_t>(random.below(3));
        ++taken[tag];
        expected.push_back(
            taken[tag] <= made[tag] ? static_cast<std::uint64_t>(tag) * 100 + taken[tag] : 0);
        receives.push_back(receive(tag));
        if (const auto offered = pairing.expect(*receives.back())) {
          got[receives.size() - 1] = offered->name;
        } else if (random.below(4) == 0) {  // freed early: its send gets none
          pairing.forget(*receives.back());
          expected.back() = 0;
        }
      }
    }
    REQUIRE(got == expected);
  }
}

TEST_CASE("pairing: an offer that came before, and one too many, are refused", "[partitioned]") {
  Pairing pairing;
  CHECK(pairing.on_offer(kPeer, offer(0, 7, 1), refuse));
  CHECK_FALSE(pairing.on_offer(kPeer, offer(0, 7, 1), refuse));
  CHECK(pairing.on_offer(kPeer, offer(2, 7, 1), refuse));
  CHECK_FALSE(pairing.on_offer(kPeer, offer(2, 7, 1), refuse));
  for (std::uint64_t i = 3; i <= Pairing::kMostOffers; ++i)
    REQUIRE(pairing.on_offer(kPeer, offer(i, 7, 1), refuse));
  CHECK_FALSE(pairing.on_offer(kPeer, offer(1, 7, 1), refuse));
  CHECK(pairing.on_offer(kPeer + 1, offer(0, 7, 1), refuse));
  pairing.on_lost(kPeer);
  CHECK(pairing.keys() == 1);
  pairing.on_lost(kPeer + 1);
  CHECK(pairing.keys() == 0);
}

}  // namespace lfc::partitioned
