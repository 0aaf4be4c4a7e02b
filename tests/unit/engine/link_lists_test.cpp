// Engines with different lists of links write, read and change each other's memory over the links that they share.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "deadline.hpp"
#include "engine/open.hpp"
#include "flight.hpp"
#include "unit/link/shm/world.hpp"

namespace lfc::link_lists_test {
namespace {

constexpr std::uint32_t kAll = kRemoteRead | kRemoteWrite | kRemoteAtomic;

struct Opened {
  const char* links;
  unsigned connections = 1;  // of tcp; several are bonded
};

struct Engines {
  explicit Engines(const std::vector<Opened>& all) {
    for (const Opened& each : all) {
      NiOptions options;
      options.name = {1, static_cast<std::uint32_t>(nis.size())};
      options.links = each.links;
      options.connections = each.connections;
      options.interfaces = "lo";
      options.policy = "single";
      options.local_processes = static_cast<std::uint32_t>(all.size());
      std::string error, notes;
      nis.push_back(open_ni(options, error, notes));
      INFO(error);
      REQUIRE(nis.back() != nullptr);
      addresses.push_back(*Address::parse(nis.back()->open()));
    }
  }
  PeerId peer(std::size_t from, std::size_t to) {
    std::string why;
    const PeerId id = nis[from]->add_peer(addresses[to], why);
    INFO(why);
    REQUIRE(id != kNoPeer);
    return id;
  }
  void finish(const Flight& flight) {
    for (Deadline deadline(std::chrono::seconds(20)); flight.calls == 0 && !deadline.is_over();)
      for (auto& ni : nis) ni->progress();
    REQUIRE(flight.ended(Result::ok));
  }

  std::vector<std::unique_ptr<Ni>> nis;
  std::vector<Address> addresses;
};

std::vector<std::uint8_t> bytes_of(std::size_t size, std::size_t seed) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + seed);
  return bytes;
}

}  // namespace

TEST_CASE("lists of links: memory is accessed whatever other links its owner has", "[ni]") {
  Engines at({{"loop,tcp"}, {"loop,shm,tcp"}, {"tcp,shm"}, {"shm,tcp,loop", 3}, {"loop,tcp", 2}});
  for (std::size_t from = 0; from < at.nis.size(); ++from)
    for (std::size_t to = 0; to < at.nis.size(); ++to) {
      if (from == to) continue;
      const PeerId peer = at.peer(from, to);
      RemoteOrigin& origin = at.nis[from]->remote();
      for (const std::size_t size :
           {std::size_t{1}, std::size_t{8}, std::size_t{limits::kTcpPayload},
            std::size_t{limits::kTcpPayload} + 1, std::size_t{1} << 20}) {
        INFO("from " << from << " to " << to << " by " << at.nis[from]->link_traits(peer).name
                     << ", size " << size);
        std::vector<std::uint8_t> memory(size + 16, 0xee);
        RegionHandle region;
        REQUIRE(at.nis[to]->remote().register_memory(memory.data(), memory.size(), kAll, region));
        const std::vector<std::uint8_t> sent = bytes_of(size, from * 8 + to);
        Flight put;
        origin.put(peer, sent.data(), nullptr, region.address + 8, region, size, &put);
        at.finish(put);
        REQUIRE(std::memcmp(memory.data() + 8, sent.data(), size) == 0);
        REQUIRE((memory[7] == 0xee && memory[size + 8] == 0xee));
        std::vector<std::uint8_t> got(size);
        Flight get;
        origin.get(peer, got.data(), nullptr, region.address + 8, region, size, &get);
        at.finish(get);
        REQUIRE(got == sent);
        at.nis[to]->remote().deregister_memory(region);
      }
      std::uint64_t word = 40;
      RegionHandle region;
      REQUIRE(at.nis[to]->remote().register_memory(&word, sizeof word, kAll, region));
      std::uint64_t old = 0;
      Flight added;
      origin.atomic(peer, {AtomicOp::add, 8, 2, 0}, region.address, region, &old, &added);
      at.finish(added);
      CHECK((old == 40 && word == 42));
      at.nis[to]->remote().deregister_memory(region);
    }
}

TEST_CASE("lists of links: each open link has a kind of its own", "[ni]") {
  Engines at({{"loop,shm,tcp", 2}});
  std::vector<LinkTraits::Kind> kinds;
  for (const auto& link : at.nis[0]->peers().links()) kinds.push_back(link->traits().kind);
  CHECK(kinds == std::vector{LinkTraits::Kind::loop, LinkTraits::Kind::shm, LinkTraits::Kind::tcp});
}

TEST_CASE("lists of links: a process that ended before it was met is lost, not moved to tcp",
          "[ni][process]") {
  static int detours;
  static std::string lost;
  detours = 0;
  lost.clear();
  NiOptions options;
  const std::string links = GENERATE("loop,shm,tcp", "loop,shm");
  options.links = links.c_str();
  if (links.ends_with("tcp")) options.interfaces = "lo";
  options.policy = "single";
  options.local_processes = 2;
  options.detour = [](std::string_view, std::string_view) { ++detours; };
  std::string error, notes;
  shm_world::SharedBoard board;
  shm_world::Child child([&] {
    options.name = {1, 1};
    const auto ni = open_ni(options, error, notes);
    if (ni == nullptr) return false;
    const auto address = ni->open();
    board->post({address.begin(), address.end()});
    board->step = 1;
    pause();
    return false;
  });
  REQUIRE(board->wait_for(1));
  child.kill();
  REQUIRE_FALSE(child.finished());
  options.name = {1, 0};
  const auto ni = open_ni(options, error, notes);
  INFO(error);
  REQUIRE(ni != nullptr);
  ni->open();
  ni->set_broken_handler([](void*, PeerId, std::string_view why) { lost = why; }, nullptr);
  const PeerId peer = ni->add_peer(board->address(), error);
  REQUIRE(peer != kNoPeer);
  Message message;
  message.slices[0] = {"x", 1};
  message.slice_count = 1;
  message.done = [](Message*, Result) {};
  ni->post(peer, message);
  for (Deadline deadline(std::chrono::seconds(20)); lost.empty() && !deadline.is_over();)
    ni->progress();
  INFO(lost);
  CHECK(lost.find("its process ended without a goodbye") != std::string::npos);
  CHECK(detours == 0);
}

}  // namespace lfc::link_lists_test
