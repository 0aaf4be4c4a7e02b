// Partitioned communication between engines over simulated links, with credits, delays and losses. Some hosts free
// requests too early.
#include "services/partitioned/partitioned.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "sim/world.hpp"

namespace lfc {
namespace {

using partitioned::Status;

// A request of the host.
struct Mine {
  std::vector<std::byte> bytes;
  int done = 0;
  int dropped = 0;
  Status status = Status::ok;
  std::uint64_t got = 0;
};

const partitioned::Host kHost{[](void* owner, Status status, std::uint64_t bytes) {
                                auto& mine = *static_cast<Mine*>(owner);
                                ++mine.done;
                                mine.status = status;
                                mine.got = bytes;
                              },
                              [](void* owner) { ++static_cast<Mine*>(owner)->dropped; }};

struct Setting {
  explicit Setting(std::uint64_t seed, std::uint32_t window = 2)
      : world(2, random_fabric(seed, 300), {.initial_window = window, .maximum_window = window}) {
    for (World::Node node = 0; node < 2; ++node)
      services.push_back(
          std::make_unique<Partitioned>(world.ni(node).services(), world.ni(node).remote(), kHost));
  }
  partitioned::Sending& send(Mine& mine, std::uint64_t partitions, std::uint64_t each) {
    mine.bytes.resize(partitions * each);
    return services[0]->offer({world.peer(0, 1), 3, 4}, &mine, mine.bytes.data(), partitions, each);
  }
  partitioned::Receiving& receive(Mine& mine, std::uint64_t partitions, std::uint64_t each) {
    mine.bytes.resize(partitions * each);
    return services[1]->expect({world.peer(1, 0), 3, 4}, &mine, mine.bytes.data(), partitions,
                               each);
  }

  World world;
  std::vector<std::unique_ptr<Partitioned>> services;
};

}  // namespace

TEST_CASE("partitions come to their place under credits and delays", "[partitioned]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Setting setting(seed, 1 + static_cast<std::uint32_t>(seed % 3));
    Mine out, in;
    const std::uint64_t each = random.below(5) == 0 ? random.below(3000) : random.below(50);
    partitioned::Sending& send = setting.send(out, 12, each);
    for (std::uint64_t steps = random.below(100); steps > 0; --steps) setting.world.step();
    partitioned::Receiving& receive = setting.receive(in, 4, 3 * each);
    for (int epoch = 1; epoch <= 8; ++epoch) {
      for (std::byte& byte : out.bytes) byte = static_cast<std::byte>(random.below(256));
      const bool first = random.chance(500);
      if (first) setting.services[1]->start(receive);
      setting.services[0]->start(send);
      const std::uint64_t turn = random.below(12);
      for (std::uint64_t i = 0; i < 12; ++i) {
        REQUIRE(setting.services[0]->ready(send, (i * 5 + turn) % 12, (i * 5 + turn) % 12));
        for (std::uint64_t steps = random.below(20); steps > 0; --steps) setting.world.step();
      }
      if (!first) setting.services[1]->start(receive);
      REQUIRE(setting.world.run_until([&] { return out.done == epoch && in.done == epoch; }));
      CHECK(in.bytes == out.bytes);
      CHECK(in.got == 12 * each);
    }
    CHECK(setting.services[0]->release(send));
    CHECK(setting.services[1]->release(receive));
    REQUIRE(setting.world.settle());
    CHECK(setting.world.credit_fault().empty());
  }
}

TEST_CASE("a request that is freed while it is active ends first", "[partitioned]") {
  Setting setting(3);
  Mine out, in;
  partitioned::Sending& send = setting.send(out, 2, 1000);
  partitioned::Receiving& receive = setting.receive(in, 2, 1000);
  std::fill(out.bytes.begin(), out.bytes.end(), std::byte{7});
  setting.services[0]->start(send);
  setting.services[1]->start(receive);
  CHECK(setting.services[0]->ready(send, 0, 1));
  CHECK_FALSE(setting.services[0]->release(send));
  CHECK_FALSE(setting.services[1]->release(receive));
  REQUIRE(setting.world.run_until([&] { return out.dropped == 1 && in.dropped == 1; }));
  CHECK(out.done == 1);
  CHECK(in.done == 1);
  CHECK(in.bytes == out.bytes);
}

TEST_CASE("a peer that is killed ends epochs that are under way or begun later", "[partitioned]") {
  const World::Node dead = GENERATE(0u, 1u);
  Setting setting(4, 1);
  Mine out, in;
  partitioned::Sending& send = setting.send(out, 4, 100000);
  partitioned::Receiving& receive = setting.receive(in, 4, 100000);
  setting.services[1]->start(receive);
  setting.services[0]->start(send);
  CHECK(setting.services[0]->ready(send, 0, 2));
  for (int i = 0; i < 500; ++i) setting.world.step();
  setting.world.fabric().kill(dead);
  Mine& left = dead == 0 ? in : out;
  REQUIRE(setting.world.run_until([&] { return left.done == 1; }));
  CHECK(left.status == Status::lost);
  if (dead == 0)
    setting.services[1]->start(receive);
  else
    setting.services[0]->start(send);
  CHECK(left.done == 2);
  CHECK(left.status == Status::lost);
  Mine other;
  if (dead == 0)
    setting.services[1]->start(setting.receive(other, 1, 1));
  else
    setting.services[0]->start(setting.send(other, 1, 1));
  CHECK(other.status == Status::lost);
}

TEST_CASE("a receive ends if its sender is reported to have failed before it connected",
          "[partitioned]") {
  Setting setting(6, 1);
  Mine in, later;
  partitioned::Receiving& receive = setting.receive(in, 4, 100);
  setting.services[1]->start(receive);
  setting.world.fabric().kill(0);
  for (int i = 0; i < 500; ++i) setting.world.step();
  CHECK(in.done == 0);  // nothing connects the two, so no link can detect it
  {
    Services& services = setting.world.ni(1).services();
    const ServicePort::Access access(services);
    services.report_failure(services.name(setting.world.peer(1, 0)), "killed");
  }
  REQUIRE(setting.world.run_until([&] { return in.done == 1; }));
  CHECK(in.status == Status::lost);
  setting.services[1]->start(setting.receive(later, 1, 1));
  CHECK(later.status == Status::lost);
}

TEST_CASE("a service may end while its frames wait for credits", "[partitioned]") {
  Setting setting(5, 1);
  std::deque<Mine> mine(20);
  for (Mine& each : mine) setting.services[0]->start(setting.send(each, 1, 400));
  setting.services[0].reset();
  CHECK(setting.world.settle());
}

}  // namespace lfc
