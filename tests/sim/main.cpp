// lfc_sim: random traffic among many simulated NIs, one seed per run. See simulation.hpp.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/simulation.hpp"

namespace {

constexpr const char* kHelp =
    "lfc_sim [OPTIONS]: random traffic among simulated network interfaces.\n"
    "  --seed N        first seed [1]\n"
    "  --seeds COUNT   how many seeds to run [1]\n"
    "  --nodes N       network interfaces, 2..1024 [64]\n"
    "  --window W      credits per ordered pair at first [1]\n"
    "  --max-window W  credits per ordered pair at most [as --window]\n"
    "  --messages N    actions of each host [128]\n"
    "  --queued        hosts stall while their interfaces go on\n"
    "  --rma           also puts, gets and atomics, carried in frames\n"
    "  --native        also --rma, moved by the network itself\n"
    "Checks order, contents, credits, memory and liveness; a seed that fails is printed with\n"
    "the command line that replays it. Exit status: 0 when all seeds passed.\n";

bool parse_number(const char* text, std::uint64_t low, std::uint64_t high, std::uint64_t& out) {
  char* end = nullptr;
  out = std::strtoull(text, &end, 10);
  return end != text && *end == '\0' && out >= low && out <= high;
}

struct CommandLine {
  lfc::SimulationOptions simulation;
  std::uint64_t seeds = 1;
};

// False, after a message, when an argument is wrong.
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
    std::uint64_t low = 1;
    std::uint64_t high = 1'000'000'000;
    if (name == "--nodes") {
      low = 2;
      high = 1024;
    } else if (name != "--seed" && name != "--seeds" && name != "--window" &&
               name != "--max-window" && name != "--messages") {
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
  }
  return true;
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
