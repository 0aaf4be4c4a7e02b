// lfc_fuzz: hostile frames, headers, addresses and rings, for a given time. See fuzzer.hpp.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fuzz/fuzzer.hpp"

namespace {

constexpr const char* kHelp =
    "lfc_fuzz [--seconds N] [--seed N]: feeds hostile bytes to all that reads what a peer writes.\n"
    "  --seconds N   how long [60]\n"
    "  --seed N      where chance begins [1]\n"
    "Build it with the preset asan to see more. Exit status: 0 when nothing was wrong.\n";

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seconds = 60;
  std::uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    char* end = nullptr;
    const std::uint64_t value = i + 1 < argc ? std::strtoull(argv[i + 1], &end, 10) : 0;
    if ((name != "--seconds" && name != "--seed") || end == nullptr || *end != '\0' ||
        end == argv[i + 1]) {
      std::fprintf(stderr, "lfc_fuzz: %s is not an option with a number\n%s", argv[i], kHelp);
      return 2;
    }
    ++i;
    (name == "--seconds" ? seconds : seed) = value;
  }

  struct Target {
    const char* name;
    std::unique_ptr<lfc::Fuzzer> fuzzer;
    int rounds;  // in each turn
  };
  Target targets[] = {{"ni", lfc::make_ni_fuzzer(seed), 2000},
                      {"multicast", lfc::make_multicast_fuzzer(seed), 2000},
                      {"parse", lfc::make_parse_fuzzer(seed), 500},
                      {"ring", lfc::make_ring_fuzzer(seed), 500}};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  bool failed = false;
  do {
    for (const Target& target : targets) {
      for (int round = 0; round < target.rounds; ++round) target.fuzzer->round();
      if (target.fuzzer->fault().empty()) continue;
      std::printf("lfc_fuzz: %s FAILED with --seed %" PRIu64 ": %s\n", target.name, seed,
                  target.fuzzer->fault().c_str());
      failed = true;
    }
  } while (!failed && std::chrono::steady_clock::now() < deadline);

  for (const Target& target : targets) {
    const lfc::FuzzCounts& counts = target.fuzzer->counts();
    std::printf("lfc_fuzz: %s: executions=%" PRIu64 " accepted=%" PRIu64 " dropped=%" PRIu64
                " broken=%" PRIu64 "\n",
                target.name, counts.executions, counts.accepted, counts.dropped, counts.broken);
    failed = failed || counts.executions == 0;
  }
  return failed ? 1 : 0;
}
