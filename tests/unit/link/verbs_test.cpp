// The parts of the link verbs that need no device.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.hpp"

#if __has_include(<infiniband/verbs.h>)
#include "link/sim/random.hpp"
#include "link/verbs/buffers.hpp"
#include "link/verbs/connection.hpp"
#include "link/verbs/hello.hpp"
#include "link/verbs/ports.hpp"
#include "link/verbs/send_queue.hpp"
#include "link/verbs/verbs_link.hpp"

namespace lfc::verbs {
namespace {

std::vector<std::byte> some_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

Port roce(const char* name, std::initializer_list<int> last_bytes) {
  Port port;
  port.device = name;
  port.ethernet = port.active = true;
  for (const int last : last_bytes) {
    Gid gid;
    gid.index = static_cast<std::uint8_t>(port.gids.size());
    gid.kind = Gid::Kind::roce2;
    gid.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, static_cast<std::uint8_t>(last)};
    port.gids.push_back(gid);
  }
  return port;
}

Interface interface(const char* name, const char* address) {
  Interface made;
  made.name = name;
  made.address = *IpAddress::parse(address);
  made.prefix = 24;
  made.running = true;
  return made;
}

}  // namespace

TEST_CASE("verbs: there are always as many buffers in the queue as peers may send", "[verbs]") {
  Promises promises(4096);
  Random random(5);
  std::vector<std::uint32_t> peers;
  for (int round = 0; round < 10000; ++round) {
    if (random.chance(500)) {
      const auto count = static_cast<std::uint32_t>(1 + random.below(40));
      if (promises.fits(count)) {
        promises.make(promises.missing(count));
        promises.promise(count);
        peers.push_back(count);
      }
    } else if (!peers.empty()) {
      promises.release(peers.back());
      peers.pop_back();
    }
    std::uint32_t may_come = 0;
    for (const std::uint32_t count : peers) may_come += count;
    REQUIRE(promises.promised() == may_come);
    // The buffers of one batch are taken and not returned yet.
    if (!peers.empty()) REQUIRE(promises.exist() >= may_come + Completions::kBatch);
    REQUIRE(promises.exist() <= 4096);
  }
}

TEST_CASE("verbs: every work request ends exactly once while others follow", "[verbs]") {
  SendQueue queue;
  Random random(6);
  std::vector<std::uint32_t> signalled;  // numbers of requests with a completion
  std::uint32_t pushed = 0;
  std::uint32_t ended = 0;
  std::uint32_t buffers = 0;
  for (int round = 0; round < 20000; ++round) {
    if (queue.room() != 0 && random.chance(600)) {
      const bool holds = random.chance(300);
      const SendQueue::Place place =
          queue.push({holds ? Work::What::buffer : Work::What::nothing, pushed}, false);
      REQUIRE(place.number == pushed++);
      if (holds) REQUIRE(place.signalled);
      buffers += holds ? 1 : 0;
      if (place.signalled) signalled.push_back(place.number);
    } else if (!signalled.empty()) {
      queue.end(signalled.front(), [&](const Work& work) {
        ++ended;
        buffers -= work.what == Work::What::buffer ? 1 : 0;
      });
      REQUIRE(ended == signalled.front() + 1);
      signalled.erase(signalled.begin());
    } else {
      REQUIRE(queue.outstanding() < SendQueue::kEvery);  // or none of them would complete
    }
  }
  queue.end_all([&](const Work& work) { buffers -= work.what == Work::What::buffer ? 1 : 0; });
  CHECK(buffers == 0);
  CHECK(queue.outstanding() == 0);
}

TEST_CASE("verbs: requests before one that the device refused still need a completion", "[verbs]") {
  SendQueue queue;
  queue.push({}, false);
  REQUIRE(queue.is_silent());
  queue.take_back(queue.push({Work::What::probe}, false));
  CHECK(queue.is_silent());
  CHECK(queue.outstanding() == 1);
  queue.take_back(queue.push({}, false));
  CHECK(queue.is_silent());
  queue.end(queue.push({Work::What::probe}, false).number, [](const Work&) {});
  CHECK_FALSE(queue.is_silent());
  CHECK(queue.outstanding() == 0);
}

TEST_CASE("verbs: a hello in parts is put together in any order, and only by its receiver",
          "[verbs]") {
  HelloPart head;
  head.tag = 0x4711;
  head.kind = HelloPart::Kind::request;
  head.nonce = Key{1, 2};
  head.offer.queue_pair = 17;
  const std::vector<std::byte> address = some_bytes(700);
  const Identity responder{{1, 2}, Key{3, 4}, 8};
  head.proof = proof_of(head, responder, "verbs", address);
  auto parts = encode(head, address, 256);
  REQUIRE(parts.size() == 4);
  std::reverse(parts.begin(), parts.end());
  HelloInbox other(0x4712);
  HelloInbox inbox(0x4711);
  const Hello* whole = nullptr;
  for (const auto& part : parts) {
    REQUIRE(part.size() <= 256);
    REQUIRE(whole == nullptr);
    CHECK(other.accept(part) == nullptr);
    whole = inbox.accept(part);
    if (whole == nullptr) CHECK(inbox.accept(part) == nullptr);  // twice: harmless
  }
  REQUIRE(whole != nullptr);
  CHECK(whole->address == address);
  CHECK(whole->head.offer.queue_pair == 17);
  CHECK(whole->head.proof == proof_of(whole->head, responder, "verbs", whole->address));
  HelloPart forged = whole->head;
  forged.offer.queue_pair = 18;
  CHECK_FALSE(forged.proof == proof_of(forged, responder, "verbs", whole->address));
  for (std::size_t size = 0; size < sizeof head; ++size)
    CHECK(inbox.accept(std::span(parts[0]).first(size)) == nullptr);
}

TEST_CASE("verbs: the link is tried only where the kernel has an active port", "[verbs]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lfc-ports-" + std::to_string(::getpid()));
  const auto is_active = [&] { return has_active_rdma_port(folder.c_str()); };
  const auto set = [&](const std::string& port, const char* state) {
    std::filesystem::create_directories(folder / port);
    std::ofstream(folder / port / "state") << state << '\n';
  };
  CHECK_FALSE(is_active());
  std::filesystem::create_directories(folder / "odd_0");  // a device without ports
  CHECK_FALSE(is_active());
  set("mlx5_0/ports/1", "1: DOWN");
  set("mlx5_0/ports/2", "2: INIT");
  CHECK_FALSE(is_active());
  set("mlx5_0/ports/2", "4: ACTIVE");
  CHECK(is_active());
  std::filesystem::remove_all(folder);
}

TEST_CASE("verbs: ports are chosen by device, port, interface or address", "[verbs]") {
  Port down = roce("mlx5_2", {9});
  down.active = false;
  const std::vector<Port> ports{roce("mlx5_0", {1}), roce("mlx5_1", {2}), down};
  const std::vector<Interface> all{interface("eth0", "10.0.0.1"), interface("eth1", "10.0.0.2"),
                                   interface("eth2", "10.0.0.3"), interface("eth3", "10.0.0.9")};
  const auto first = [&](const char* selection) {
    std::vector<Choice> chosen;
    std::string problem;
    if (!choose_ports(selection, ports, all, chosen, problem)) return "none: " + problem;
    return chosen.front().port.name() + " " + chosen.front().interface->name + " " +
           std::to_string(chosen.size());
  };
  CHECK(first("") == "mlx5_0:1 eth0 2");
  CHECK(first("mlx5_1") == "mlx5_1:1 eth1 1");
  CHECK(first("mlx5_1:1") == "mlx5_1:1 eth1 1");
  CHECK(first("^mlx5_0") == "mlx5_1:1 eth1 1");
  CHECK(first("eth1") == "mlx5_1:1 eth1 1");
  CHECK(first("10.0.0.1") == "mlx5_0:1 eth0 1");
  CHECK(first("eth2") == "none: no active RDMA port has a RoCE v2 address on an interface chosen");
  CHECK(first("mlx5_2").starts_with("none: "));
  CHECK(without_devices("mlx5_1:1", ports, all) == "10.0.0.2");
  CHECK(without_devices("eth0", ports, all) == "eth0");
}

}  // namespace lfc::verbs
#endif
