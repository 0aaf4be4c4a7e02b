// A load balancer. Rank 0 dispatches requests to servers (all other ranks), which write their free
// places ("credits") into its memory. No rank waits for a report, only the newest report counts, and
// the dispatcher only loads a word. Five algorithms decide when to report and how many credits. wrr and
// rr are round robin with weights and without, lc and sed least connections and shortest expected
// delay. Requests arrive and are served at random times, the same for all algorithms. Servers wait instead of computing, so the number of cores does not matter. Beside the
// dropped requests stand those of a simulation of the same times without communication.
// Source: Schneidenbach 2009, chapter 6.
#include "slb_load.hpp"

#include <atomic>
#include <optional>

#ifdef APP_NEON
#include <mpix_neon.h>
#endif

namespace {

using slb::Algorithm;
using slb::Load;
using slb::Outcome;
using slb::Request;

const std::vector<std::string> kReportWays = {
    "put",
    "send",
#ifdef APP_NEON
    "neon",
#endif
};
const std::pair<std::string, Algorithm> kNamed[] = {
    {"wrr", Algorithm::kWeights},        {"plain", Algorithm::kPlain},
    {"lwm", Algorithm::kLowWaterMark},   {"soft", Algorithm::kSoft},
    {"dlsoft", Algorithm::kDynamicSoft}, {"dpr", Algorithm::kDpr},
    {"rr", Algorithm::kRoundRobin},      {"lc", Algorithm::kLeastConnections},
    {"sed", Algorithm::kShortestDelay},
};

std::vector<std::string> names_of_algorithms() {
  std::vector<std::string> names;
  for (const auto& [name, algorithm] : kNamed) names.push_back(name);
  return names;
}

Algorithm algorithm_of(const std::string& wanted) {
  for (const auto& [name, algorithm] : kNamed)
    if (name == wanted) return algorithm;
  app::fail("no algorithm '%s'", wanted.c_str());
}

// --- The load balancer with communication ---

enum Tag { kRequest = 1, kReport, kClock };

// A report in one word, which a store of 8 bytes cannot tear: run, number, soft + 1, hard.
constexpr int kMostPlaces = (1 << 14) - 2;
struct Word {
  std::uint64_t bits = 0;
  [[nodiscard]] std::uint64_t run() const { return bits >> 52; }
  [[nodiscard]] std::uint64_t number() const { return (bits >> 28) & 0xffffff; }
  [[nodiscard]] slb::Credits credits() const {
    return {static_cast<int>((bits >> 14) & 0x3fff) - 1, static_cast<int>(bits & 0x3fff)};
  }
};
Word word_of(std::uint64_t run, std::uint64_t number, slb::Credits credits) {
  return {(run << 52) | ((number & 0xffffff) << 28) |
          (static_cast<std::uint64_t>(credits.soft + 1) << 14) |
          static_cast<std::uint64_t>(credits.hard)};
}

// Collective. Returns by how many seconds this rank's MPI_Wtime is ahead of the dispatcher's, from the
// fastest of some round trips.
double ahead_of_dispatcher() {
  constexpr int kTrips = 10;
  double ahead = 0, fastest = 1e9;
  for (int server = 1; server < app::ranks; ++server)
    for (int i = 0; i < kTrips; ++i) {
      double theirs = 0;
      if (app::rank == 0) {
        MPI_Recv(nullptr, 0, MPI_BYTE, server, kClock, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        theirs = MPI_Wtime();
        MPI_Send(&theirs, 1, MPI_DOUBLE, server, kClock, MPI_COMM_WORLD);
      } else if (app::rank == server) {
        const double before = MPI_Wtime();
        MPI_Send(nullptr, 0, MPI_BYTE, 0, kClock, MPI_COMM_WORLD);
        MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, kClock, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double after = MPI_Wtime();
        if (after - before >= fastest) continue;
        fastest = after - before;
        ahead = (before + after) / 2 - theirs;
      }
    }
  return ahead;
}

// A clock with the same time on all ranks.
class Clock {
 public:
  // Collective. Sets the time to 0, at the dispatcher.
  Clock() {
    static const double ahead = ahead_of_dispatcher();
    start_ = MPI_Wtime();
    MPI_Bcast(&start_, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    start_ += ahead;
  }
  [[nodiscard]] double us() const { return (MPI_Wtime() - start_) * 1e6; }

 private:
  double start_ = 0;
};

// Polls MPI, and yields the core to other ranks if there is time until `deadline`.
void idle(const Clock& clock, double deadline) {
  int there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, kReport, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  const double left = deadline - clock.us();
  if (left > 150)
    app::sleep_us(std::min(left - 100, 1000.0));
  else
    sched_yield();
}

// The reports of the servers: messages, or one word per server in the dispatcher's memory. MPI_Put
// writes that word, or NEON's put into a buffer announced for good (NEON's announce). Reports notify
// no rank, and no rank waits for them.
class Reports {
 public:
  // Collective.
  Reports(const std::string& way, const std::string& windows)
      : way_(way), seen_(static_cast<std::size_t>(app::ranks), 0) {
    if (way_ == "send") return;
    window_.emplace(8 * static_cast<MPI_Aint>(app::ranks), windows);
    if (!window_->problem().empty()) return;
    if (way_ == "put") window_->lock_all();
#ifdef APP_NEON
    if (way_ != "neon") return;
    MPIX_Neon_attach(window_->get());
    if (app::rank != 0) return;
    std::vector<int> servers;
    for (int server = 1; server < app::ranks; ++server) servers.push_back(server);
    MPIX_Neon_announce_init(0, 8 * static_cast<MPI_Aint>(app::ranks), app::ranks - 1,
                            servers.data(), kReport, MPIX_NEON_PERSISTENT, window_->get(),
                            &announced_);
    MPI_Start(&announced_);
    MPI_Wait(&announced_, MPI_STATUS_IGNORE);
#endif
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  Reports(Reports&&) = delete;
  Reports& operator=(Reports&&) = delete;
  ~Reports() {
    if (announced_ != MPI_REQUEST_NULL) MPI_Request_free(&announced_);
  }

  [[nodiscard]] std::string problem() const { return window_ ? window_->problem() : ""; }

  // Begins a run. Reports of the run before that still arrive are ignored.
  void begin() {
    run_ = (run_ + 1) & 0xfff;
    std::fill(seen_.begin(), seen_.end(), 0);
  }

  void tell(std::uint64_t number, slb::Credits credits) {
    word_ = word_of(run_, number, credits);
    if (way_ == "send") {
      MPI_Send(&word_.bits, 1, MPI_UINT64_T, 0, kReport, MPI_COMM_WORLD);
      return;
    }
    const MPI_Aint at = 8 * static_cast<MPI_Aint>(app::rank);
#ifdef APP_NEON
    if (way_ == "neon") {
      MPIX_Neon_put(&word_.bits, 1, MPI_UINT64_T, 0, kReport, at, 1, MPI_UINT64_T,
                    MPIX_NEON_NON_FINAL, window_->get(), nullptr);
      MPIX_Neon_complete(0, window_->get());
      return;
    }
#endif
    MPI_Put(&word_.bits, 1, MPI_UINT64_T, 0, at, 1, MPI_UINT64_T, window_->get());
    MPI_Win_flush_local(0, window_->get());
  }

  // Returns the server's newest report, if it has not been returned before.
  std::optional<slb::Credits> newest(int server) {
    Word word;
    if (way_ == "send") {
      for (int there = 1; there != 0;) {
        MPI_Iprobe(server, kReport, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there != 0)
          MPI_Recv(&word.bits, 1, MPI_UINT64_T, server, kReport, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    } else {
      auto* words = reinterpret_cast<std::uint64_t*>(window_->memory());
      word.bits = std::atomic_ref<std::uint64_t>(words[server]).load(std::memory_order_relaxed);
    }
    std::uint64_t& seen = seen_[static_cast<std::size_t>(server)];
    if (word.run() != run_ || word.number() == seen) return std::nullopt;
    // MPI does not guarantee the order of two puts to one word, and older credits are of no use.
    if (word.number() < seen) {
      ++late_;
      return std::nullopt;
    }
    seen = word.number();
    return word.credits();
  }

  [[nodiscard]] double late() const { return late_; }

 private:
  const std::string way_;
  std::optional<app::Window> window_;
  MPI_Request announced_ = MPI_REQUEST_NULL;
  std::vector<std::uint64_t> seen_;  // numbers
  std::uint64_t run_ = 0;
  double late_ = 0;
  Word word_;
};

// Counts of one rank; the program adds up those of all ranks.
struct Counts {
  double served = 0, dropped = 0, dropped_counting = 0, ids = 0;
  double answers = 0, answered = 0, reports = 0, looking_us = 0;
  double first_drop = 1e18;
};

void drop(Counts& counts, const Load& load, std::int64_t id) {
  ++counts.dropped;
  counts.ids += static_cast<double>(id);
  if (load.counts(id)) ++counts.dropped_counting;
  counts.first_drop = std::min(counts.first_drop, static_cast<double>(id));
}

Counts dispatch(const Load& load, Algorithm algorithm, slb::Parameters parameters, Reports& reports,
                const Clock& clock) {
  Counts counts;
  slb::Dispatcher dispatcher(algorithm, load.weights, parameters);
  int look = 0;
  const int servers = app::ranks - 1;
  for (const Request& request : load.requests) {
    while (clock.us() < request.arrival) idle(clock, request.arrival);
    // The number of reads does not depend on the number of servers.
    const double before = clock.us();
    for (int i = 0; i < std::min(2, servers); ++i) {
      look = (look + 1) % servers;
      if (const auto credits = reports.newest(look + 1))
        dispatcher.credit(static_cast<std::size_t>(look), *credits);
    }
    counts.looking_us += clock.us() - before;
    const int chosen = dispatcher.pick();
    if (chosen < 0)
      drop(counts, load, request.id);
    else
      MPI_Send(&request, sizeof request, MPI_BYTE, chosen + 1, kRequest, MPI_COMM_WORLD);
  }
  const Request last{-1, 0, 0};
  for (int server = 1; server <= servers; ++server)
    MPI_Send(&last, sizeof last, MPI_BYTE, server, kRequest, MPI_COMM_WORLD);
  return counts;
}

Counts serve(const Load& load, Algorithm algorithm, slb::Parameters parameters, Reports& reports,
             const Clock& clock) {
  Counts counts;
  slb::Reporter reporter(algorithm, parameters);
  const double speed = load.speeds[static_cast<std::size_t>(app::rank - 1)];
  std::deque<Request> queue;
  double done = 0;  // end of the first request of the queue, or of the last one served
  bool open = true;
  while (open || !queue.empty()) {
    int there = 0;
    if (open) MPI_Iprobe(0, kRequest, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    const double now = clock.us();
    if (there != 0) {
      Request request{};
      MPI_Recv(&request, sizeof request, MPI_BYTE, 0, kRequest, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (request.id < 0) {
        open = false;
      } else if (static_cast<int>(queue.size()) >= parameters.places) {
        drop(counts, load, request.id);
      } else {
        queue.push_back(request);
        reporter.accepted();
        if (queue.size() == 1) done = std::max(done, now) + request.service / speed;
      }
      continue;
    }
    if (queue.empty() || now < done) {
      idle(clock, queue.empty() ? now : done);
      continue;
    }
    const Request request = queue.front();
    queue.pop_front();
    ++counts.served;
    counts.ids += static_cast<double>(request.id);
    if (load.counts(request.id)) {
      counts.answers += now - request.arrival;
      ++counts.answered;
    }
    if (!queue.empty()) done += queue.front().service / speed;
    if (const auto credits = reporter.served(static_cast<int>(queue.size())))
      reports.tell(static_cast<std::uint64_t>(++counts.reports), *credits);
  }
  return counts;
}

Outcome measure(const Load& load, Algorithm algorithm, slb::Parameters parameters,
                Reports& reports) {
  reports.begin();
  MPI_Barrier(MPI_COMM_WORLD);
  const Clock clock;
  const Counts mine = app::rank == 0 ? dispatch(load, algorithm, parameters, reports, clock)
                                     : serve(load, algorithm, parameters, reports, clock);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int server = 1; app::rank == 0 && server < app::ranks; ++server)
    while (reports.newest(server)) continue;  // none of this run is left for the next

  const double own[] = {mine.served,  mine.dropped,  mine.dropped_counting, mine.ids,
                        mine.answers, mine.answered, mine.reports,          mine.looking_us};
  double all[8] = {};
  MPI_Allreduce(own, all, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double first_drop = mine.first_drop;
  MPI_Allreduce(MPI_IN_PLACE, &first_drop, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  const auto n = static_cast<double>(load.requests.size());
  app::require(all[0] + all[1] == n, "%.0f served and %.0f dropped of %.0f requests", all[0],
               all[1], n);
  app::require(all[3] == n * (n - 1) / 2, "some requests were served twice, others never");
  return {all[2], all[5] > 0 ? all[4] / all[5] : 0, std::min(first_drop, n), all[6], all[7] / n};
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "slb", "A load balancer whose servers write credits to it.");
  const std::vector<std::string> known = names_of_algorithms();
  const auto algorithms =
      options.choices("--algorithms", known, known, "how servers are chosen and when they report");
  const auto ways = options.choices("--reports", kReportWays, {"put"}, "how reports travel");
  slb::Plan plan;
  plan.requests = options.number("--requests", 30000, 600, "requests of one run");
  plan.gap = options.real("--gap", 100, 50, "us between two requests, on average");
  plan.share = options.real("--load", 100, 100, "percent of what servers can do") / 100;
  plan.weight_error = options.real("--weight-error", 0, 0,
                                   "percent by which the weights of every second server are too "
                                   "high; wrr and sed use weights") /
                      100;
  slb::Parameters parameters;
  parameters.places = options.number("--places", 100, 20, "of a server's queue");
  parameters.interval = options.number("--interval", 10, 10, "served requests between two looks");
  parameters.low_mark =
      options.number("--low-mark", 10, 10, "lwm reports when the dispatcher has fewer credits");
  parameters.least_credit =
      options.number("--least-credit", 20, 20, "lwm reports this many free places at least");
  const bool unequal = options.flag("--unequal", "every second server is twice as fast");
  const bool graded = options.flag("--graded", "servers have the speeds 1, 1.5, 2, ...");
  const int simulated =
      options.number("--simulate", 0, 0, "only simulate, so many seeds; 0: measure");
  const int servers = options.number("--servers", 2, 2, "servers of the simulation");
  const std::string windows = options.choice("--window", app::kWindows, app::kWindowsHelp);
  app::Run run(options);
  const int requests = plan.requests;
  app::want(requests >= 8 && plan.gap > 0 && parameters.interval > 0, "a size is wrong");
  app::want(parameters.places > 0 && parameters.places <= kMostPlaces, "places: 1 to %d",
            kMostPlaces);
  app::want(app::ranks >= 2 || simulated > 0, "a dispatcher and a server are wanted");
  app::want(servers > 0 && !(unequal && graded), "no server, or two kinds of speeds");
  const int count = simulated > 0 ? servers : app::ranks - 1;
  for (int i = 0; i < count; ++i)
    plan.speeds.push_back(unequal && i % 2 == 1 ? 2 : graded ? 1 + i / 2.0 : 1);

  double of_wrr = 0;  // mean drops of wrr, the first
  const auto report = [&](const std::string& algorithm, const std::string& way,
                          const std::vector<Outcome>& outcomes, double expected) {
    app::Series drops{.bench = "slb_" + algorithm + way + "_drops",
                      .size = requests,
                      .unit = "requests",
                      .counts = {},
                      .against = {"slb_wrr" + way + "_drops"}};
    app::Series answers{.bench = "slb_" + algorithm + way + "_answer",
                        .size = requests,
                        .counts = {},
                        .against = {"slb_wrr" + way + "_answer"}};
    double mean = 0, burst = 0, reports = 0, look = 0, answer = 0, queue = 0, queue_ratio = 0;
    for (const Outcome& outcome : outcomes) {
      const auto runs = static_cast<double>(outcomes.size());
      drops.values.push_back(outcome.drops);
      answers.values.push_back(outcome.answer);
      mean += outcome.drops / runs;
      burst += outcome.burst / runs;
      reports += outcome.reports / runs;
      look += outcome.look / runs;
      answer += outcome.answer / runs;
      queue += outcome.queue / runs;
      queue_ratio += outcome.queue_ratio / runs;
    }
    if (algorithm == "wrr") of_wrr = mean;
    drops.counts = {{"mean", mean}, {"burst", burst}, {"reports", reports}};
    answers.counts = {{"mean", answer}};
    if (of_wrr > 0) drops.counts.emplace_back("mean_of_wrr", mean / of_wrr);
    if (expected >= 0) {
      drops.counts.emplace_back("simulated", expected);
      drops.counts.emplace_back("look_us", look);
    } else {
      drops.counts.emplace_back("queue", queue);
      drops.counts.emplace_back("queue_ratio", queue_ratio);
    }
    run.report(drops);
    run.report(answers);
  };
  const auto load_of = [&](int repeat) {
    return slb::make_load(plan, app::seed + static_cast<std::uint64_t>(repeat));
  };

  if (simulated > 0) {
    for (const auto& algorithm : algorithms) {
      std::vector<Outcome> outcomes;
      for (int repeat = 0; repeat < simulated; ++repeat)
        outcomes.push_back(slb::simulate(load_of(repeat), algorithm_of(algorithm), parameters));
      report(algorithm, "", outcomes, -1);
    }
    return run.finish();
  }

  for (const auto& way : ways) {
    const std::string suffix = way == "put" ? "" : "_" + way;
    Reports reports(way, windows);
    if (!reports.problem().empty()) {
      for (const auto& algorithm : algorithms)
        app::Run::absent("slb_" + algorithm + suffix + "_drops", requests, reports.problem());
      continue;
    }
    std::vector<std::vector<Outcome>> outcomes(algorithms.size());
    std::vector<double> expected(algorithms.size(), 0.0);
    for (int repeat = 0; repeat < options.repeats(); ++repeat)
      for (std::size_t a = 0; a < algorithms.size(); ++a) {
        const Load load = load_of(repeat);
        const Algorithm algorithm = algorithm_of(algorithms[a]);
        outcomes[a].push_back(measure(load, algorithm, parameters, reports));
        expected[a] += slb::simulate(load, algorithm, parameters).drops / options.repeats();
      }
    for (std::size_t a = 0; a < algorithms.size(); ++a)
      report(algorithms[a], suffix, outcomes[a], expected[a]);
    if (app::rank == 0 && reports.late() > 0)
      std::printf("%.0f reports by %s arrived after newer ones\n", reports.late(), way.c_str());
  }
  return run.finish();
}
