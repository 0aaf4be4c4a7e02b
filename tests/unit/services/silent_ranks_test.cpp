// Silent ranks: the heap memory of a process for each rank with which it never communicates; for windows, also for a
// rank with which it does. Each measurement has a ceiling, in bytes for each rank, and is printed. With an allocator
// that mallinfo2() does not count, such as a sanitizer's, the tests are skipped.
#include <malloc.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../../mca/libraries/mpix_neon/extents.hpp"
#include "base/bytes.hpp"
#include "catch.hpp"
#include "engine/ni.hpp"
#include "link/sim/sim_fabric.hpp"
#include "services/collective/processes.hpp"
#include "services/collective/protocol/ranks.hpp"
#include "services/collective/tree_node.hpp"
#include "services/neon/neon_service.hpp"
#include "services/windows/window_service.hpp"
#include "unit/services/fake_port.hpp"

namespace lfc {
namespace {

constexpr std::uint32_t kRanks = 4096;
constexpr std::uint32_t kOnNode = 16;

// Returns the bytes that malloc() has handed out.
std::size_t heap() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

bool heap_is_counted() {
  constexpr std::size_t kProbe = 1 << 20;
  const std::size_t before = heap();
  void* (*volatile const allocate)(std::size_t) = std::malloc;  // the compiler keeps the call
  void* const probe = allocate(kProbe);
  const bool counted = heap() - before >= kProbe;
  std::free(probe);
  if (!counted) WARN("skipped: this allocator does not count for mallinfo2()");
  return counted;
}

// Calls make() and returns its result. Prints by how many bytes the heap has grown for each of `kRanks` ranks, and
// checks that they are at most `ceiling`.
template <class Make>
auto measure(const char* what, double ceiling, Make make) {
  const std::size_t before = heap();
  auto made = make();
  const double bytes = static_cast<double>(heap() - before) / kRanks;
  std::printf("%-52s %7.1f bytes for each rank, at most %g\n", what, bytes, ceiling);
  INFO(what);
  CHECK(bytes <= ceiling);
  return made;
}

// The published address of the process {1, rank}, as long as that of a rank with shared memory and tcp.
std::vector<std::byte> address_of(std::uint32_t rank, Link& link) {
  AddressWriter writer(Identity{{1, rank}, {}, 8});
  link.publish(writer);
  const std::array<std::byte, 112> shm{};
  const std::array<std::byte, 48> tcp{};
  writer.add("shm", shm);
  writer.add("tcp", tcp);
  writer.add("host", std::as_bytes(std::span("node0001", 8)));
  return std::move(writer).finish();
}

// The engine of the process {1, 0}, and the addresses of all others.
struct Engine {
  Engine() {
    ni.add_link(fabric.make_link(ni.sink(), ni.counters()));
    (void)ni.open();
    for (std::uint32_t rank = 1; rank <= kRanks; ++rank)
      addresses.push_back(address_of(rank, *other));
  }
  static Config config() {
    Config config;
    config.name = {1, 0};
    return config;
  }

  SimFabric fabric{{.seed = 1}};
  Ni ni{config()};
  std::unique_ptr<Link> other = fabric.make_link(ni.sink(), ni.counters());  // of all others
  std::vector<std::vector<std::byte>> addresses;
};

// The members of a communicator. `regular`: consecutive names, and as many ranks on each node.
Membership members(bool regular) {
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> nodes;
  for (std::uint32_t i = 0; i < kRanks; ++i) {
    names.push_back({1, regular ? i : 3 * i});
    nodes.push_back(regular ? i / kOnNode : i % (kRanks / kOnNode));
  }
  return {std::move(names), nodes};
}

// The state of a communicator of several nodes, of one rank of `kRanks`.
struct State {
  State(ServicePort& port, bool regular) : multicast(port, {}) {
    std::vector<std::uint32_t> order(kRanks);
    std::iota(order.begin(), order.end(), 0u);
    if (!regular) std::swap(order.front(), order.back());
    const Membership all = members(regular);
    ranks = std::make_unique<Ranks>(all, 0, order);
    tree.join(7, all, 0, std::vector<PeerId>(kRanks, kNoPeer));
  }
  ~State() { tree.leave(); }

  Multicast multicast;
  TreeNode tree{multicast};
  std::unique_ptr<Ranks> ranks;
};

// The windows service of one of `kRanks` ranks.
struct Windows {
  Windows() { std::iota(peers.begin(), peers.end(), 0u); }
  // `alike`: the members' memory has the same size, unit and keys.
  std::unique_ptr<Window> create(bool alike) {
    WindowShape shape;
    shape.base = memory.data();
    shape.size = memory.size();
    shape.ranks = kRanks;
    std::unique_ptr<Window> window = service.create(std::move(shape));
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      facts[rank] = window->facts();
      facts[rank].base +=
          std::uint64_t{rank} * rank * 4096;  // as with random layouts of address spaces
      if (alike) continue;
      facts[rank].size += rank;
      facts[rank].displacement_unit = 1 + rank % 2;
      facts[rank].region.id = rank;
      facts[rank].region.links[0].key = rank;
    }
    window->connect(facts, peers, {local_peers.get(), kRanks});
    return window;
  }
  // Puts a word to each other member.
  bool put_to_all(Window& window) {
    bool all = true;
    for (std::uint32_t rank = 1; rank < kRanks; ++rank)
      all = window.put_plain(rank, memory.data(), 8, 0) == WindowStatus::ok && all;
    return all;
  }

  FakePort port;
  FakeMemory links;
  FakeHost host;
  WindowService service{port, links, host, {[] {}, [](void*, WindowStatus) {}}};
  std::array<std::byte, 64> memory{};
  std::vector<PeerId> peers = std::vector<PeerId>(kRanks);
  std::unique_ptr<bool[]> local_peers = std::make_unique<bool[]>(kRanks);
  std::vector<WindowFacts> facts = std::vector<WindowFacts>(kRanks);
};

}  // namespace

TEST_CASE("a silent rank takes few bytes of an engine and of collectives", "[silent_ranks]") {
  if (!heap_is_counted()) return;
  Engine engine;
  measure("engine: a peer that is known", 680, [&] {
    std::string why_not;
    for (const std::vector<std::byte>& bytes : engine.addresses)
      REQUIRE(engine.ni.add_peer(*Address::parse(bytes), why_not) != kNoPeer);
    return 0;
  });
  measure("collectives: a rank of the job", 520, [&] {
    auto processes = std::make_unique<Processes>(1);
    processes->use(engine.ni.services());
    const Facts facts;
    for (std::uint32_t rank = 1; rank <= kRanks; ++rank)
      processes->introduce({1, rank}, std::as_bytes(std::span(&facts, 1)),
                           engine.addresses[rank - 1]);
    return processes;
  });
  measure("collectives: a member of a regular communicator", 6,
          [&] { return std::make_unique<State>(engine.ni.services(), true); });
  measure("collectives: a member of any communicator", 26,
          [&] { return std::make_unique<State>(engine.ni.services(), false); });
}

TEST_CASE("a silent rank takes few bytes of a window", "[silent_ranks]") {
  if (!heap_is_counted()) return;
  Windows at;
  const auto alike = measure("windows: a member", 34, [&] { return at.create(true); });
  const auto own =
      measure("windows: a member, if all of them differ", 62, [&] { return at.create(false); });
  CHECK(own->size(7) == alike->size(7) + 7);
  CHECK(own->displacement_unit(7) == 2);
  measure("windows: a member, once it is lost", 0, [&] {
    for (const PeerId peer : at.peers) at.service.on_lost(peer);
    return 0;
  });
}

TEST_CASE("a rank that communicates takes few bytes of a window", "[silent_ranks]") {
  if (!heap_is_counted()) return;
  Windows at;
  at.peers.assign(kRanks, 1);  // one of the few that have credits here
  const std::unique_ptr<Window> window = at.create(true);
  REQUIRE(window->lock_all(true) == WindowStatus::ok);
  CHECK(measure("windows: a target", 410, [&] { return at.put_to_all(*window); }));
  measure("windows: an origin", 50, [&] {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) (void)window->protocol().target.peer(rank);
    return 0;
  });
}

TEST_CASE("a silent rank takes few bytes of a window of NEON", "[silent_ranks]") {
  if (!heap_is_counted()) return;
  FakePort port;
  const auto service = std::make_shared<NeonService>(port, nullptr);
  const neon::Exposure exposure;
  std::vector<PeerId> peers(kRanks);
  std::iota(peers.begin(), peers.end(), 0u);
  const std::vector<std::uint32_t> ids(kRanks, 5);
  const auto extents = measure("NEON: a member in the library, if all are alike", 1, [&] {
    auto made = std::make_unique<neon::Extents>();
    made->set_all(
        0, kRanks, [](neon::Rank) { return 4096; }, [](neon::Rank) { return 8; });
    return made;
  });
  CHECK(extents->has(kRanks - 1));
  const auto window = measure("NEON: a member of a window", 13.5, [&] {
    auto made = std::make_unique<NeonWindow>(
        service, 0, neon::Limits{.frame = service->frame_bytes()}, exposure, kRanks);
    made->connect(peers, ids);
    return made;
  });
  measure("NEON: a member of a window, once it is lost", 5, [&] {
    for (const PeerId peer : peers) service->on_lost(peer);
    return service->work();
  });
  CHECK(window->neon().origin().open(1) == 0);
}

}  // namespace lfc
