// The load of the load balancer (slb.cpp), and its simulation without communication: no time passes
// between a server and the dispatcher.
//
//   const slb::Load load = slb::make_load({.requests = 30000, .speeds = {1, 2}}, seed);
//   const slb::Outcome outcome = slb::simulate(load, slb::Algorithm::kDpr, {});
//
// Source: Schneidenbach 2009, 6.5.
#pragma once

#include <deque>

#include "app.hpp"
#include "credits.hpp"

namespace slb {

struct Request {
  std::int64_t id;  // -1: the last
  double arrival;   // us since the start
  double service;   // us on a server of speed 1
};

struct Load {
  std::vector<Request> requests;
  std::vector<double> speeds;   // of the servers
  std::vector<double> weights;  // as configured
  // The first quarter and the last eighth do not count.
  [[nodiscard]] bool counts(std::int64_t id) const {
    const auto n = static_cast<std::int64_t>(requests.size());
    return id >= n / 4 && id < n - n / 8;
  }
};

// The parameters of a load.
struct Plan {
  int requests = 30000;
  std::vector<double> speeds;  // of the servers
  double gap = 100;            // us between two requests, on average
  double share = 1;            // of the servers' capacity
  double weight_error = 0;     // configured weights of every second server are higher by this part
};

inline Load make_load(const Plan& plan, std::uint64_t seed) {
  Load load{{}, plan.speeds, plan.speeds};
  for (std::size_t i = 1; i < load.weights.size(); i += 2) load.weights[i] *= 1 + plan.weight_error;
  double speed = 0;
  for (const double s : load.speeds) speed += s;
  app::Random random(seed);
  double now = 0;
  for (int i = 0; i < plan.requests; ++i) {
    now += random.exponential(plan.gap);
    load.requests.push_back({i, now, random.exponential(plan.gap * speed * plan.share)});
  }
  return load;
}

struct Outcome {
  double drops = 0;   // requests that count
  double answer = 0;  // us, mean of those that count
  double burst = 0;   // requests until the first drop
  double reports = 0;
  double look = 0;         // us for which the dispatcher reads reports, per request
  double queue = 0;        // requests at a server, on average (simulation alone)
  double queue_ratio = 0;  // of the first server to the second (simulation alone)
};

class Simulation {
 public:
  Simulation(const Load& load, Algorithm algorithm, Parameters parameters)
      : load_(load),
        places_(static_cast<std::size_t>(parameters.places)),
        servers_(load.speeds.size(), Server{{}, kNever, Reporter(algorithm, parameters), 0}),
        dispatcher_(algorithm, load.weights, parameters) {}

  Outcome run() {
    while (true) {
      const std::size_t first = first_to_be_done();
      const double arrival = next_ < load_.requests.size() ? load_.requests[next_].arrival : kNever;
      const double now = std::min(arrival, servers_[first].done);
      if (now >= kNever) break;
      pass_until(now);
      if (arrival <= servers_[first].done)
        arrive(load_.requests[next_++]);
      else
        serve(first, now);
    }
    if (!dropped_) outcome_.burst = static_cast<double>(load_.requests.size());
    outcome_.answer = answered_ > 0 ? answers_ / answered_ : 0;
    double all = 0;
    for (const Server& server : servers_) all += server.waiting;
    if (counting_ > 0) outcome_.queue = all / counting_ / static_cast<double>(servers_.size());
    if (servers_.size() > 1 && servers_[1].waiting > 0)
      outcome_.queue_ratio = servers_[0].waiting / servers_[1].waiting;
    return outcome_;
  }

 private:
  static constexpr double kNever = 1e300;

  struct Server {
    std::deque<std::int64_t> queue;  // the first one is being served
    double done;
    Reporter reporter;
    double waiting;  // us times requests, while requests count
  };

  [[nodiscard]] std::size_t first_to_be_done() const {
    std::size_t first = 0;
    for (std::size_t s = 1; s < servers_.size(); ++s)
      if (servers_[s].done < servers_[first].done) first = s;
    return first;
  }

  [[nodiscard]] double service(std::size_t s, std::int64_t id) const {
    return load_.requests[static_cast<std::size_t>(id)].service / load_.speeds[s];
  }

  void pass_until(double now) {
    if (load_.counts(static_cast<std::int64_t>(next_))) {
      counting_ += now - now_;
      for (Server& server : servers_)
        server.waiting += (now - now_) * static_cast<double>(server.queue.size());
    }
    now_ = now;
  }

  void arrive(const Request& request) {
    const int chosen = dispatcher_.pick();
    if (chosen < 0 || servers_[static_cast<std::size_t>(chosen)].queue.size() >= places_) {
      if (load_.counts(request.id)) ++outcome_.drops;
      if (!dropped_) outcome_.burst = static_cast<double>(request.id);
      dropped_ = true;
      return;
    }
    const auto s = static_cast<std::size_t>(chosen);
    Server& server = servers_[s];
    server.queue.push_back(request.id);
    server.reporter.accepted();
    if (server.queue.size() == 1) server.done = request.arrival + service(s, request.id);
  }

  void serve(std::size_t s, double now) {
    Server& server = servers_[s];
    const std::int64_t id = server.queue.front();
    server.queue.pop_front();
    if (load_.counts(id)) {
      answers_ += now - load_.requests[static_cast<std::size_t>(id)].arrival;
      ++answered_;
    }
    server.done = server.queue.empty() ? kNever : now + service(s, server.queue.front());
    if (const auto credits = server.reporter.served(static_cast<int>(server.queue.size()))) {
      dispatcher_.credit(s, *credits);
      ++outcome_.reports;
    }
  }

  const Load& load_;
  std::size_t places_;
  std::vector<Server> servers_;
  Dispatcher dispatcher_;
  Outcome outcome_;
  std::size_t next_ = 0;  // request
  double now_ = 0;
  double counting_ = 0;  // us
  double answers_ = 0;   // us, sum
  double answered_ = 0;
  bool dropped_ = false;
};

inline Outcome simulate(const Load& load, Algorithm algorithm, Parameters parameters) {
  return Simulation(load, algorithm, parameters).run();
}

}  // namespace slb
