// Frames that a service keeps, over a link tcp that lends its buffers: NEON's data before its announcement, and packets
// of a multicast that their receiver does not take yet.
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "deadline.hpp"
#include "engine/ni.hpp"
#include "link/tcp/tcp_link.hpp"
#include "services/multicast/multicast.hpp"
#include "services/neon/neon_service.hpp"

namespace lfc {
namespace {

using neon::Status;

constexpr std::size_t kLarge = 50000;

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 31 + i / 256 + seed);
  return made;
}

// Two engines, connected by tcp over the loopback interface.
struct Pair {
  Pair() {
    std::vector<Address> addresses;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      nis.push_back(std::make_unique<Ni>(
          Config{.name = {1, rank}, .initial_window = 64, .maximum_window = 512}));
      TcpOptions options;
      options.interface = {"lo", IpAddress::parse("127.0.0.1").value(), 8, 0, true};
      std::string why;
      auto link = make_tcp_link(options, nis[rank]->identity(), nis[rank]->sink(),
                                nis[rank]->counters(), why);
      INFO(why);
      REQUIRE(link != nullptr);
      REQUIRE(link->traits().lender != nullptr);
      nis[rank]->add_link(std::move(link));
      addresses.push_back(*Address::parse(nis[rank]->open()));
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      std::string why;
      peers[rank] = nis[rank]->add_peer(addresses[1 - rank], why);
      REQUIRE(peers[rank] != kNoPeer);
    }
  }
  template <class Condition>
  void run_until(Condition condition) {
    Deadline deadline(std::chrono::seconds(20));
    while (!condition()) {
      for (const auto& ni : nis) ni->progress();
      REQUIRE_FALSE(deadline.is_over());
    }
  }
  std::uint64_t count(Counter counter) { return nis[1]->counters().get(counter); }

  std::vector<std::unique_ptr<Ni>> nis;
  std::array<PeerId, 2> peers{};
};

struct Put : neon::Operation {
  int ended = 0;
};
struct Buffer : neon::Announcement {
  std::vector<std::byte> bytes = std::vector<std::byte>(2 * kLarge);
  int ended = 0;
};

// Takes packets when it is ready.
struct LateReceiver final : Multicast::Receiver {
  Reception take(const MulticastHeader&, std::span<const std::byte>) override {
    return Reception::keep;
  }
  void keep(Multicast::Packet& packet) override { kept.push_back(&packet); }
  void lost(Multicast::Reason) override { FAIL("no member is lost"); }
  std::vector<Multicast::Packet*> kept;
};

}  // namespace

TEST_CASE("parked frames stay in the buffer in which tcp has received them", "[neon_service]") {
  Pair pair;
  neon::Exposure exposure;
  std::vector<std::shared_ptr<NeonService>> services;
  std::vector<std::unique_ptr<NeonWindow>> windows;
  const neon::Limits limits{.frame = kLarge + 1024, .eager = kLarge, .budget = 1 << 20};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Ni& ni = *pair.nis[rank];
    services.push_back(std::make_shared<NeonService>(ni.services(), &ni.remote()));
    windows.push_back(std::make_unique<NeonWindow>(services[rank], rank, limits, exposure, 2));
  }
  const std::array<std::uint32_t, 2> ids{windows[0]->id(), windows[1]->id()};
  windows[0]->connect(std::array{kNoPeer, pair.peers[0]}, ids);
  windows[1]->connect(std::array{pair.peers[1], kNoPeer}, ids);
  const bool large = GENERATE(true, false);
  const std::vector<std::byte> data = pattern(large ? kLarge : 100, 3);
  Put put;
  put.done = [](neon::Operation* self, Status status) {
    CHECK(status == Status::ok);
    ++static_cast<Put*>(self)->ended;
  };
  windows[0]->writes().prepare(1);
  {
    const ServicePort::Visit visit(windows[0]->port());
    REQUIRE(windows[0]->neon().origin().put(put, 1, 7, 0, data.data(), data.size(), true, false) ==
            Status::ok);
  }
  pair.run_until([&] { return windows[1]->neon().statistics().parked >= data.size(); });
  CHECK(pair.count(Counter::frames_lent) == (large ? 1 : 0));
  CHECK(pair.count(Counter::frames_copied) == (large ? 0 : 1));
  Buffer buffer;
  buffer.address = buffer.bytes.data();
  buffer.size = buffer.bytes.size();
  buffer.tag = 7;
  buffer.origins = {0};
  buffer.done = [](neon::Announcement* self, Status status) {
    CHECK(status == Status::ok);
    ++static_cast<Buffer*>(self)->ended;
  };
  windows[1]->publish(buffer);
  {
    const Ni::Access access(*pair.nis[1]);
    REQUIRE(windows[1]->neon().target().announce(buffer) == Status::ok);
  }
  pair.run_until([&] { return buffer.ended == 1 && put.ended == 1; });
  CHECK(std::memcmp(buffer.bytes.data(), data.data(), data.size()) == 0);
  windows[1]->withdraw(buffer);
}

TEST_CASE("packets for a late receiver stay in the buffers in which tcp has received them",
          "[multicast]") {
  Pair pair;
  std::array<std::unique_ptr<Multicast>, 2> services;
  std::array<LateReceiver, 2> receivers;
  std::array<Multicast::Group*, 2> groups{};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    services[rank] = std::make_unique<Multicast>(pair.nis[rank]->services(), Multicast::Options{});
    std::vector<PeerId> peers(2, kNoPeer);
    peers[1 - rank] = pair.peers[rank];
    services[rank]->join(groups[rank], 9, Membership({{1, 0}, {1, 1}}, {0, 1}), rank, peers,
                         receivers[rank]);
  }
  std::atomic<std::uint32_t> unsent = 0;
  const auto send = [&](std::uint64_t number) {
    const std::vector<std::byte> bytes = pattern(kLarge, static_cast<unsigned>(number));
    const std::size_t before = receivers[1].kept.size();
    {
      const Ni::Access access(*pair.nis[0]);
      MulticastHeader header;
      header.number = number;
      services[0]->send(*groups[0], header, bytes, unsent);
    }
    pair.run_until([&] { return unsent == 0 && receivers[1].kept.size() == before + 1; });
  };
  const auto all_right = [&] {
    for (const Multicast::Packet* packet : receivers[1].kept) {
      const std::vector<std::byte> wanted =
          pattern(kLarge, static_cast<unsigned>(packet->header.number));
      REQUIRE(packet->size == kLarge);
      REQUIRE(std::memcmp(packet->data, wanted.data(), kLarge) == 0);
    }
  };
  const auto release_all = [&] {
    const Ni::Access access(*pair.nis[1]);
    for (Multicast::Packet* packet : receivers[1].kept) services[1]->release(*packet);
    receivers[1].kept.clear();
  };
  send(0);
  CHECK(pair.count(Counter::frames_lent) == 1);
  CHECK(pair.count(Counter::frames_copied) == 0);
  // No more buffers than a few are lent.
  constexpr std::uint64_t kMany = 60;
  for (std::uint64_t number = 1; number < kMany; ++number) send(number);
  const std::uint64_t lent = pair.count(Counter::frames_lent);
  CHECK(lent >= limits::kTcpLentBuffers);
  CHECK(lent <= (limits::kTcpLentBuffers + 1) * (256 * 1024 / kLarge));
  CHECK(pair.count(Counter::frames_copied) == kMany - lent);
  all_right();
  release_all();
  for (std::uint64_t number = 0; number < 10; ++number) send(kMany + number);
  CHECK(pair.count(Counter::frames_lent) == lent + 10);
  all_right();
  release_all();
  for (std::uint32_t rank = 0; rank < 2; ++rank) services[rank]->leave(groups[rank]);
}

}  // namespace lfc
