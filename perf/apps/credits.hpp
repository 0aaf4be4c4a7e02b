// Credit reporting between servers and a dispatcher, as the load balancer (slb.cpp) measures and
// simulates it. A credit is a free place in a server's queue. No clock, no MPI.
// Round robin, weighted or plain, needs no reports. Least connections and shortest expected delay need
// one after each request: the dispatcher counts the requests at each server, as places that are not free.
//
//   slb::Dispatcher dispatcher(slb::Algorithm::kDpr, speeds, {});
//   int server = dispatcher.pick();                       // -1: the request is dropped
//   slb::Reporter reporter(slb::Algorithm::kDpr, {});     // at the server
//   reporter.accepted();
//   if (auto credits = reporter.served(queue_length)) ...    // report to the dispatcher
//   dispatcher.credit(server, *credits);
//
// Source: Schneidenbach 2009, 6.3 and 6.4. Equations 6.2 to 6.5 are as printed. The dynamic interval
// of equation 6.7 is max(interval, queue * factor), because as printed it never ends.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace slb {

enum class Algorithm {
  kPlain,
  kLowWaterMark,
  kSoft,
  kDynamicSoft,
  kDpr,
  kWeights,           // weighted round robin
  kRoundRobin,        // each server in turn
  kLeastConnections,  // the server with the fewest requests
  kShortestDelay      // the server with the least (requests + 1) / weight
};

struct Parameters {
  int places = 100;       // of a server's queue, the request in service included
  int interval = 10;      // served requests between two looks
  int low_mark = 10;      // LWM reports when the dispatcher has fewer credits
  int least_credit = 20;  // and the server has at least as many to give
};

struct Credits {
  int soft = 0;  // to be used first
  int hard = 0;  // places that are free
};

class Reporter {
 public:
  Reporter(Algorithm algorithm, Parameters parameters)
      : algorithm_(algorithm),
        p_(parameters),
        expected_(parameters.places),
        next_(parameters.interval) {}

  // Counts a request that has entered the queue.
  void accepted() { --expected_; }

  // Counts a request that has been served. `queue` is the number of requests left, with the one in
  // service. Returns the credits to report, or nothing if no report is due.
  std::optional<Credits> served(int queue) {
    ++served_;
    ++since_hard_;
    const int free = p_.places - queue;
    switch (algorithm_) {
      case Algorithm::kPlain:
        if (!due(p_.interval)) break;
        return Credits{0, free};
      case Algorithm::kLowWaterMark:
        if (!due(p_.interval) || expected_ >= p_.low_mark || free < p_.least_credit) break;
        expected_ = free;
        return Credits{0, free};
      case Algorithm::kSoft:
      case Algorithm::kDynamicSoft:
      case Algorithm::kDpr: {
        const int taken = served_;
        if (!due(next_)) {
          if (algorithm_ != Algorithm::kDpr || since_hard_ < p_.interval) break;
          since_hard_ = 0;
          return Credits{kKeepSoft, free};
        }
        since_hard_ = 0;
        const Credits credits{soft(queue, taken), free};
        old_queue_ = queue;
        if (algorithm_ == Algorithm::kDynamicSoft) next_ = std::max(p_.interval, queue / 2);
        if (algorithm_ == Algorithm::kDpr) next_ = std::max(p_.interval, queue);
        return credits;
      }
      case Algorithm::kLeastConnections:
      case Algorithm::kShortestDelay: return Credits{0, free};
      case Algorithm::kWeights:
      case Algorithm::kRoundRobin: break;
    }
    return std::nullopt;
  }

  static constexpr int kKeepSoft = -1;  // as soft credit: the dispatcher does not change it

 private:
  bool due(int interval) {
    if (served_ < interval) return false;
    served_ = 0;
    return true;
  }

  // Returns a part of the free places: smaller if requests arrive faster, or if fewer places are free.
  [[nodiscard]] int soft(int queue, int taken) const {
    const int arrived = queue - (old_queue_ - taken);
    double ratio = arrived != 0 ? static_cast<double>(taken) / arrived : 1.0;
    if (ratio < 0) ratio = 1;
    const double hard = p_.places - queue;
    return static_cast<int>(std::floor(hard * std::min(1.0, ratio) * hard / p_.places));
  }

  Algorithm algorithm_;
  Parameters p_;
  int expected_;
  int next_;
  int served_ = 0;
  int since_hard_ = 0;
  int old_queue_ = 0;
};

class Dispatcher {
 public:
  // `weights`: of the servers, as the user has configured them.
  Dispatcher(Algorithm algorithm, std::vector<double> weights, Parameters parameters)
      : algorithm_(algorithm),
        places_(parameters.places),
        weights_(std::move(weights)),
        turn_(weights_.size(), 0.0),
        credits_(weights_.size(), Credits{parameters.places, parameters.places}) {
    if (algorithm == Algorithm::kRoundRobin || algorithm == Algorithm::kLeastConnections)
      std::fill(weights_.begin(), weights_.end(), 1.0);
  }

  void credit(std::size_t server, Credits credits) {
    if (credits.soft != Reporter::kKeepSoft) credits_[server].soft = credits.soft;
    credits_[server].hard = credits.hard;
  }

  // Returns the server of the next request, or -1 if no server has credit. Algorithms without credits
  // may choose a server without a free place.
  int pick() {
    switch (algorithm_) {
      case Algorithm::kWeights:
      case Algorithm::kRoundRobin: return by_weight();
      case Algorithm::kLeastConnections:
      case Algorithm::kShortestDelay: return take(by_delay());
      case Algorithm::kPlain:
      case Algorithm::kLowWaterMark: return take(with_hard_credit());
      case Algorithm::kSoft:
      case Algorithm::kDynamicSoft:
      case Algorithm::kDpr: break;
    }
    const int chosen = next_with([](const Credits& c) { return c.soft >= 1; });
    return take(chosen >= 0 ? chosen : with_hard_credit());
  }

 private:
  // Takes a credit of the server, if it has one.
  int take(int chosen) {
    if (chosen < 0) return -1;
    Credits& left = credits_[static_cast<std::size_t>(chosen)];
    if (left.hard >= 1) --left.hard;
    if (left.soft >= 1) --left.soft;
    next_ = (static_cast<std::size_t>(chosen) + 1) % credits_.size();
    return chosen;
  }

  [[nodiscard]] int with_hard_credit() const {
    return next_with([](const Credits& c) { return c.hard >= 1; });
  }

  template <class Function>
  int next_with(Function&& has) const {
    for (std::size_t i = 0; i < credits_.size(); ++i) {
      const std::size_t server = (next_ + i) % credits_.size();
      if (has(credits_[server])) return static_cast<int>(server);
    }
    return -1;
  }

  // Chooses by smooth weighted round robin.
  int by_weight() {
    double total = 0;
    std::size_t best = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      turn_[i] += weights_[i];
      total += weights_[i];
      if (turn_[i] > turn_[best]) best = i;
    }
    turn_[best] -= total;
    return static_cast<int>(best);
  }

  // Chooses the server with the least expected delay. If several are equal, the next one in turn is chosen.
  [[nodiscard]] int by_delay() const {
    const auto delay = [&](std::size_t server) {
      return (places_ - credits_[server].hard + 1) / weights_[server];
    };
    std::size_t best = next_;
    for (std::size_t i = 1; i < credits_.size(); ++i) {
      const std::size_t server = (next_ + i) % credits_.size();
      if (delay(server) < delay(best)) best = server;
    }
    return static_cast<int>(best);
  }

  Algorithm algorithm_;
  int places_;
  std::vector<double> weights_;
  std::vector<double> turn_;
  std::vector<Credits> credits_;
  std::size_t next_ = 0;
};

}  // namespace slb
