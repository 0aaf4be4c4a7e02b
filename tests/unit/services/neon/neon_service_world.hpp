// A NEON window over simulated links: its members' NIs, and a buffer that one of them announces. The target's host
// makes no progress.
//
//   neon_world::Setting at(2);
//   at.announce({0});
//   at.put(0, pattern(100, 1));
//   at.settle();
//   CHECK(at.buffer.ended.calls == 1);
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "services/neon/neon_service.hpp"
#include "sim/world.hpp"

namespace lfc::neon_world {

using neon::Status;
using Node = World::Node;

constexpr std::uint32_t kTag = 7;
constexpr std::size_t kBytes = 4096;

struct Ended {
  int calls = 0;
  Status status = Status::busy;
};

struct Put : neon::Operation {
  std::vector<std::byte> bytes;
  Ended ended;
};

struct Buffer : neon::Announcement {
  std::vector<std::byte> bytes = std::vector<std::byte>(kBytes);
  Ended ended;
};

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 31 + seed);
  return made;
}

// One window of `nodes` members; node 1 announces, the others put.
struct Setting {
  explicit Setting(Node nodes, SimOptions options = {.seed = 5},
                   Config config = {.initial_window = 2})
      : world(nodes, options, config) {
    std::vector<std::uint32_t> ids;
    for (Node node = 0; node < nodes; ++node) {
      Ni& ni = world.ni(node);
      services.push_back(std::make_shared<NeonService>(ni.services(), &ni.remote()));
      const neon::Limits limits{
          .frame = services[node]->frame_bytes(), .eager = 128, .budget = 1024};
      windows.push_back(
          std::make_unique<NeonWindow>(services[node], node, limits, exposure, nodes));
      ids.push_back(windows[node]->id());
    }
    for (Node node = 0; node < nodes; ++node) {
      std::vector<PeerId> peers;
      for (Node other = 0; other < nodes; ++other)
        peers.push_back(other == node ? kNoPeer : world.peer(node, other));
      windows[node]->connect(peers, ids);
    }
    buffer.address = buffer.bytes.data();
    buffer.size = kBytes;
    buffer.tag = kTag;
    buffer.done = [](neon::Announcement* self, Status status) {
      Ended& ended = static_cast<Buffer*>(self)->ended;
      ++ended.calls;
      ended.status = status;
    };
  }

  void announce(std::vector<neon::Rank> origins) {
    buffer.origins = std::move(origins);
    if (buffer.token.size == 0) windows[1]->publish(buffer);
    const Ni::Access access(world.ni(1));
    REQUIRE(windows[1]->neon().target().announce(buffer) == Status::ok);
  }
  Put& make_put(std::vector<std::byte> data) {
    Put& made = puts.emplace_back();
    made.bytes = std::move(data);
    made.done = [](neon::Operation* self, Status status) {
      Ended& ended = static_cast<Put*>(self)->ended;
      ++ended.calls;
      ended.status = status;
    };
    return made;
  }
  Put& put(Node from, std::vector<std::byte> data, std::uint64_t offset = 0, bool final = true) {
    Put& made = make_put(std::move(data));
    NeonWindow& window = *windows[from];
    window.writes().prepare(1);
    const ServicePort::Visit visit(window.port());
    REQUIRE(window.neon().origin().put(made, 1, kTag, offset, made.bytes.data(), made.bytes.size(),
                                       final, false) == Status::ok);
    return made;
  }
  bool holds(const std::vector<std::byte>& data, std::size_t offset = 0) const {
    return std::memcmp(buffer.bytes.data() + offset, data.data(), data.size()) == 0;
  }
  void settle() { REQUIRE(world.settle()); }
  std::uint64_t count(Node node, Counter counter) { return world.ni(node).counters().get(counter); }

  World world;
  neon::Exposure exposure;
  Buffer buffer;
  std::deque<Put> puts;
  std::vector<std::shared_ptr<NeonService>> services;
  std::vector<std::unique_ptr<NeonWindow>> windows;
};

}  // namespace lfc::neon_world
