// CollectiveSimulation: collectives of random overlapping communicators among many simulated NIs, with the production
// code. There are several nodes with several ranks each, hosts that compute, and members that fail.
//
//   CollectiveSimulation simulation({.seed = 7, .ranks = 64});
//   std::string fault = simulation.run();             // empty: all held
//
// The seed determines everything: the ranks of each node, the members of communicators, packets and windows, and one
// list of calls. Each rank makes the calls of its communicators in this order, up to a few at the same time. Sizes are
// near the limits of lines, rooms, packets and windows.
// Checked: each call ends at each rank with the right bytes, and no byte behind them is written. No rank stores more
// than the window allows. At the end no packet is left, and all credits are back.
// With `deaths` ranks fail at random. Calls of communicators without a failed member succeed; the others succeed or
// end with an error. If no call ends for a long time although some are open, the run has deadlocked.
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
  std::uint64_t endings = 0;  // calls that ended, summed over ranks
  std::uint64_t errors = 0;   // calls that ended with an error after a failure
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
  bool helped_ = false;  // the NI's thread runs while its host computes
  std::uint64_t last_move_ = 0;
  CollectiveCounts counts_;
  std::string fault_;
};

}  // namespace lfc
