// Peers that fail, and links that cannot be opened.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "flight.hpp"
#include "link/ofi/ofi_fabric.hpp"
#include "link/ofi/ofi_link.hpp"
#include "link/ofi/peer_probe.hpp"
#include "unit/link/ofi/world.hpp"

namespace lfc::ofi_world {

TEST_CASE("ofi: the end of a peer is detected once", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    if (!candidate.over_tcp) return;  // the provider's own timers, or none
    {
      INFO("while frames flow");
      Pair pair(candidate.provider);
      pair.join();
      pair.b.shut();
      const Bytes data = pattern(1000, 1);
      REQUIRE(run({&pair.a}, 10s, [&] {
        return send_bytes(pair.a, pair.a_to_b, {FrameType::message}, data) == SendStatus::broken &&
               !pair.a.broken.empty();
      }));
      CHECK(pair.a.broken[pair.a_to_b] == 1);
      CHECK_FALSE(pair.a.last_why.empty());
      const auto end = Clock::now() + 100ms;
      REQUIRE(run({&pair.a}, 2s, [&] { return Clock::now() > end; }));
      CHECK(pair.a.broken[pair.a_to_b] == 1);
    }
    {
      INFO("before the connection");
      Pair pair(candidate.provider);
      pair.b.shut();
      const PeerId peer = pair.a.connect(pair.b.address());
      REQUIRE(run({&pair.a}, 10s, [&] { return pair.a.broken[peer] != 0; }));
      CHECK(send_bytes(pair.a, peer, {FrameType::message}, {}) == SendStatus::broken);
    }
    {
      INFO("with an operation under way");
      Pair pair(candidate.provider);
      pair.join();
      if (!pair.a.link().remote_memory(pair.a_to_b)) return;
      Bytes source = pattern(1 << 20, 1);
      Bytes target(1 << 20);
      LinkRegion region;
      REQUIRE(pair.b.link().register_memory(target.data(), target.size(), region));
      Flight operation;
      REQUIRE(pair.a.link().put(pair.a_to_b, source.data(), {},
                                reinterpret_cast<std::uint64_t>(target.data()),
                                {region.key, region.base, nullptr}, source.size(),
                                &operation) == Link::Start::started);
      pair.b.link().deregister_memory(region);
      pair.b.shut();
      REQUIRE(run({&pair.a}, 10s, [&] {
        send_bytes(pair.a, pair.a_to_b, {FrameType::credit}, {});
        return operation.calls == 1 && pair.a.broken[pair.a_to_b] == 1;
      }));
      CHECK(operation.result == Result::unreachable);
    }
  });
}

TEST_CASE("ofi: a link that cannot be opened has a reason of one line", "[ofi]") {
  Node node(1);
  CHECK_FALSE(node.open("no_such_provider"));
  CHECK(node.why_not.find("no_such_provider") != std::string::npos);
  for (const std::string& present : ofi_providers())
    CHECK(node.why_not.find(present) != std::string::npos);
  CHECK(node.why_not.find('\n') == std::string::npos);

  CHECK_FALSE(node.open("", [](OfiOptions& options) { options.interface = "nosuchdev0"; }));
  CHECK(node.why_not.find("nosuchdev0") != std::string::npos);

  // The link uses only interfaces of the caller's list.
  CHECK_FALSE(node.open("", [](OfiOptions& options) { options.interfaces.clear(); }));
  CHECK(node.why_not.find("127.0.0.1") != std::string::npos);

  CHECK_FALSE(node.open("", [](OfiOptions& options) { options.frame_size = 100; }));
  CHECK(node.why_not.find("too small") != std::string::npos);
}

TEST_CASE("ofi: a peer that does not fit is not reached", "[ofi]") {
  Node a(1);
  REQUIRE(a.open(""));
  Node small(2);
  REQUIRE(small.open("", [](OfiOptions& options) { options.frame_size = 4096; }));
  std::string why;
  CHECK_FALSE(a.link().reach(small.address(), why));
  CHECK(why.find("4096") != std::string::npos);
  CHECK(small.link().reach(a.address(), why));

  Node other(3);
  REQUIRE(other.open("", [](OfiOptions& options) { options.name = "ofi1"; }));
  CHECK(other.link().name() == "ofi1");
  CHECK_FALSE(a.link().reach(other.address(), why));
}

TEST_CASE("ofi: by default no provider that stays on the node or is meant for tests", "[ofi]") {
  OfiOptions options;
  options.interface = "127.0.0.1";
  options.interfaces = list_interfaces();
  std::string why;
  const std::unique_ptr<OfiFabric> fabric = OfiFabric::open(options, why);
  INFO(why);
  REQUIRE(fabric);
  const std::set<std::string> never = {"shm", "sm2", "sockets", "udp;ofi_rxd", "net;ofi_rxm"};
  CHECK(never.count(std::string(fabric->provider())) == 0);
}

TEST_CASE("ofi: a probe distinguishes a listening process from none", "[ofi]") {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(listener >= 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&where), size) == 0);
  REQUIRE(::listen(listener, 4) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&where), &size) == 0);
  const auto ask = [&] {
    PeerProbe probe;
    probe.start(std::as_bytes(std::span(&where, 1)));
    std::string why;
    PeerProbe::Outcome answer = PeerProbe::Outcome::none;
    REQUIRE(run({}, 5s, [&] {
      answer = probe.poll(why);
      return answer != PeerProbe::Outcome::none;
    }));
    CHECK_FALSE(probe.running());
    CHECK(why.empty() == (answer == PeerProbe::Outcome::alive));
    return answer;
  };
  CHECK(ask() == PeerProbe::Outcome::alive);
  ::close(listener);
  CHECK(ask() == PeerProbe::Outcome::dead);
}

}  // namespace lfc::ofi_world
