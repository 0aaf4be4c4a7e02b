// Traffic of all kinds between the two bonds of world.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "link/sim/random.hpp"
#include "unit/link/bond/world.hpp"

namespace lfc::two_bonds {

// The n-th frame from a node.
inline std::vector<std::byte> sample(int node, std::size_t number, std::size_t limit) {
  Random random(number * 2 + static_cast<std::size_t>(node) + 99);
  const std::size_t bound = random.chance(200) ? limit : std::min<std::size_t>(limit, 64);
  return bytes_of(random.below(bound + 1), random.next());
}

// Traffic of all kinds both ways, checked byte by byte.
struct Traffic {
  static constexpr std::size_t kSize = 300 * 1024;

  Traffic(World& world_, std::uint64_t seed, std::size_t frames_ = 120,
          std::size_t operations_ = 12)
      : world(world_), random(seed), frames(frames_), operations(operations_) {
    for (int node : {0, 1}) {
      here[node] = bytes_of(kSize, random.next());
      there[node] = bytes_of(kSize, random.next());
      expected[node] = there[node];
      REQUIRE(world.nodes[node].link->register_memory(there[node].data(), kSize, region[node]));
    }
  }

  void send_some(int node) {
    const std::size_t limit = world.nodes[node].link->max_payload();
    for (std::uint64_t burst = random.below(6); burst > 0 && sent[node] < frames; --burst) {
      const FrameType type = sent[node] % 5 == 4 ? FrameType::credit : FrameType::message;
      const SendStatus status = world.send(node, type, sample(node, sent[node], limit));
      INFO(world.nodes[node].why_broken);
      REQUIRE(status != SendStatus::broken);
      if (status != SendStatus::sent) return;
      ++sent[node];
    }
  }

  // One operation of each node at a time; its result is checked byte by byte.
  void operate(int node) {
    if (flight[node] != nullptr) {
      if (flight[node]->calls == 0) return;
      REQUIRE(flight[node]->calls == 1);
      REQUIRE(flight[node]->result == Result::ok);
      const bool same = std::memcmp(here[node].data() + from[node],
                                    there[1 - node].data() + to[node], size[node]) == 0;
      REQUIRE(same);
      flight[node].reset();
      ++done;
    }
    if (started[node] == operations) return;
    ++started[node];
    size[node] = 1 + random.below(random.chance(500) ? kSize : 2000);
    from[node] = random.below(kSize - size[node] + 1);
    to[node] = random.below(kSize - size[node] + 1);
    const bool put = random.chance(500);
    // A put writes new bytes each time, so that late bytes of an older put would show.
    if (put) {
      const auto fresh = bytes_of(size[node], random.next());
      std::copy(fresh.begin(), fresh.end(),
                here[node].begin() + static_cast<std::ptrdiff_t>(from[node]));
      std::copy(fresh.begin(), fresh.end(),
                expected[1 - node].begin() + static_cast<std::ptrdiff_t>(to[node]));
    }
    flight[node] = std::make_unique<Flight>();
    Link& link = *world.nodes[node].link;
    std::byte* memory = here[node].data() + from[node];
    const auto address = reinterpret_cast<std::uint64_t>(there[1 - node].data()) + to[node];
    const LinkRegion& remote = region[1 - node];
    const Link::Start start = put ? link.put(world.peer(node), memory, {}, address, remote,
                                             size[node], flight[node].get())
                                  : link.get(world.peer(node), memory, {}, address, remote,
                                             size[node], flight[node].get());
    REQUIRE(start == Link::Start::started);
  }

  bool finished() const {
    return flight[0] == nullptr && flight[1] == nullptr && started[0] == operations &&
           started[1] == operations && sent[0] == frames && sent[1] == frames &&
           world.nodes[0].frames.size() == frames && world.nodes[1].frames.size() == frames;
  }
  void check_frames(int node) const {
    const std::size_t limit = world.nodes[node].link->max_payload();
    const auto& got = world.nodes[1 - node].frames;
    REQUIRE(got.size() == sent[node]);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool same = got[i].second == sample(node, i, limit);
      REQUIRE(same);
    }
  }

  // No late byte of an older put has landed on a newer one.
  void check_memory() const {
    for (int node : {0, 1}) REQUIRE((there[node] == expected[node]));
  }

  World& world;
  Random random;
  const std::size_t frames, operations;  // of each node
  std::vector<std::byte> here[2], there[2], expected[2];
  LinkRegion region[2];
  std::unique_ptr<Flight> flight[2];
  std::size_t size[2] = {}, from[2] = {}, to[2] = {};
  std::size_t started[2] = {}, sent[2] = {};
  std::size_t done = 0;  // operations
};

}  // namespace lfc::two_bonds
