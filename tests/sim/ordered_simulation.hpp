// OrderedSimulation: totally ordered broadcasts of all members at the same time, among simulated NIs. Delays are
// random and hosts stall. The seed selects the sequencer and the hold-back window.
//
//   OrderedSimulation simulation({.seed = 7, .nodes = 16});
//   std::string fault = simulation.run();             // empty: all held
//
// Checked: all members deliver the same messages whole and in the same order, which keeps each sender's order. No
// member fails. At the end all credits are back. A pause of all traffic while something is pending is a deadlock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "link/sim/random.hpp"
#include "services/ordered/ordered_broadcast.hpp"
#include "sim/world.hpp"

namespace lfc {

struct OrderedSimulationOptions {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 16;
  std::uint32_t window = 1;      // credits
  std::uint32_t messages = 100;  // of each member
};

struct OrderedCounts {
  std::uint64_t messages = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t early = 0;  // packets that waited for their turn at the end of a tick
  std::uint64_t ticks = 0;
  void add(const OrderedCounts& other) noexcept;
};

class OrderedSimulation {
 public:
  explicit OrderedSimulation(const OrderedSimulationOptions& options);
  ~OrderedSimulation();
  std::string run();
  OrderedCounts counts() const noexcept { return counts_; }
  std::string describe() const { return world_.describe(); }

 private:
  struct Host;
  struct Delivered {
    std::uint32_t member;
    std::uint32_t size;
    std::uint64_t number;
  };

  void act(Host& host);
  void check(Host& host, std::uint32_t member, std::uint64_t number,
             std::span<const std::byte> bytes);
  bool finished() const;
  void fail(const std::string& why) {
    if (fault_.empty()) fault_ = why;
  }

  const OrderedSimulationOptions options_;
  Random random_;
  World world_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Delivered> order_;  // the order of first deliveries
  OrderedCounts counts_;
  std::string fault_;
};

}  // namespace lfc
