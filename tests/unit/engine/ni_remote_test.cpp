// Ni: puts, gets and atomics on remote memory, over the simulated fabric.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "unit/engine/ni_world.hpp"

namespace lfc {

TEST_CASE("put and get move the right bytes, of any size", "[ni]") {
  const bool native = GENERATE(false, true);
  const std::uint32_t window = GENERATE(1u, 2u, 8u);
  SimOptions options = quick(window);
  options.remote_memory = native;
  Lab lab(2, options, window_of(window));
  const std::size_t large = window * options.max_payload * 5 + 13;  // many windows of frames
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{95}, std::size_t{96},
        std::size_t{97}, std::size_t{104}, std::size_t{105}, std::size_t{1000}, large}) {
    INFO("size " << size << " native " << native << " window " << window);
    std::string there = pattern(size + 64, 1);
    const std::string untouched = there;
    RegionHandle region;
    REQUIRE(lab.world.ni(1).remote().register_memory(there.data(), there.size(), kAll, region));
    const std::string out = pattern(size, size + 2);
    Flight put;
    {
      const ServicePort::Visit visit(lab.world.ni(0).services());
      lab.world.ni(0).remote().put(lab.world.peer(0, 1), out.data(), nullptr, region.address + 32,
                                   region, size, &put);
    }
    REQUIRE(lab.world.run_until([&] { return put.calls > 0; }));
    REQUIRE(put.ended(Result::ok));
    REQUIRE(there.substr(32, size) == out);
    REQUIRE(there.substr(0, 32) == untouched.substr(0, 32));
    REQUIRE(there.substr(32 + size) == untouched.substr(32 + size));

    std::string back(size + 2, '?');
    Flight get;
    {
      const ServicePort::Visit visit(lab.world.ni(0).services());
      lab.world.ni(0).remote().get(lab.world.peer(0, 1), back.data() + 1, nullptr,
                                   region.address + 32, region, size, &get);
    }
    REQUIRE(lab.world.run_until([&] { return get.calls > 0; }));
    REQUIRE(get.ended(Result::ok));
    REQUIRE(back == "?" + out + "?");
    lab.settle();
    REQUIRE(put.calls == 1);
    REQUIRE(get.calls == 1);
    REQUIRE(lab.world.ni(0).remote().outstanding(lab.world.peer(0, 1)) == 0);
    lab.world.ni(1).remote().deregister_memory(region);
  }
  const Counters& counters = lab.world.ni(0).counters();
  REQUIRE((counters.get(Counter::put_native_bytes) > 0) == native);
  REQUIRE((counters.get(Counter::put_frames_bytes) > 0) == !native);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("gets in both directions at once do not wait for each other", "[ni]") {
  const std::uint32_t window = GENERATE(1u, 2u, 4u);
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u, 5u);
  Lab lab(2, quick(seed), window_of(window));
  std::vector<std::string> memory{pattern(3000, 1), pattern(3000, 2)};
  std::vector<RegionHandle> regions(2);
  for (Node node : {0u, 1u})
    REQUIRE(lab.world.ni(node).remote().register_memory(memory[node].data(), 3000, kAll,
                                                        regions[node]));
  std::vector<std::unique_ptr<Flight>> flights;
  std::vector<std::string> buffers(40, std::string(3000, '?'));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Node node = i % 2;
    auto& flight = *flights.emplace_back(std::make_unique<Flight>());
    {
      const ServicePort::Visit visit(lab.world.ni(node).services());
      lab.world.ni(node).remote().get(lab.world.peer(node, 1 - node), buffers[i].data(), nullptr,
                                      regions[1 - node].address, regions[1 - node], 3000, &flight);
    }
    lab.post(node, 1 - node, "between");
  }
  lab.settle();
  INFO(lab.world.describe());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    REQUIRE(flights[i]->ended(Result::ok));
    REQUIRE(buffers[i] == memory[1 - i % 2]);
  }
  REQUIRE(lab.all_done());
  REQUIRE(lab.received[0].size() == 20);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("atomics of both widths change the target's memory", "[ni]") {
  Lab lab(4, quick(), window_of(2));
  struct Words {
    std::int64_t wide = 10;
    std::int32_t narrow = -5;
    std::int32_t neighbour = 77;
  } words;
  RegionHandle region;
  REQUIRE(lab.world.ni(0).remote().register_memory(&words, sizeof words, kAll, region));
  const auto apply = [&](AtomicRequest request, std::size_t offset) {
    std::uint64_t old = 0xeeeeeeeeeeeeeeeeu;
    Flight flight;
    {
      const ServicePort::Visit visit(lab.world.ni(1).services());
      lab.world.ni(1).remote().atomic(lab.world.peer(1, 0), request, region.address + offset,
                                      region, &old, &flight);
    }
    REQUIRE(lab.world.run_until([&] { return flight.calls > 0; }));
    REQUIRE(flight.ended(Result::ok));
    return old;
  };
  REQUIRE(apply({AtomicOp::add, 8, 5}, 0) == 10);
  REQUIRE(words.wide == 15);
  REQUIRE(apply({AtomicOp::compare_swap, 8, 99, 15}, 0) == 15);
  REQUIRE(words.wide == 99);
  REQUIRE(apply({AtomicOp::min, 4, 3}, 8) == (0xeeeeeeee00000000u | 0xfffffffbu));
  REQUIRE(words.narrow == -5);
  REQUIRE(apply({AtomicOp::max, 4, 3}, 8) == (0xeeeeeeee00000000u | 0xfffffffbu));
  REQUIRE(words.narrow == 3);
  REQUIRE(words.neighbour == 77);

  // No increment is lost or doubled; a null result is permitted.
  words.wide = 0;
  std::vector<std::unique_ptr<Flight>> flights;
  for (int i = 0; i < 50; ++i)
    for (Node node : {1u, 2u, 3u}) {
      const ServicePort::Visit visit(lab.world.ni(node).services());
      lab.world.ni(node).remote().atomic(lab.world.peer(node, 0), {AtomicOp::add, 8, 1},
                                         region.address, region, nullptr,
                                         flights.emplace_back(std::make_unique<Flight>()).get());
    }
  lab.settle();
  for (const auto& flight : flights) REQUIRE(flight->ended(Result::ok));
  REQUIRE(words.wide == 150);
  REQUIRE(lab.world.credit_fault() == "");
}

TEST_CASE("accesses outside what was granted end with bad_address", "[ni]") {
  const bool native = GENERATE(false, true);
  SimOptions options = quick();
  options.remote_memory = native;
  Lab lab(2, options, window_of(2));
  std::string memory(1000, 'x');
  std::string buffer(4000, 'y');
  RegionHandle region;
  REQUIRE(lab.world.ni(1).remote().register_memory(memory.data(), memory.size(), kAll, region));
  Ni& ni = lab.world.ni(0);
  const PeerId peer = lab.world.peer(0, 1);
  const auto put = [&](const RegionHandle& handle, std::uint64_t address, std::size_t size) {
    Flight flight;
    {
      const ServicePort::Visit visit(ni.services());
      ni.remote().put(peer, buffer.data(), nullptr, address, handle, size, &flight);
    }
    REQUIRE(lab.world.run_until([&] { return flight.calls > 0; }));
    REQUIRE(flight.calls == 1);
    return flight.result;
  };
  const auto get = [&](const RegionHandle& handle, std::uint64_t address, std::size_t size) {
    Flight flight;
    {
      const ServicePort::Visit visit(ni.services());
      ni.remote().get(peer, buffer.data(), nullptr, address, handle, size, &flight);
    }
    REQUIRE(lab.world.run_until([&] { return flight.calls > 0; }));
    REQUIRE(flight.calls == 1);
    return flight.result;
  };
  const std::uint64_t base = region.address;
  REQUIRE(put(region, base + 1, 1000) == Result::bad_address);
  REQUIRE(get(region, base - 1, 10) == Result::bad_address);
  REQUIRE(put(region, base + 1000, 1) == Result::bad_address);
  REQUIRE(get(region, base, ~std::size_t{0}) == Result::bad_address);

  // A forged handle passes the origin's check, but not the target's.
  RegionHandle lie = region;
  lie.size = 4000;
  REQUIRE(put(lie, base, 2000) == Result::bad_address);
  REQUIRE(get(lie, base, 2000) == Result::bad_address);
  REQUIRE(put(lie, base + 1000, 8) == Result::bad_address);

  if (!native) {
    RegionHandle stale = region;
    stale.generation += 2;
    REQUIRE(put(stale, base, 8) == Result::bad_address);
    stale = region;
    stale.id += 100;
    REQUIRE(get(stale, base, 8) == Result::bad_address);
    RegionHandle read_only;
    REQUIRE(lab.world.ni(1).remote().register_memory(memory.data(), 1000, kRemoteRead, read_only));
    REQUIRE(put(read_only, base, 8) == Result::bad_address);
    REQUIRE(get(read_only, base, 8) == Result::ok);
    Flight atomic;
    {
      const ServicePort::Visit visit(ni.services());
      ni.remote().atomic(peer, {AtomicOp::add, 8, 1}, (base + 7) & ~7ull, read_only, nullptr,
                         &atomic);
    }
    REQUIRE(lab.world.run_until([&] { return atomic.calls > 0; }));
    REQUIRE(atomic.ended(Result::bad_address));
  }
  Flight crooked;
  {
    const ServicePort::Visit visit(ni.services());
    ni.remote().atomic(peer, {AtomicOp::add, 8, 1}, ((base + 7) & ~7ull) + 4, region, nullptr,
                       &crooked);
  }
  REQUIRE(lab.world.run_until([&] { return crooked.calls > 0; }));
  REQUIRE(crooked.ended(Result::bad_address));
  Flight wide;
  {
    const ServicePort::Visit visit(ni.services());
    ni.remote().atomic(peer, {AtomicOp::add, 16, 1}, (base + 15) & ~15ull, region, nullptr, &wide);
  }
  REQUIRE(lab.world.run_until([&] { return wide.calls > 0; }));
  REQUIRE(wide.ended(Result::bad_address));

  lab.world.ni(1).remote().deregister_memory(region);
  REQUIRE(put(region, base, 8) == Result::bad_address);
  lab.settle();
  REQUIRE(lab.lost.empty());  // a bad address is an error of the call, not of the peer
  if (!native) REQUIRE(lab.world.credit_fault() == "");
  lab.results.clear();
  lab.post(0, 1, "still friends");
  lab.settle();
  REQUIRE(lab.all_done());
}

TEST_CASE("operations may be started from inside done", "[ni]") {
  Lab lab(2, quick(), window_of(1));
  std::string memory(500, 'x');
  RegionHandle region;
  REQUIRE(lab.world.ni(1).remote().register_memory(memory.data(), memory.size(), kAll, region));
  const std::string out = pattern(500, 9);
  std::string back(500, '?');
  Flight put;
  Flight get;
  put.then = [&] {
    {
      const ServicePort::Visit visit(lab.world.ni(0).services());
      lab.world.ni(0).remote().get(lab.world.peer(0, 1), back.data(), nullptr, region.address,
                                   region, 500, &get);
    }
  };
  get.then = [&] { lab.post(0, 1, "done"); };
  {
    const ServicePort::Visit visit(lab.world.ni(0).services());
    lab.world.ni(0).remote().put(lab.world.peer(0, 1), out.data(), nullptr, region.address, region,
                                 500, &put);
  }
  lab.settle();
  REQUIRE(put.ended(Result::ok));
  REQUIRE(get.ended(Result::ok));
  REQUIRE(back == out);
  REQUIRE(lab.received[1] == std::vector<Lab::Received>{{0, 1, "done"}});
}

}  // namespace lfc
