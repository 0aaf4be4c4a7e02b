// Agreements of local peers: all ranks get the combined word, or none does, whichever rank does not arrive.
#include "services/collective/agreement.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "services/collective/processes.hpp"
#include "unit/services/fake_port.hpp"

using namespace lfc;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kRanks = 4;
constexpr std::uint32_t kAll = 0xfffffff0;  // of the words of all ranks

using Combined = std::optional<std::uint32_t>;

std::uint32_t word_of(std::uint32_t rank) { return ~(std::uint32_t{1} << rank); }

// Runs these ranks, each in a thread, and returns their results.
template <class Body>
std::vector<Combined> run(const std::vector<std::uint32_t>& ranks, Body body) {
  std::vector<Combined> results(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] { results[i] = body(ranks[i]); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

bool are_all(const std::vector<Combined>& results, Combined wanted) {
  return std::count(results.begin(), results.end(), wanted) ==
         static_cast<std::ptrdiff_t>(results.size());
}

std::atomic<unsigned> passes;

int progress() {
  ++passes;
  return 0;
}

// The processes of a job on one node, all in this one.
struct Job {
  Job() {
    passes = 0;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      names.push_back({1, rank});
      ports[rank].own_identity.name = names.back();
      processes[rank] = std::make_unique<Processes>(5);
      processes[rank]->use(ports[rank]);
      facts[rank] = processes[rank]->facts();
    }
  }
  // Introduces all processes to this one, as their facts are now.
  void introduce_to(std::uint32_t rank) {
    for (const ProcessName name : names) {
      const std::vector<std::byte> address = AddressWriter({name, random_key(), 4}).finish();
      processes[rank]->introduce(name, std::as_bytes(std::span(&facts[name.rank], 1)), address);
    }
  }
  void introduce() {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) introduce_to(rank);
  }
  Combined combine(std::uint32_t rank) {
    return processes[rank]->combine(names, word_of(rank), progress);
  }
  std::vector<Combined> run_ranks(const std::vector<std::uint32_t>& ranks) {
    return run(ranks, [this](std::uint32_t rank) { return combine(rank); });
  }

  std::vector<ProcessName> names;
  std::array<FakePort, kRanks> ports;
  std::array<std::unique_ptr<Processes>, kRanks> processes;
  std::array<Facts, kRanks> facts;
};

}  // namespace

TEST_CASE("an agreement gives all ranks the bits that all words have", "[agreement]") {
  Agreement agreement;
  CHECK(are_all(run({0, 1, 2, 3},
                    [&](std::uint32_t rank) {
                      return agreement.combine(word_of(rank), kRanks, [] { return false; });
                    }),
                kAll));
}

TEST_CASE("an agreement that a rank has given up ends without result at all ranks", "[agreement]") {
  Agreement agreement;
  const auto combine = [&](std::uint32_t rank) {
    return agreement.combine(
        word_of(rank), kRanks, [rank] { return rank == 1; }, 1ms);
  };
  CHECK(are_all(run({0, 1, 2}, combine), std::nullopt));
  CHECK(agreement.is_given_up());
  CHECK_FALSE(combine(3).has_value());  // it arrives too late
}

TEST_CASE("a rank gives up when it has slept often without an arrival", "[agreement]") {
  Agreement agreement;
  unsigned looks = 0;
  const Combined result = agreement.combine(
      0, 2, [&] { return ++looks, false; }, 1us);
  CHECK_FALSE(result.has_value());
  CHECK(looks == Agreement::kMostSleeps - 1);
}

TEST_CASE("ranks decide alike, whenever one gives up", "[agreement]") {
  for (unsigned round = 0; round < 500; ++round) {
    Agreement agreement;
    const auto results = run({0, 1, 2, 3}, [&](std::uint32_t rank) {
      return agreement.combine(
          word_of(rank), kRanks, [] { return true; }, std::chrono::microseconds(1 + round % 200));
    });
    INFO("round " << round);
    CHECK(are_all(results, results[0]));
    CHECK((results[0] == std::nullopt || results[0] == kAll));
  }
}

TEST_CASE("local peers agree in the arena of the first one", "[agreement]") {
  Job job;
  job.introduce();
  CHECK(are_all(job.run_ranks({3, 2, 1, 0}), kAll));
}

TEST_CASE("a rank that cannot open the first one's arena ends the agreement", "[agreement]") {
  Job job;
  job.introduce_to(0);
  job.introduce_to(1);
  job.introduce_to(3);
  ++job.facts[0].arena.memory.cookie[1];
  job.introduce_to(2);
  CHECK_FALSE(job.combine(2).has_value());
  CHECK(are_all(job.run_ranks({0, 1, 3}), std::nullopt));
  // The first rank found the mark. Otherwise each rank would have slept as often as it may.
  CHECK(passes < Agreement::kMostSleeps);
}

TEST_CASE("a rank that has ended ends the agreement", "[agreement]") {
  Job job;
  job.introduce();
  std::vector<std::uint32_t> left{0, 1, 2, 3};
  const std::uint32_t ended = GENERATE(0u, 3u);
  // A rank maps the arena of the first one before the agreement.
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    CHECK(job.processes[rank]->reaches_boards(job.names[0]));
  job.processes[ended] = nullptr;
  std::erase(left, ended);
  CHECK(are_all(job.run_ranks(left), std::nullopt));
  CHECK(passes < Agreement::kMostSleeps);
}

TEST_CASE("ranks whose arenas are handed over do not wait for an agreement", "[agreement]") {
  Job job;
  job.facts[2].arena.space.hidden = 1;
  job.introduce();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) CHECK_FALSE(job.combine(rank).has_value());
  CHECK(passes == 0);
}
