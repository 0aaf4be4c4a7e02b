// CollectiveSimulation: collectives of random overlapping communicators among many simulated NIs, with the
// production code: several nodes, several ranks on each, hosts that compute, and members that end.
//
//   CollectiveSimulation simulation({.seed = 7, .ranks = 64});
//   std::string fault = simulation.run();             // empty: all held
//
// All is drawn from the seed: which ranks share a node, the members of communicators, packets and windows, and one
// list of calls, of which each rank makes those of its communicators in this order, up to a few at the same time. Sizes
// lie about the limits of lines, rooms, packets and windows. Checked: every call ends, at every rank, with the right
// bytes and nothing written behind them; no rank stores more than the window allows; at the end no packet is left, and
// all credits are back. With `deaths` ranks die at random: calls of communicators without a dead member end well, the
// others well, or with an error, but all of them end. Nothing ending while something is called is a wait for ever.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "link/sim/random.hpp"
#include "services/collective/communicator.hpp"
#include "sim/world.hpp"

namespace lfc {

struct CollectiveSimulationOptions {
  std::uint64_t seed = 1;
  std::uint32_t ranks = 64;
  std::uint32_t window = 1;  // credits
  std::uint32_t communicators = 6;
  std::uint32_t calls = 20;  // in all
  std::uint32_t deaths = 0;
  TreeShape shape = TreeShape::monotone;
  Suspicion recovery = Suspicion::never;
};

struct CollectiveCounts {
  std::uint64_t calls = 0;
  std::uint64_t endings = 0;  // of a call at a rank
  std::uint64_t errors = 0;   // of them, after deaths
  std::uint64_t bytes = 0;
  std::uint64_t recoveries = 0;
  std::uint64_t deaths = 0;
  std::uint64_t most_stored = 0;  // bytes, at one NI
  std::uint64_t ticks = 0;
  void add(const CollectiveCounts& other) noexcept;
};

class CollectiveSimulation {
 public:
  explicit CollectiveSimulation(const CollectiveSimulationOptions& options);
  ~CollectiveSimulation();
  std::string run();
  CollectiveCounts counts() const noexcept { return counts_; }
  std::string describe() const;

 private:
  struct Host;
  struct Group;
  struct Call;
  struct Part;

  void make_group(std::uint32_t number);
  void make_call();
  lfc_coll_call open(const Host& host, Part& part);
  void begin(Host& host, Part& part);
  void act(Host& host);
  void look(Host& host, Part& part);
  void end(Host& host, Part& part);
  void put_combined(const Part& part, std::byte* to) const;
  void check(const Part& part);
  void kill_somebody();
  bool finished() const;
  void check_end();
  void fail(const std::string& why) {
    if (fault_.empty()) fault_ = why;
  }

  const CollectiveSimulationOptions options_;
  Random random_;
  World world_;
  CollOptions coll_;
  std::vector<std::uint32_t> node_;  // by rank
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::uint64_t deaths_due_ = 0;
  std::uint64_t at_once_ = 1;
  bool helped_ = false;  // hosts that compute, by their NIs' threads
  std::uint64_t last_move_ = 0;
  CollectiveCounts counts_;
  std::string fault_;
};

}  // namespace lfc
