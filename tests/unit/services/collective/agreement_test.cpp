// Agreements of local peers: all ranks get the combined word, or none does, whichever rank does not arrive.
#include "services/collective/agreement.hpp"

#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "services/collective/processes.hpp"
#include "unit/services/fake_port.hpp"

using namespace lfc;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kRanks = 4;
constexpr std::uint32_t kAll = 0xfffffff0;   // of the words of all ranks
constexpr std::uint32_t kBoth = 0xfffffffc;  // of the words of the ranks 0 and 1
// A sleep that only an arrival or a mark ends. The time limit of the test ends it otherwise.
constexpr std::chrono::hours kForever{24};

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

// Sends SIGALRM to this process each millisecond, as long as it exists.
class Alarms {
 public:
  explicit Alarms(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    sigaction(SIGALRM, &action, &before_);
    repeat_after(1);
  }
  ~Alarms() {
    repeat_after(0);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static void repeat_after(long ms) noexcept {
    const itimerval timer{{0, ms * 1000}, {0, ms * 1000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_ = {};
};

// Rank 1 of an agreement that a handler of signals completes. It gives up if it arrives first.
Agreement* interrupted;
unsigned signals;
Combined of_handler;

void arrive_at_tenth_signal(int) {
  if (++signals == 10)
    of_handler = interrupted->combine(
        word_of(1), 2, [] { return true; }, 1us);
}

unsigned passes;                  // calls of progress()
std::function<void()> meanwhile;  // called by progress(); empty: nothing

int progress() {
  ++passes;
  if (meanwhile) meanwhile();
  return 0;
}

// The processes of a job on one node, all in this one.
struct Job {
  Job() {
    passes = 0;
    meanwhile = nullptr;
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
  // Each rank arrives while the one before waits: in its first call of progress().
  void run_next() {
    if (left.empty()) return;
    const std::uint32_t rank = left.back();
    left.pop_back();
    const Combined result = combine(rank);
    results.push_back(result);
  }

  std::vector<std::uint32_t> left{3, 2, 1, 0};  // ranks that have not arrived, the next one last
  std::vector<Combined> results;
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
                      return agreement.combine(
                          word_of(rank), kRanks, [] { return false; }, kForever);
                    }),
                kAll));
}

TEST_CASE("a rank that gives up wakes the ranks that wait", "[agreement]") {
  Agreement agreement;
  unsigned looks = 0;  // of rank 1
  const auto combine = [&](std::uint32_t rank) {
    const std::chrono::nanoseconds sleep = rank == 1 ? std::chrono::nanoseconds(1ms) : kForever;
    return agreement.combine(
        word_of(rank), kRanks, [&] { return ++looks, true; }, sleep);
  };
  CHECK(are_all(run({0, 1, 2}, combine), std::nullopt));
  CHECK(looks > 0);
  CHECK(looks < kRanks);  // each other rank may have arrived during a look
}

TEST_CASE("a rank that arrives after another one gave up has no result", "[agreement]") {
  Agreement agreement;
  unsigned looks = 0;
  const auto combine = [&](std::uint32_t rank) {
    return agreement.combine(
        word_of(rank), 2, [&] { return ++looks, true; }, 1ms);
  };
  CHECK_FALSE(combine(1).has_value());
  CHECK(agreement.is_given_up());
  CHECK_FALSE(combine(0).has_value());
  CHECK(looks == 1);
}

TEST_CASE("a rank that gives up has the result if all arrive meanwhile", "[agreement]") {
  Agreement agreement;
  Combined late;
  const auto let_arrive = [&] {
    if (!late)
      late = agreement.combine(
          word_of(1), 2, [] { return true; }, kForever);
    return true;
  };
  const Combined result = agreement.combine(word_of(0), 2, let_arrive, 1ms);
  CHECK(result == kBoth);
  CHECK(late == kBoth);
}

TEST_CASE("a rank gives up when it has slept often without an arrival", "[agreement]") {
  Agreement agreement;
  unsigned looks = 0;
  const Combined result = agreement.combine(
      0, 2, [&] { return ++looks, false; }, 1us);
  CHECK_FALSE(result.has_value());
  CHECK(looks == Agreement::kMostSleeps - 1);
}

TEST_CASE("a signal ends no sleep of a rank", "[agreement]") {
  Combined result;
  of_handler = std::nullopt;
  while (!of_handler) {  // again if rank 1 has arrived first
    Agreement agreement;
    interrupted = &agreement;
    signals = 0;
    unsigned looks = 0;
    const Alarms alarms(arrive_at_tenth_signal);
    result = agreement.combine(
        word_of(0), 2, [&] { return ++looks, true; }, kForever);
    REQUIRE(looks == 0);
  }
  CHECK(result == kBoth);
  CHECK(of_handler == kBoth);
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
  if (GENERATE(false, true)) std::reverse(job.left.begin(), job.left.end());
  meanwhile = [&] { job.run_next(); };
  job.run_next();
  CHECK(job.results.size() == kRanks);
  CHECK(are_all(job.results, kAll));
}

TEST_CASE("a rank whose progress() throws decides like the others", "[agreement]") {
  Job job;
  job.introduce();
  meanwhile = [&] {
    job.run_next();
    throw std::runtime_error("progress");
  };
  job.run_next();
  CHECK(job.results.size() == kRanks);
  CHECK(are_all(job.results, kAll));
}

// The ranks call combine() one after another. The first look of the first one ends the agreement, and the others find
// the mark.
TEST_CASE("a rank that cannot open the first one's arena ends the agreement", "[agreement]") {
  Job job;
  job.introduce_to(0);
  job.introduce_to(1);
  job.introduce_to(3);
  ++job.facts[0].arena.memory.cookie[1];
  job.introduce_to(2);
  for (const std::uint32_t rank : {2u, 0u, 1u, 3u}) CHECK_FALSE(job.combine(rank).has_value());
  CHECK(passes == 1);
}

TEST_CASE("a rank that has ended ends the agreement", "[agreement]") {
  Job job;
  job.introduce();
  const std::uint32_t ended = GENERATE(0u, 3u);
  // A rank maps the arena of the first one before the agreement.
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    CHECK(job.processes[rank]->reaches_boards(job.names[0]));
  job.processes[ended] = nullptr;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    if (rank != ended) CHECK_FALSE(job.combine(rank).has_value());
  CHECK(passes == 1);  // as above
}

TEST_CASE("ranks whose arenas are handed over do not wait for an agreement", "[agreement]") {
  Job job;
  job.facts[2].arena.space.hidden = 1;
  job.introduce();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) CHECK_FALSE(job.combine(rank).has_value());
  CHECK(passes == 0);
}
