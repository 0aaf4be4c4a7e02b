// Stars that attract each other, all pairs. Each rank's share travels once round the ring, as a bucket in a brigade,
// with double buffers. A bucket moves on while the rank adds up the forces of the one before. 72 stars have 2304 bytes,
// as in the thesis. Source: Felten 1993, chapter 7 (nbody: 240 messages of 2304 bytes among 16 processes).
#include "pattern.hpp"

namespace {

struct Star {
  double at[3];
  double mass;
};
struct Motion {
  double speed[3];
};

std::vector<Star> first_stars(int count) {
  app::Random random(app::seed);
  std::vector<Star> stars(static_cast<std::size_t>(count));
  for (auto& star : stars)
    star = {{random.uniform(), random.uniform(), random.uniform()}, 1 + random.uniform()};
  return stars;
}

void attract(const Star* stars, Motion* motions, int count, const Star* others, double step) {
  for (int i = 0; i < count; ++i) {
    double sum[3] = {};
    for (int j = 0; j < count; ++j) {
      const double x = others[j].at[0] - stars[i].at[0], y = others[j].at[1] - stars[i].at[1],
                   z = others[j].at[2] - stars[i].at[2];
      const double square = x * x + y * y + z * z + 0.01;
      const double pull = others[j].mass / (square * std::sqrt(square));
      sum[0] += pull * x;
      sum[1] += pull * y;
      sum[2] += pull * z;
    }
    for (int d = 0; d < 3; ++d) motions[i].speed[d] += step * sum[d];
  }
}

void move(Star* stars, const Motion* motions, int count, double step) {
  for (int i = 0; i < count; ++i)
    for (int d = 0; d < 3; ++d) stars[i].at[d] += step * motions[i].speed[d];
}

constexpr double kStep = 1e-4;

// Makes the same additions in the same order in one process.
std::vector<Star> sequential(int share, int iterations) {
  std::vector<Star> stars = first_stars(share * app::ranks);
  std::vector<Motion> motions(stars.size());
  const auto of = [&](int rank) { return static_cast<std::size_t>(rank * share); };
  for (int k = 0; k < iterations; ++k) {
    for (int rank = 0; rank < app::ranks; ++rank)
      for (int hop = 0; hop < app::ranks; ++hop)
        attract(&stars[of(rank)], &motions[of(rank)], share,
                &stars[of((rank - hop + app::ranks) % app::ranks)], kStep);
    move(stars.data(), motions.data(), static_cast<int>(stars.size()), kStep);
  }
  return stars;
}

class Stars : public pattern::Program {
 public:
  Stars(const std::string& way, int share, const std::vector<Star>& right)
      : share_(share), right_(right), motions_(static_cast<std::size_t>(share)) {
    constexpr int kNumbers = sizeof(Star) / sizeof(double);
    const int count = share * kNumbers;
    const int next = (app::rank + 1) % app::ranks,
              before = (app::rank - 1 + app::ranks) % app::ranks;
    for (auto& bucket : buckets_) bucket.resize(motions_.size());
    stars_.resize(motions_.size());
    for (std::size_t i = 0; i < 3; ++i) {  // out of the own stars, and of either bucket
      hops_.emplace_back(way);
      double* from = (i == 2 ? stars_ : buckets_[i]).data()->at;
      hops_[i].receive(buckets_[i == 0 ? 1 : 0].data()->at, count, before, 1);
      hops_[i].send(from, count, next, 1);
    }
  }

  void begin() override {
    const auto all = first_stars(share_ * app::ranks);
    const auto first = all.begin() + app::rank * share_;
    std::copy(first, first + share_, stars_.begin());
    std::fill(motions_.begin(), motions_.end(), Motion{});
  }

  void iterate() override {
    std::size_t here = 2;  // which bucket is being added up; 2: the own stars
    for (int hop = 0; hop < app::ranks; ++hop) {
      const bool last = hop + 1 == app::ranks;
      if (!last) hops_[here].start();
      attract(stars_.data(), motions_.data(), share_,
              here == 2 ? stars_.data() : buckets_[here].data(), kStep);
      if (!last) hops_[here].finish();
      here = here == 0 ? 1 : 0;
    }
    move(stars_.data(), motions_.data(), share_, kStep);
  }

  void check() override {
    const Star* right = &right_[static_cast<std::size_t>(app::rank * share_)];
    for (int i = 0; i < share_; ++i)
      app::require(std::equal(right[i].at, right[i].at + 3, stars_[static_cast<std::size_t>(i)].at),
                   "star %d is at the wrong place", i);
  }

 private:
  int share_;
  const std::vector<Star>& right_;
  std::vector<Motion> motions_;
  std::vector<Star> stars_;
  std::vector<Star> buckets_[2];
  std::vector<pattern::Messages> hops_;
};

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "nbody", "Stars that attract each other: a ring of buckets.");
  const auto ways = options.choices("--ways", pattern::kWays, pattern::kWays, pattern::kWaysHelp);
  const int share = options.number("--stars", 72, 16, "stars of each rank");
  const int iterations = options.number("--iterations", 200, 10, "steps of time");
  app::Run run(options);
  app::want(app::ranks >= 2 && share > 0 && iterations > 0, "a size is wrong");
  const auto right = sequential(share, iterations);
  pattern::measure(
      run,
      {.name = "nbody",
       .bytes = share * static_cast<long>(sizeof(Star)),
       .iterations = iterations,
       .repeats = options.repeats(),
       .ways = ways},
      [&](const std::string& way) { return std::make_unique<Stars>(way, share, right); });
  return run.finish();
}
