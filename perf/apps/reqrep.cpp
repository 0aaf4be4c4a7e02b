// Requests to a rank that computes: the time until the reply, as a function of the time C between two
// MPI calls of the target. There are two patterns:
//   target    even ranks only send requests; odd ranks compute for C, poll MPI once, and compute again.
//             The figure is the time of a request
//   mutual    all ranks compute for C, then send a request to their partner, and serve the partner
//             while they wait. The figure is the time of a request with its computing; u = C / (C + L)
//             is the share of computing, L the time without computing. With --gaps random each C is
//             drawn (exponential, that mean). Otherwise partners fall into step, and meet inside MPI
//             without ever waiting
// There are four kinds of request: a message and its reply, MPI_Get, MPI_Put, MPI_Fetch_and_op (each
// with a flush). If only the target's MPI calls serve a request, it waits for C / 2.
// Source: Falsafi and Wood 1996, sections 4 and 6.1.
#include <random>

#include "app.hpp"

namespace {

enum Tag { kRequest = 1, kReply, kEnd };

std::int64_t answer_to(std::int64_t question) { return question * 3 + 7; }

class Peer {
 public:
  Peer(app::Window& window, const std::string& kind, const app::Work& work, bool random)
      : window_(window), kind_(kind), work_(work), random_(random), partner_(app::rank ^ 1) {}

  // Words of the window: 0 is incremented, 1 is read, 2 is written.
  void reset() {
    if (!window_.problem().empty()) return;
    words()[0] = 0;
    words()[1] = answer_to(app::rank);
    words()[2] = -1;
    MPI_Win_sync(window_.get());
  }

  // Makes the `number`-th request, counted from 0.
  void ask(std::int64_t number) {
    std::int64_t value = -1;
    if (kind_ == "send") {
      MPI_Request reply;
      MPI_Irecv(&value, 1, MPI_INT64_T, partner_, kReply, MPI_COMM_WORLD, &reply);
      MPI_Send(&number, 1, MPI_INT64_T, partner_, kRequest, MPI_COMM_WORLD);
      for (int there = 0; there == 0;) {
        MPI_Test(&reply, &there, MPI_STATUS_IGNORE);
        if (there == 0) serve();
      }
      app::require(value == answer_to(number), "answer to %lld is %lld",
                   static_cast<long long>(number), static_cast<long long>(value));
    } else if (kind_ == "get") {
      MPI_Get(&value, 1, MPI_INT64_T, partner_, 8, 1, MPI_INT64_T, window_.get());
      MPI_Win_flush(partner_, window_.get());
      app::require(value == answer_to(partner_), "got %lld", static_cast<long long>(value));
    } else if (kind_ == "put") {
      MPI_Put(&number, 1, MPI_INT64_T, partner_, 16, 1, MPI_INT64_T, window_.get());
      MPI_Win_flush(partner_, window_.get());
    } else {
      const std::int64_t one = 1;
      MPI_Fetch_and_op(&one, &value, MPI_INT64_T, partner_, 0, MPI_SUM, window_.get());
      MPI_Win_flush(partner_, window_.get());
      app::require(value == number, "counter is %lld, not %lld", static_cast<long long>(value),
                   static_cast<long long>(number));
    }
  }

  // Replies to a request that has arrived. Returns false when the partner has finished.
  bool serve() {
    int there = 0;
    MPI_Status status;
    // The first probe may only receive the message, and the second one then finds it.
    for (int look = 0; there == 0 && look < 2; ++look)
      MPI_Iprobe(partner_, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (there == 0 || status.MPI_TAG == kReply) return true;
    std::int64_t number = 0;
    MPI_Recv(&number, 1, MPI_INT64_T, partner_, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (status.MPI_TAG == kEnd) {
      heard_end_ = true;
      return false;
    }
    const std::int64_t answer = answer_to(number);
    MPI_Send(&answer, 1, MPI_INT64_T, partner_, kReply, MPI_COMM_WORLD);
    return true;
  }

  void tell_end() {
    const std::int64_t nothing = 0;
    MPI_Send(&nothing, 1, MPI_INT64_T, partner_, kEnd, MPI_COMM_WORLD);
  }

  // Returns the seconds of one request, on the ranks that send requests.
  double run_target(int requests, double us) {
    heard_end_ = false;
    if (app::rank % 2 == 1) {
      do work_(us);
      while (serve());
      check(requests);
      return 0;
    }
    const double start = MPI_Wtime();
    for (int i = 0; i < requests; ++i) ask(i);
    const double seconds = MPI_Wtime() - start;
    tell_end();
    return seconds / requests;
  }

  double run_mutual(int requests, double us) {
    heard_end_ = false;
    const double start = MPI_Wtime();
    for (int i = 0; i < requests; ++i) {
      work_(random_ ? us * gap_(generator_) : us);
      ask(i);
    }
    const double seconds = MPI_Wtime() - start;
    tell_end();
    while (!heard_end_) serve();
    check(requests);
    return seconds / requests;
  }

 private:
  std::int64_t* words() { return reinterpret_cast<std::int64_t*>(window_.memory()); }

  // Checks the partner's accesses to this rank's memory.
  void check(int requests) {
    if (kind_ == "send" || kind_ == "get") return;
    MPI_Win_sync(window_.get());
    const std::int64_t found = kind_ == "put" ? words()[2] + 1 : words()[0];
    app::require(found == requests, "%s: %lld requests have arrived, not %d", kind_.c_str(),
                 static_cast<long long>(found), requests);
  }

  app::Window& window_;
  const std::string kind_;
  const app::Work& work_;
  const bool random_;
  std::mt19937_64 generator_{app::seed * 1000 + static_cast<unsigned>(app::rank)};
  std::exponential_distribution<double> gap_{1.0};
  const int partner_;
  bool heard_end_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "reqrep", "Requests to a rank that computes.");
  const std::vector<std::string> all_kinds = {"send", "get", "put", "fetch"};
  const std::vector<std::string> all_patterns = {"target", "mutual"};
  const auto kinds = options.choices("--kinds", all_kinds, all_kinds, "of request");
  const auto patterns =
      options.choices("--patterns", all_patterns, all_patterns, "who asks and who computes");
  const auto gaps = options.numbers("--compute", {0, 10, 30, 100, 300, 1000}, {0, 100},
                                    "us between two MPI calls, a sweep (0,10,30,100,300,1000)");
  const int requests = options.number("--requests", 200, 20, "requests in one run");
  const bool random = options.choice("--gaps", {"constant", "random"}, "of `mutual`") == "random";
  const std::string windows = options.choice("--window", app::kWindows, app::kWindowsHelp);
  app::Run run(options);
  app::want(app::ranks % 2 == 0, "an even number of ranks is wanted");
  app::want(requests > 0, "a request is wanted");

  const app::Work work;
  app::Window window(24, windows);
  if (window.problem().empty()) window.lock_all();
  for (const auto& pattern : patterns)
    for (const auto& kind : kinds) {
      const std::string bench = "reqrep_" + pattern + "_" + kind;
      if (kind != "send" && !window.problem().empty()) {
        app::Run::absent(bench, 0, window.problem());
        continue;
      }
      Peer peer(window, kind, work, random);
      double unloaded = 0;
      for (const int gap : gaps) {
        std::vector<double> values;
        for (int repeat = 0; repeat < options.repeats(); ++repeat) {
          peer.reset();
          MPI_Barrier(MPI_COMM_WORLD);
          double us = 1e6 * (pattern == "target" ? peer.run_target(requests, gap)
                                                 : peer.run_mutual(requests, gap));
          MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
          values.push_back(us);
        }
        const double us = app::quantile(values, 0.5);
        if (gap == gaps.front()) unloaded = std::max(us - gap, 0.001);
        run.report({.bench = bench,
                    .size = gap,
                    .values = values,
                    .counts = {{"u", gap / (gap + unloaded)}, {"loaded", us / unloaded}}});
      }
    }
  return run.finish();
}
