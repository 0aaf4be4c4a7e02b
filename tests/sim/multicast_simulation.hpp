// MulticastSimulation: multicasts of all members of random overlapping groups at the same time, mixed with unicast,
// among many simulated NIs. All guarantees are checked during the run.
//
//   MulticastSimulation simulation({.seed = 7, .nodes = 64, .groups = 20});
//   std::string fault = simulation.run();             // empty: all held
//
// Checked: each packet arrives whole at each member of its group, once, in the order of its origin. Packets wait in
// the NI's buffers while a host is not ready. At the end no packet is left, all credits are back, and no escape buffer
// is in use. A pause of all traffic while something is pending is a deadlock.
// With `waits` hosts depend on each other as in MPI programs. At random times a host takes no multicast until a
// message from another host arrives. Half of the hosts take from a group only after all packets of the groups before
// it. No member is further ahead than Multicast::Options::share permits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "link/sim/random.hpp"
#include "services/multicast/multicast.hpp"
#include "sim/world.hpp"

namespace lfc {

struct MulticastSimulationOptions {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 64;
  std::uint32_t window = 1;
  std::uint32_t groups = 20;
  std::uint32_t multicasts = 4;  // of each member of each group
  TreeShape shape = TreeShape::monotone;
  bool whole = false;  // one group of all nodes instead of random ones
  Suspicion recovery = Suspicion::never;
  bool waits = false;
  std::uint64_t delay = 2000;  // ticks until the timer suspects a deadlock
};

struct MulticastCounts {
  std::uint64_t multicasts = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t unicasts = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t kept = 0;
  std::uint64_t blocked = 0;
  std::uint64_t deadlocks = 0;
  // The thesis' Table 5.2.
  std::uint64_t links_used = 0;
  std::uint64_t links = 0;
  std::uint64_t packets = 0;           // M
  std::uint64_t recoveries = 0;        // RC
  std::uint64_t recovery_packets = 0;  // D
  std::uint64_t waits = 0;
  std::uint64_t stored = 0;  // bytes, most at one NI
  std::uint64_t ticks = 0;
  void add(const MulticastCounts& other) noexcept;
};

class MulticastSimulation {
 public:
  explicit MulticastSimulation(const MulticastSimulationOptions& options);
  ~MulticastSimulation();
  // Runs to the end; returns the fault, or an empty string.
  std::string run();
  MulticastCounts counts();
  bool deadlocked() const noexcept { return deadlocked_; }
  std::string describe() const { return world_.describe(); }

 private:
  using Node = World::Node;
  struct Member;
  struct Host;

  void make_group(std::uint64_t key, const std::vector<Node>& nodes);
  void act(Host& host);
  void wait_for_message(Host& host);
  bool finished() const;
  void check_end();
  void fail(const std::string& why) {
    if (fault_.empty()) fault_ = why;
  }

  const MulticastSimulationOptions options_;
  Random random_;
  World world_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<std::vector<Member*>>> groups_;
  const std::uint64_t lead_;  // packets that a member may be ahead of another
  MulticastCounts counts_;
  bool deadlocked_ = false;
  std::string fault_;
};

}  // namespace lfc
