// Pattern: messages between the same ranks, from and to the same memory, iteration after iteration. The term is that of
// a thesis on compiled protocols. Messages travel by MPI_Isend and MPI_Irecv or by persistent requests. The time that a
// rank spends on them is counted apart from computing. Programs made of such patterns measure all ways in turn.
//
//   class Heat : public pattern::Program {
//     explicit Heat(const std::string& way) : halo_(way) {
//       halo_.receive(above, 64, up, kTag);  // 64 doubles
//       halo_.send(row, 64, down, kTag);
//     }
//     void iterate() override { halo_.start(); ...; halo_.finish(); }
//     ...
//   };
//   pattern::measure(run, {.name = "heat", .bytes = 512, .iterations = 100, .repeats = 5, .ways = pattern::kWays},
//                    [&](const std::string& way) { return std::make_unique<Heat>(way); });
//
// Source: Felten 1993, 4.3.2 and 7.1.
#pragma once

#include <memory>

#include "app.hpp"

namespace pattern {

inline const std::vector<std::string> kWays = {"ordinary", "persistent"};
inline constexpr const char* kWaysHelp =
    "messages by MPI_Isend and MPI_Irecv, or by persistent requests";

inline double communicating = 0;  // seconds of this rank, since the measurement began

class Messages {
 public:
  explicit Messages(const std::string& way) : persistent_(way == "persistent") {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  Messages(Messages&&) = default;
  Messages& operator=(Messages&&) = delete;
  ~Messages() {
    if (persistent_)
      for (auto& request : requests_) MPI_Request_free(&request);
  }

  void send(double* from, int count, int to, int tag) { add({from, count, to, tag, true}); }
  void receive(double* into, int count, int from, int tag) { add({into, count, from, tag, false}); }

  void start() {
    const double begun = MPI_Wtime();
    if (persistent_ && !requests_.empty())
      MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    for (std::size_t i = 0; !persistent_ && i < messages_.size(); ++i) start(messages_[i], i);
    communicating += MPI_Wtime() - begun;
  }

  void finish() {
    const double begun = MPI_Wtime();
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    communicating += MPI_Wtime() - begun;
  }

  void exchange() {
    start();
    finish();
  }

 private:
  struct Message {
    double* memory;
    int count, peer, tag;
    bool sent;
  };

  void add(const Message& message) {
    messages_.push_back(message);
    requests_.push_back(MPI_REQUEST_NULL);
    if (persistent_) make(message, requests_.back());
  }

  static void make(const Message& m, MPI_Request& request) {
    if (m.sent)
      MPI_Send_init(m.memory, m.count, MPI_DOUBLE, m.peer, m.tag, MPI_COMM_WORLD, &request);
    else
      MPI_Recv_init(m.memory, m.count, MPI_DOUBLE, m.peer, m.tag, MPI_COMM_WORLD, &request);
  }

  void start(const Message& m, std::size_t i) {
    if (m.sent)
      MPI_Isend(m.memory, m.count, MPI_DOUBLE, m.peer, m.tag, MPI_COMM_WORLD, &requests_[i]);
    else
      MPI_Irecv(m.memory, m.count, MPI_DOUBLE, m.peer, m.tag, MPI_COMM_WORLD, &requests_[i]);
  }

  bool persistent_;
  std::vector<Message> messages_;
  std::vector<MPI_Request> requests_;
};

class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  Program(Program&&) = delete;
  Program& operator=(Program&&) = delete;
  virtual ~Program() = default;

  virtual void begin() = 0;    // restores the initial state
  virtual void iterate() = 0;  // makes one iteration
  virtual void check() = 0;    // ends the job if the result is wrong
};

struct Measured {
  std::string name;
  long bytes;  // of its largest message
  int iterations;
  int repeats;
  std::vector<std::string> ways;
};

// Measures for each way the time of an iteration (of the slowest rank), and the time that a rank spends on messages.
// The latter is the mean of all ranks, and contains the wait for slower ranks. The first run of each way warms up.
template <class Make>
void measure(app::Run& run, const Measured& what, Make&& make) {
  std::vector<std::unique_ptr<Program>> programs;
  for (const auto& way : what.ways) programs.push_back(make(way));
  std::vector<std::vector<double>> whole(programs.size()), part(programs.size());
  for (int repeat = -1; repeat < what.repeats; ++repeat)
    for (std::size_t w = 0; w < programs.size(); ++w) {
      programs[w]->begin();
      communicating = 0;
      const double seconds = app::longest([&] {
        for (int k = 0; k < what.iterations; ++k) programs[w]->iterate();
      });
      double all = communicating;
      MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      programs[w]->check();
      if (repeat < 0) continue;
      whole[w].push_back(seconds * 1e6 / what.iterations);
      part[w].push_back(all * 1e6 / app::ranks / what.iterations);
    }
  for (std::size_t w = 0; w < programs.size(); ++w) {
    const std::string bench = what.name + "_" + what.ways[w];
    run.report({.bench = bench,
                .size = what.bytes,
                .values = whole[w],
                .counts = {{"iterations", what.iterations}},
                .against = {what.name + "_" + kWays.front()}});
    const double share = app::quantile(part[w], 0.5) / app::quantile(whole[w], 0.5);
    run.report({.bench = bench + "_messages",
                .size = what.bytes,
                .values = part[w],
                .counts = {{"percent", 100 * share}},
                .against = {what.name + "_" + kWays.front() + "_messages"}});
  }
}

}  // namespace pattern
