// Simulation: random traffic among many NIs, with all guarantees of the NI checked during the run.
//
//   Simulation simulation({.seed = 7, .nodes = 64});
//   std::string fault = simulation.run();             // empty: all held
//
// Each host sends messages to a few neighbours and sometimes to any node. It uses try_send and post, also inside its
// handler. With `rma` it puts, gets, compares, and adds to counters. Size and bytes of a message follow from (sender,
// receiver, number), so the receiver detects a lost, doubled, reordered or damaged message. Hosts stall at random;
// with `queued` their NIs go on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "link/sim/random.hpp"
#include "sim/world.hpp"

namespace lfc {

struct SimulationOptions {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 64;
  std::uint32_t window = 1;
  std::uint32_t max_window = 0;  // 0: as `window`, no growth
  std::uint32_t messages = 128;  // actions of each host
  bool queued = false;
  bool rma = false;
  bool native = false;  // the fabric moves remote memory itself
};

struct SimulationCounts {
  std::uint64_t messages = 0;
  std::uint64_t transfers = 0;  // put and get back
  std::uint64_t atomics = 0;
  std::uint64_t frames = 0;
  std::uint64_t refused = 0;
  std::uint64_t credit_stalls = 0;
  std::uint64_t link_stalls = 0;
  std::uint64_t explicit_credits = 0;
  std::uint64_t ticks = 0;
  std::uint64_t law_checks = 0;
  void add(const SimulationCounts& other) noexcept;
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  ~Simulation();
  // Runs to the end; returns the fault, or an empty string.
  std::string run();
  SimulationCounts counts();
  std::string describe() const { return world_.describe(); }

 private:
  using Node = World::Node;
  struct Host;
  struct Posted;
  struct Transfer;
  struct Increment;

  static SimOptions fabric_options(const SimulationOptions& options);
  static void deliver(void* context, const Delivery& delivery);

  void step();
  void act(Host& host);
  void send_message(Host& host, Node to);
  void start_transfer(Host& host, Node to);
  void advance_transfer(Transfer& transfer, Result result);
  void start_increment(Host& host, Node to);
  Node choose_peer(Host& host);
  bool finished() const;
  bool host_may_act() const;
  void check_some();
  void check_pair(Node sender, Node receiver);
  void check_end();
  void fail(const std::string& why) {
    if (fault_.empty()) fault_ = why;
  }

  const SimulationOptions options_;
  Random random_;
  World world_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::byte> scratch_;
  int events_ = 0;  // of the current step
  std::uint64_t law_checks_ = 0;
  std::string fault_;
};

}  // namespace lfc
