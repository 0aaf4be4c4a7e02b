// NIs over the simulated fabric whose hosts record their deliveries; for tests of the NI's guarantees.
//
//   Lab lab(3, quick(), window_of(4));
//   lab.post(0, 1, "text");
//   lab.settle();
//   REQUIRE(lab.received[1].size() == 1);
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "engine/ni.hpp"
#include "flight.hpp"
#include "sim/world.hpp"

namespace lfc {

using Node = World::Node;

// A World whose hosts record their deliveries.
class Lab {
 public:
  struct Received {
    Node from;
    std::uint8_t tag;
    std::string text;
    bool operator==(const Received&) const = default;
  };
  struct Lost {
    Node node;
    Node peer;
  };

  Lab(Node nodes, const SimOptions& options, const Config& config)
      : world(nodes, options, config), received(nodes) {
    for (Node node = 0; node < nodes; ++node) {
      contexts_.push_back({this, node});
    }
    for (Node node = 0; node < nodes; ++node) {
      world.ni(node).set_message_handler(handler_of<&Lab::deliver>(&contexts_[node]));
      world.ni(node).set_broken_handler(&Lab::broken, &contexts_[node]);
    }
  }

  // Posts a copy of `text`; results[id] is written when it is done.
  int post(Node from, Node to, const std::string& text, std::uint8_t tag = 1) {
    const int id = static_cast<int>(results.size());
    results.push_back(-1);
    auto& item = *items_.emplace_back(std::make_unique<Item>());
    item.lab = this;
    item.id = id;
    item.text = text;
    item.tag = tag;
    item.slices[0] = {item.text.data(), item.text.size() / 2};
    item.slices[1] = {item.text.data() + item.text.size() / 2,
                      item.text.size() - item.text.size() / 2};
    item.slice_count = 2;
    item.done = [](Message* self, Result result) {
      auto& done = static_cast<Item&>(*self);
      REQUIRE(done.lab->results[static_cast<std::size_t>(done.id)] == -1);  // exactly once
      done.lab->results[static_cast<std::size_t>(done.id)] = static_cast<int>(result);
      done.text.assign(done.text.size(), '#');  // the memory is the caller's again
      if (done.lab->on_done) done.lab->on_done(done.id);
    };
    world.ni(from).post(world.peer(from, to), item);
    return id;
  }
  bool try_send(Node from, Node to, const std::string& text, std::uint8_t tag = 1) {
    const Slice slice{text.data(), text.size()};
    return world.ni(from).try_send(world.peer(from, to), tag, &slice, 1);
  }
  bool all_done(Result expected = Result::ok) const {
    return std::all_of(results.begin(), results.end(),
                       [=](int result) { return result == static_cast<int>(expected); });
  }
  // Connects the pair, in both directions, so that later sends need no handshake.
  void warm(Node a, Node b) {
    post(a, b, "");
    post(b, a, "");
    REQUIRE(world.settle());
    received[a].clear();
    received[b].clear();
    results.clear();
  }
  void settle() {
    if (!world.settle()) FAIL("the world does not settle\n" << world.describe());
  }

  World world;
  std::vector<std::vector<Received>> received;  // by node
  std::vector<int> results;                     // of posts: -1 pending
  std::vector<Lost> lost;
  std::function<void(Node, const Delivery&)> on_deliver;
  std::function<void(int)> on_done;

 private:
  struct Context {
    Lab* lab;
    Node node;
  };
  struct Item : Message {
    Lab* lab = nullptr;
    int id = 0;
    std::string text;
  };
  static void deliver(void* context, const Delivery& delivery) {
    const Context& at = *static_cast<Context*>(context);
    at.lab->received[at.node].push_back(
        {at.lab->world.node_of(at.node, delivery.peer), delivery.tag,
         std::string(reinterpret_cast<const char*>(delivery.bytes.data()), delivery.bytes.size())});
    if (at.lab->on_deliver) at.lab->on_deliver(at.node, delivery);
  }
  static void broken(void* context, PeerId peer, std::string_view) {
    const Context& at = *static_cast<Context*>(context);
    at.lab->lost.push_back({at.node, at.lab->world.node_of(at.node, peer)});
  }

  std::vector<Context> contexts_;
  std::vector<std::unique_ptr<Item>> items_;
};

inline constexpr std::uint32_t kAll = kRemoteRead | kRemoteWrite | kRemoteAtomic;

inline SimOptions quick(std::uint64_t seed = 1) {
  SimOptions options;
  options.seed = seed;
  options.max_payload = 128;
  return options;
}

inline Config window_of(std::uint32_t window, HostQueue::Mode mode = HostQueue::Mode::direct) {
  Config config;
  config.initial_window = window;
  config.maximum_window = window;
  config.delivery = mode;
  return config;
}

inline std::string pattern(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

}  // namespace lfc
