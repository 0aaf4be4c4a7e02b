// Whether WayChooser finds the faster way and keeps to it, with models of their costs.
#include "engine/way_chooser.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "catch.hpp"

namespace {

using namespace lfc;
using Way = WayChooser::Way;

constexpr std::size_t kSize = 64 * 1024;

// A sender, its receiver, and the contents of their caches. Times in ns for a message of kSize.
class Model {
 public:
  double copied_again = 3000;  // a single copy, of bytes still in the receiver's cache
  double copied_fresh = 4000;
  double got_back = 5000;  // the sender's cost of writing bytes that were copied
  double between = 8000;   // the rest of the program
  double streamed = 7000;
  double noise = 0;          // standard deviation of the logarithm
  double interrupted = 0;    // share of messages
  double interruption = 0;   // ns
  bool rewrites = false;     // the sender writes its buffer before each message
  bool same_values = false;  // and it writes the same values
  double total = 0;          // ns of all messages

  explicit Model(std::uint64_t seed = 1) : random_(seed) {}

  Way step(WayChooser& chooser) {
    const double before = clock_;
    clock_ += between;
    if (rewrites) {
      if (std::exchange(cached_, false)) clock_ += got_back;
      if (!same_values) ++contents_;
    }
    const WayChooser::Choice choice = chooser.choose(kSize);
    const double began = clock_;
    clock_ += time(choice.way);
    tries += choice.tried ? 1 : 0;
    chooser.took(choice, kSize, {began, clock_, true}, contents_);
    total += clock_ - before - between;
    return choice.way;
  }
  // Returns the cost of this many messages, and counts them by way.
  double run(WayChooser& chooser, int messages) {
    const double before = total;
    for (int i = 0; i < messages; ++i) ++ways[static_cast<std::size_t>(step(chooser))];
    return total - before;
  }
  // The cost of one message if the better way is always taken.
  double best() const {
    return mean() * std::min(streamed, rewrites ? copied_fresh + got_back : copied_again);
  }
  double mean() const { return std::exp(noise * noise / 2); }

  int tries = 0;
  std::array<int, 2> ways{};

 private:
  double time(Way way) {
    double cost = streamed;
    if (way == Way::copied) cost = std::exchange(cached_, true) ? copied_again : copied_fresh;
    if (way == Way::streamed) cached_ = false;
    cost *= std::exp(noise * normal_(random_));
    if (uniform_(random_) < interrupted) cost += interruption;
    return cost;
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::uint64_t contents_ = 1;
  double clock_ = 1e9;
  bool cached_ = false;
};

Way settled(WayChooser& chooser, Model& model) {
  model.run(chooser, 200);
  const auto before = model.ways;
  model.run(chooser, 200);
  return model.ways[0] - before[0] > model.ways[1] - before[1] ? Way::copied : Way::streamed;
}

}  // namespace

TEST_CASE("way chooser: the sender that writes its buffer is streamed from, the other one copied",
          "[ways]") {
  for (const bool rewrites : {false, true}) {
    WayChooser chooser;
    Model model;
    model.rewrites = rewrites;
    CHECK(settled(chooser, model) == (rewrites ? Way::streamed : Way::copied));
  }
}

TEST_CASE("way chooser: twenty first uses decide alike, also on a crowded machine", "[ways]") {
  for (const bool rewrites : {false, true}) {
    for (const double interrupted : {0.0, 0.1}) {
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        WayChooser chooser;
        Model model(seed);
        model.rewrites = rewrites;
        model.noise = 0.15;
        model.interrupted = interrupted;
        model.interruption = 4e6;
        CHECK(settled(chooser, model) == (rewrites ? Way::streamed : Way::copied));
      }
    }
  }
}

TEST_CASE("way chooser: tries cost at most a hundredth", "[ways]") {
  constexpr int kMessages = 100'000;
  for (const double ratio : {0.2, 0.5, 0.8, 0.95, 1.0, 1.05, 1.25, 2.0, 5.0, 1000.0}) {
    for (const double noise : {0.0, 0.1, 0.3}) {
      WayChooser chooser;
      Model model(7);
      model.copied_fresh = model.copied_again;  // `ratio` alone separates the ways
      model.streamed = ratio * model.copied_again;
      model.noise = noise;
      model.run(chooser, 100);  // includes the first trial
      const double others = kMessages * model.between;
      const double spent =
          (model.run(chooser, kMessages) + others) / (kMessages * model.best() + others);
      CAPTURE(ratio, noise, model.tries);
      // Ways whose times differ by less than 3 % of all time count as equal.
      CHECK(spent < 1 + WayChooser::kPrice + 0.02);
      CHECK(model.tries > 0);
    }
  }
}

TEST_CASE("way chooser: a sender that changes its habit every 1,000 messages", "[ways]") {
  WayChooser chooser;
  Model model;
  model.noise = 0.1;
  for (int phase = 0; phase < 20; ++phase) {
    model.rewrites = phase % 2 == 1;
    const double spent = model.run(chooser, 1000) / (1000 * model.best());
    CAPTURE(phase, spent);
    CHECK(spent < (phase < 2 ? 1.07 : 1.05));  // the first of each kind are new
  }
}

// Then only times differ. A copy that became slow is detected at once; one that became fast, by a trial.
TEST_CASE("way chooser: a sender that writes the same values is found out by the time alone",
          "[ways]") {
  WayChooser chooser;
  Model model;
  model.noise = 0.1;
  model.same_values = true;
  model.run(chooser, 1000);
  model.rewrites = true;
  CHECK(model.run(chooser, 1000) < 1.05 * 1000 * model.best());
  model.rewrites = false;
  model.run(chooser, 4000);
  CHECK(model.run(chooser, 1000) < 1.05 * 1000 * model.best());
}

TEST_CASE("way chooser: the machine changes, and the choice with it", "[ways]") {
  WayChooser chooser;
  Model model;
  REQUIRE(settled(chooser, model) == Way::copied);
  model.streamed = 1500;
  model.run(chooser, 10'000);
  CHECK(settled(chooser, model) == Way::streamed);
  model.streamed = 9000;
  CHECK(settled(chooser, model) == Way::copied);
}

TEST_CASE("way chooser: a sender that is away does not make its receiver wait again and again",
          "[ways]") {
  WayChooser chooser;
  Model model;
  model.streamed = 5e6;  // until it calls MPI
  model.run(chooser, 100'000);
  CHECK(model.ways[1] <= 8);  // two trials
}

TEST_CASE("way chooser: disturbed measurements are ignored, and a trial without an end is given up",
          "[ways]") {
  WayChooser chooser;
  int streamed = 0;
  for (int i = 0; i < 2000; ++i) {
    const WayChooser::Choice choice = chooser.choose(kSize);
    const bool copied = choice.way == Way::copied;
    streamed += copied ? 0 : 1;
    chooser.took(choice, kSize, {0, copied ? 5000.0 : 100.0, copied},
                 1);  // only copies can be measured
  }
  CHECK(streamed > 0);
  CHECK(streamed < 1800);
  CHECK(chooser.choose(kSize).tried == (chooser.choose(kSize).way == Way::streamed));
}

TEST_CASE("way chooser: each size has measurements of its own", "[ways]") {
  WayChooser chooser;
  for (int i = 0; i < 200; ++i) {
    for (const std::size_t size : {kSize, 16 * kSize}) {
      const WayChooser::Choice choice = chooser.choose(size);
      const bool fast = (choice.way == Way::streamed) == (size == kSize);
      chooser.took(choice, size, {0, (fast ? 0.1 : 0.3) * static_cast<double>(size), true}, 1);
    }
  }
  CHECK(chooser.choose(kSize).way == Way::streamed);
  CHECK(chooser.choose(16 * kSize).way == Way::copied);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, SIZE_MAX})
    CHECK(chooser.choose(size).way == Way::copied);
}

TEST_CASE("way chooser: a sample tells contents apart", "[ways]") {
  std::vector<std::byte> data(10'000);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{9}, data.size()}) {
    std::fill(data.begin(), data.end(), std::byte{1});
    const std::uint64_t ones = WayChooser::sample(data.data(), size);
    CHECK(ones == WayChooser::sample(data.data(), size));
    std::fill(data.begin(), data.end(), std::byte{2});
    if (size >= 8) CHECK(ones != WayChooser::sample(data.data(), size));
  }
}
