// lfc_sim: random traffic among many simulated NIs, one seed per run. See simulation.hpp.
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/choice.hpp"
#include "sim/collective_simulation.hpp"
#include "sim/multicast_simulation.hpp"
#include "sim/ordered_simulation.hpp"
#include "sim/simulation.hpp"

namespace {

constexpr const char* kHelp =
    "lfc_sim [OPTIONS]: random traffic among simulated network interfaces.\n"
    "  --seed N        first seed [1]\n"
    "  --seeds COUNT   how many seeds to run [1]\n"
    "  --nodes N       network interfaces, 2..1024 [64]\n"
    "  --most-nodes N  with --multicast: from --nodes to N, drawn by the seed\n"
    "  --window W      credits per ordered pair at first [1]\n"
    "  --max-window W  credits per ordered pair at most [as --window]\n"
    "  --messages N    actions of each host [128]\n"
    "  --queued        hosts stall while their interfaces go on\n"
    "  --rma           also puts, gets and atomics, carried in frames\n"
    "  --native        also --rma, moved by the network itself\n"
    "  --multicast     multicasts of all members of random overlapping groups, with unicast\n"
    "  --ordered       totally ordered broadcasts of all interfaces, --messages N of each\n"
    "  --collective    collectives of random overlapping communicators on several nodes\n"
    "  --calls N       of those, in all [20]\n"
    "  --deaths N      ranks that die meanwhile [0]\n"
    "  --groups N      of --multicast, or communicators [20; 6]\n"
    "  --multicasts N  of each member of each [4]\n"
    "  --whole         one group of all interfaces instead\n"
    "  --waits         with --multicast: hosts take some multicasts only after a message, or "
    "others\n"
    "  --shape NAME    trees: monotone, binary, ... (? lists them) [monotone]\n"
    "  --deadlocks     seeds that deadlock are counted instead of failing; one must\n"
    "  --recovery WHEN deadlocks are recovered from: never, timer, immediate [never]\n"
    "  --delay TICKS   until the timer suspects a deadlock [2000]\n"
    "  --recoveries N  fail with more recoveries than N for 1000 multicasts\n"
    "Checks order, contents, credits, memory and liveness; a seed that fails is printed with\n"
    "the command line that replays it. Exit status: 0 when all seeds passed.\n";

bool parse_number(const char* text, std::uint64_t low, std::uint64_t high, std::uint64_t& out) {
  char* end = nullptr;
  out = std::strtoull(text, &end, 10);
  return end != text && *end == '\0' && out >= low && out <= high;
}

struct CommandLine {
  lfc::SimulationOptions simulation;
  lfc::MulticastSimulationOptions groups;
  bool multicast = false;
  bool ordered = false;
  bool collective = false;
  lfc::CollectiveSimulationOptions collectives;
  bool deadlocks = false;
  std::uint32_t most_nodes = 0;
  std::uint64_t most_recoveries = 1'000'000'000;
  std::uint64_t seeds = 1;
};

// One of `names`.
template <class Value, std::size_t count>
bool parse_name(const char* option, const char* text, const std::array<const char*, count>& names,
                Value& out) {
  const auto found = lfc::find_choice<Value>(names, text);
  if (found)
    out = *found;
  else
    std::fprintf(stderr, "lfc_sim: %s needs %s\n", option, lfc::list_choices(names).c_str());
  return found.has_value();
}

// False, after a message: an argument is invalid.
bool parse(int argc, char** argv, CommandLine& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    lfc::SimulationOptions& options = out.simulation;
    if (name == "--queued") {
      options.queued = true;
      continue;
    }
    if (name == "--rma" || name == "--native") {
      options.rma = true;
      options.native = options.native || name == "--native";
      continue;
    }
    if (name == "--ordered" || name == "--collective") {
      (name == "--ordered" ? out.ordered : out.collective) = true;
      continue;
    }
    if (name == "--multicast" || name == "--whole" || name == "--deadlocks" || name == "--waits") {
      out.multicast = true;
      out.groups.waits = out.groups.waits || name == "--waits";
      out.groups.whole = out.groups.whole || name == "--whole";
      out.deadlocks = out.deadlocks || name == "--deadlocks";
      continue;
    }
    if (name == "--shape" && i + 1 < argc) {
      if (!parse_name("--shape", argv[++i], lfc::kTreeNames, out.groups.shape)) return false;
      continue;
    }
    if (name == "--recovery" && i + 1 < argc) {
      if (!parse_name("--recovery", argv[++i], lfc::kSuspicionNames, out.groups.recovery))
        return false;
      continue;
    }
    std::uint64_t low = 1;
    std::uint64_t high = 1'000'000'000;
    if (name == "--recoveries" || name == "--deaths") low = 0;
    if (name == "--nodes" || name == "--most-nodes") {
      low = 2;
      high = 1024;
    } else if (name != "--seed" && name != "--seeds" && name != "--window" &&
               name != "--max-window" && name != "--messages" && name != "--groups" &&
               name != "--multicasts" && name != "--calls" && name != "--deaths" &&
               name != "--delay" && name != "--recoveries") {
      std::fprintf(stderr, "lfc_sim: unknown option %s\n%s", argv[i], kHelp);
      return false;
    }
    std::uint64_t value = 0;
    if (i + 1 == argc || !parse_number(argv[i + 1], low, high, value)) {
      std::fprintf(stderr, "lfc_sim: %s needs a number from %" PRIu64 " to %" PRIu64 "\n", argv[i],
                   low, high);
      return false;
    }
    ++i;
    const auto number = static_cast<std::uint32_t>(value);
    if (name == "--seed") options.seed = value;
    if (name == "--seeds") out.seeds = value;
    if (name == "--nodes") options.nodes = number;
    if (name == "--window") options.window = number;
    if (name == "--max-window") options.max_window = number;
    if (name == "--messages") options.messages = number;
    if (name == "--most-nodes") out.most_nodes = number;
    if (name == "--groups") out.groups.groups = number;
    if (name == "--groups") out.collectives.communicators = number;
    if (name == "--calls") out.collectives.calls = number;
    if (name == "--deaths") out.collectives.deaths = number;
    if (name == "--multicasts") out.groups.multicasts = number;
    if (name == "--delay") out.groups.delay = value;
    if (name == "--recoveries") out.most_recoveries = value;
  }
  out.groups.nodes = out.simulation.nodes;
  out.groups.window = out.simulation.window;
  out.collectives.ranks = out.simulation.nodes;
  out.collectives.window = out.simulation.window;
  out.collectives.shape = out.groups.shape;
  out.collectives.recovery = out.groups.recovery;
  return true;
}

int run_multicast(const CommandLine& command) {
  const auto start = std::chrono::steady_clock::now();
  lfc::MulticastSimulationOptions options = command.groups;
  options.seed = command.simulation.seed;
  lfc::MulticastCounts sum;
  std::uint64_t failed = 0;
  const std::string shape = lfc::kTreeNames[static_cast<std::size_t>(options.shape)];
  const char* recovery = lfc::kSuspicionNames[static_cast<std::size_t>(options.recovery)];
  for (std::uint64_t i = 0; i < command.seeds; ++i, ++options.seed) {
    if (command.most_nodes > command.groups.nodes)
      options.nodes =
          command.groups.nodes +
          static_cast<std::uint32_t>(
              lfc::Random(options.seed).below(command.most_nodes - command.groups.nodes + 1));
    lfc::MulticastSimulation simulation(options);
    const std::string fault = simulation.run();
    sum.add(simulation.counts());
    if (fault.empty() || (command.deadlocks && simulation.deadlocked())) continue;
    ++failed;
    std::printf("seed %" PRIu64 " FAILED: %s\n%sreplay: lfc_sim --multicast --seed %" PRIu64
                " --nodes %u --window %u --groups %u --multicasts %u --shape %s --recovery %s "
                "--delay %" PRIu64 "%s%s\n",
                options.seed, fault.c_str(), failed == 1 ? simulation.describe().c_str() : "",
                options.seed, options.nodes, options.window, options.groups, options.multicasts,
                shape.c_str(), recovery, options.delay, options.whole ? " --whole" : "",
                options.waits ? " --waits" : "");
    std::fflush(stdout);
  }
  if (command.deadlocks && sum.deadlocks == 0) {
    ++failed;
    std::printf("FAILED: no seed deadlocked\n");
  }
  if (sum.recoveries * 1000 > command.most_recoveries * sum.packets) {
    ++failed;
    std::printf("FAILED: more than %" PRIu64 " recoveries for 1000 multicasts\n",
                command.most_recoveries);
  }
  const auto ratio = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  std::printf("recovery=%s: links used %.2f, recoveries %" PRIu64
              ", per multicast %.4f, packets by escape buffers %" PRIu64
              ", size of subtrees %.1f\n",
              recovery, ratio(sum.links_used, sum.links), sum.recoveries,
              ratio(sum.recoveries, sum.packets), sum.recovery_packets,
              sum.recoveries == 0 ? 0.0 : ratio(sum.recovery_packets, sum.recoveries) + 1);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("lfc_sim: %" PRIu64 " seeds, %" PRIu64
              " failed, nodes=%u window=%u groups=%u shape=%s: multicasts=%" PRIu64
              " deliveries=%" PRIu64 " unicasts=%" PRIu64 " forwarded=%" PRIu64 " kept=%" PRIu64
              " blocked=%" PRIu64 " waits=%" PRIu64 " stored=%" PRIu64 " deadlocks=%" PRIu64
              " ticks=%" PRIu64 " seconds=%.1f\n",
              command.seeds, failed, options.nodes, options.window, options.groups, shape.c_str(),
              sum.multicasts, sum.deliveries, sum.unicasts, sum.forwarded, sum.kept, sum.blocked,
              sum.waits, sum.stored, sum.deadlocks, sum.ticks, seconds.count());
  return failed == 0 ? 0 : 1;
}

int run_ordered(const CommandLine& command) {
  const auto start = std::chrono::steady_clock::now();
  const lfc::SimulationOptions& from = command.simulation;
  lfc::OrderedSimulationOptions options{from.seed, from.nodes, from.window, from.messages};
  lfc::OrderedCounts sum;
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < command.seeds; ++i, ++options.seed) {
    lfc::OrderedSimulation simulation(options);
    const std::string fault = simulation.run();
    sum.add(simulation.counts());
    if (fault.empty()) continue;
    ++failed;
    std::printf("seed %" PRIu64 " FAILED: %s\n%sreplay: lfc_sim --ordered --seed %" PRIu64
                " --nodes %u --window %u --messages %u\n",
                options.seed, fault.c_str(), failed == 1 ? simulation.describe().c_str() : "",
                options.seed, options.nodes, options.window, options.messages);
    std::fflush(stdout);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("lfc_sim: %" PRIu64 " seeds, %" PRIu64
              " failed, nodes=%u window=%u: ordered messages=%" PRIu64 " deliveries=%" PRIu64
              " out of turn=%" PRIu64 " ticks=%" PRIu64 " seconds=%.1f\n",
              command.seeds, failed, options.nodes, options.window, sum.messages, sum.deliveries,
              sum.early, sum.ticks, seconds.count());
  return failed == 0 ? 0 : 1;
}

int run_collective(const CommandLine& command) {
  const auto start = std::chrono::steady_clock::now();
  lfc::CollectiveSimulationOptions options = command.collectives;
  options.seed = command.simulation.seed;
  lfc::CollectiveCounts sum;
  std::uint64_t failed = 0;
  const char* shape = lfc::kTreeNames[static_cast<std::size_t>(options.shape)];
  const char* recovery = lfc::kSuspicionNames[static_cast<std::size_t>(options.recovery)];
  for (std::uint64_t i = 0; i < command.seeds; ++i, ++options.seed) {
    lfc::CollectiveSimulation simulation(options);
    const std::string fault = simulation.run();
    sum.add(simulation.counts());
    if (fault.empty()) continue;
    ++failed;
    std::printf("seed %" PRIu64 " FAILED: %s\n%sreplay: lfc_sim --collective --seed %" PRIu64
                " --nodes %u --window %u --groups %u --calls %u%s --shape %s --recovery %s\n",
                options.seed, fault.c_str(), failed == 1 ? simulation.describe().c_str() : "",
                options.seed, options.ranks, options.window, options.communicators, options.calls,
                options.deaths == 0 ? "" : (" --deaths " + std::to_string(options.deaths)).c_str(),
                shape, recovery);
    std::fflush(stdout);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("lfc_sim: %" PRIu64 " seeds, %" PRIu64
              " failed, ranks=%u window=%u communicators=%u shape=%s: collectives=%" PRIu64
              " endings=%" PRIu64 " bytes=%" PRIu64 " deaths=%" PRIu64 " errors=%" PRIu64
              " recoveries=%" PRIu64 " stored=%" PRIu64 " ticks=%" PRIu64 " seconds=%.1f\n",
              command.seeds, failed, options.ranks, options.window, options.communicators, shape,
              sum.calls, sum.endings, sum.bytes, sum.deaths, sum.errors, sum.recoveries,
              sum.most_stored, sum.ticks, seconds.count());
  return failed == 0 ? 0 : 1;
}

std::string replay(const lfc::SimulationOptions& options) {
  std::string line = "lfc_sim --seed " + std::to_string(options.seed) + " --nodes " +
                     std::to_string(options.nodes) + " --window " + std::to_string(options.window) +
                     " --messages " + std::to_string(options.messages);
  if (options.max_window != 0) line += " --max-window " + std::to_string(options.max_window);
  if (options.queued) line += " --queued";
  if (options.rma) line += options.native ? " --native" : " --rma";
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
  }
  CommandLine command;
  if (!parse(argc, argv, command)) return 2;
  if (command.multicast) return run_multicast(command);
  if (command.collective) return run_collective(command);
  if (command.ordered) return run_ordered(command);

  const auto start = std::chrono::steady_clock::now();
  lfc::SimulationCounts sum;
  std::uint64_t failed = 0;
  lfc::SimulationOptions options = command.simulation;
  for (std::uint64_t i = 0; i < command.seeds; ++i, ++options.seed) {
    lfc::Simulation simulation(options);
    const std::string fault = simulation.run();
    sum.add(simulation.counts());
    if (fault.empty()) continue;
    ++failed;
    std::printf("seed %" PRIu64 " FAILED: %s\n%sreplay: %s\n", options.seed, fault.c_str(),
                failed == 1 ? simulation.describe().c_str() : "", replay(options).c_str());
    std::fflush(stdout);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("lfc_sim: %" PRIu64 " seeds, %" PRIu64
              " failed, nodes=%u window=%u: messages=%" PRIu64 " transfers=%" PRIu64
              " atomics=%" PRIu64 " frames=%" PRIu64 " credit_stalls=%" PRIu64
              " link_stalls=%" PRIu64 " refused=%" PRIu64 " explicit_credits=%" PRIu64
              " law_checks=%" PRIu64 " ticks=%" PRIu64 " seconds=%.1f\n",
              command.seeds, failed, options.nodes, options.window, sum.messages, sum.transfers,
              sum.atomics, sum.frames, sum.credit_stalls, sum.link_stalls, sum.refused,
              sum.explicit_credits, sum.law_checks, sum.ticks, seconds.count());
  return failed == 0 ? 0 : 1;
}
