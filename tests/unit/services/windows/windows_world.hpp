// Windows of NIs over the simulated fabric, each with some words between two canaries.
//
//   Setting at(2);
//   const Word from(&value), there(nullptr, 5);
//   REQUIRE(at.at(0).lock(1, false, false) == WindowStatus::ok);
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "services/windows/window_service.hpp"
#include "sim/world.hpp"

namespace lfc {

using Node = World::Node;

inline World* world_of_host = nullptr;  // progressed by host.progress()
inline std::vector<std::pair<void*, WindowStatus>> finished;

inline constexpr std::size_t kWords = 64;

// A window of `nodes` members, each with kWords words between two canaries.
struct Setting {
  explicit Setting(Node nodes, Config config = {.initial_window = 1, .maximum_window = 2},
                   Flavor flavor = Flavor::create, const SimOptions& fabric = {.seed = 3},
                   Node on_one_host = 0, std::size_t odd_payload = SIZE_MAX)
      : world(nodes, fabric, config, odd_payload), memory(nodes) {
    world_of_host = &world;
    finished.clear();
    std::vector<WindowFacts> facts;
    for (Node node = 0; node < nodes; ++node) {
      Ni& ni = world.ni(node);
      services.push_back(std::make_unique<WindowService>(
          ni.services(), ni.remote(), ni.host(),
          WindowHost{
              [] { world_of_host->step(); },
              [](void* request, WindowStatus status) { finished.emplace_back(request, status); }}));
      memory[node].assign(kWords + 2, 0x5151515151515151);
      std::fill(memory[node].begin() + 1, memory[node].end() - 1, 0);
      Window::Shape shape;
      shape.flavor = flavor;
      shape.base = words(node);
      shape.size = flavor == Flavor::dynamic ? 0 : kWords * 8;
      shape.displacement_unit = 8;
      shape.rank = node;
      shape.ranks = nodes;
      windows.push_back(services[node]->create(std::move(shape)));
      facts.push_back(windows[node]->facts());
    }
    for (Node node = 0; node < nodes; ++node) {
      std::vector<PeerId> peers;
      for (Node other = 0; other < nodes; ++other)
        peers.push_back(other == node ? kNoPeer : world.peer(node, other));
      std::array<bool, 8> local_peers{};
      if (node < on_one_host) std::fill_n(local_peers.begin(), on_one_host, true);
      windows[node]->connect(facts, peers, {local_peers.data(), nodes});
    }
  }
  ~Setting() {
    REQUIRE(world.settle());
    for (const auto& own : memory)
      CHECK((own.front() == 0x5151515151515151 && own.back() == 0x5151515151515151));
    windows.clear();
  }
  std::uint64_t* words(Node node) { return memory[node].data() + 1; }
  Window& at(Node node) { return *windows[node]; }
  void settle() { REQUIRE(world.settle()); }

  // A frame such as a hostile member may send.
  void send(Node from, Node to, const WindowHead& head, const std::vector<Run>& runs,
            std::size_t bytes) {
    const PeerId peer = world.peer(from, to);
    const Ni::Access access(world.ni(from));
    PacketPort& packets = world.ni(from).services().packets();
    const std::size_t runs_bytes = runs.size() * sizeof(Run);
    Packet packet = packets.make(ServiceId::windows, runs_bytes + bytes);
    packet.set_head(&head, sizeof head);
    if (!runs.empty()) std::memcpy(packet.body(), runs.data(), runs_bytes);
    if (bytes != 0) std::memset(packet.body() + runs_bytes, 0xee, bytes);
    packets.send(peer, std::move(packet));
  }
  WindowHead head(Node from, Node to, WindowKind kind, std::uint64_t bytes, std::uint32_t runs) {
    WindowHead made{};
    made.window = at(to).facts().id;
    made.rank = from;
    made.kind = static_cast<std::uint8_t>(kind);
    made.bytes = bytes;
    made.runs = runs;
    return made;
  }
  bool broke(Node node) { return world.ni(node).counters().get(Counter::peers_broken) != 0; }

  World world;
  std::vector<std::vector<std::uint64_t>> memory;
  std::vector<std::unique_ptr<WindowService>> services;
  std::vector<std::unique_ptr<Window>> windows;
};

struct Word {  // one word, of either side
  explicit Word(std::uint64_t* base, std::int64_t place = 0)
      : view{reinterpret_cast<std::byte*>(base), place * 8, {&run, 1}, 8, 1, 8} {}
  Run run{0, 8, 0, 1};
  View view;
};

// Every other word: of a target's memory, or of the caller's.
struct Strided {
  explicit Strided(std::uint64_t count, std::uint64_t* base = nullptr)
      : run{0, 8, 16, count},
        view{reinterpret_cast<std::byte*>(base), 0, {&run, 1}, 0, 1, 8 * count} {}
  Run run;
  View view;
};

inline constexpr Accumulation kAdd{Accumulate::sum, Element::u64};

}  // namespace lfc
