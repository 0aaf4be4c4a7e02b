// Molecular dynamics by a Lennard-Jones force. Each rank moves its share of the atoms and computes half of the pairs
// that they are in. Places are gathered across a hypercube, twice as many in each dimension, and forces are folded the
// same way back. 128 atoms among 16 ranks are messages of 192 to 1536 bytes, as in the thesis.
// Source: Felten 1993, chapter 7 (md: messages of 196 to 1540 bytes, 720 on average, by Plimpton 1990).
#include "pattern.hpp"

namespace {

constexpr double kStep = 1e-4;

using Vectors = std::vector<double>;  // three for each atom

// Returns places on a cube with some disorder, so that forces are moderate.
Vectors first_places(int atoms) {
  app::Random random(app::seed);
  const int side = static_cast<int>(std::ceil(std::cbrt(atoms)));
  Vectors places;
  for (int i = 0; i < atoms; ++i)
    for (const int at : {i % side, i / side % side, i / side / side})
      places.push_back(1.2 * at + 0.1 * random.uniform());
  return places;
}

// Returns whether the owner of atom i computes the force between i and j. So each rank computes half of its pairs.
bool computes(int i, int j) { return (i + j) % 2 == 0 ? i > j : i < j; }

void add_forces(const Vectors& places, Vectors& forces, int first, int count) {
  const int atoms = static_cast<int>(places.size()) / 3;
  for (int i = first; i < first + count; ++i)
    for (int j = 0; j < atoms; ++j) {
      if (!computes(i, j)) continue;
      const double* a = &places[static_cast<std::size_t>(3 * i)];
      const double* b = &places[static_cast<std::size_t>(3 * j)];
      const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
      const double inverse = 1 / (x * x + y * y + z * z);
      const double sixth = inverse * inverse * inverse;
      const double force = 24 * inverse * sixth * (2 * sixth - 1);
      const double by[3] = {force * x, force * y, force * z};
      for (std::size_t d = 0; d < 3; ++d) {
        forces[static_cast<std::size_t>(3 * i) + d] += by[d];
        forces[static_cast<std::size_t>(3 * j) + d] -= by[d];
      }
    }
}

void move(double* places, double* speeds, const double* forces, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) places[i] += kStep * (speeds[i] += kStep * forces[i]);
}

// Makes the same additions in the same order in one process.
Vectors sequential(int atoms, int iterations) {
  Vectors places = first_places(atoms), speeds(places.size());
  const int share = atoms / app::ranks;
  for (int k = 0; k < iterations; ++k) {
    std::vector<Vectors> forces(static_cast<std::size_t>(app::ranks), Vectors(places.size()));
    for (int rank = 0; rank < app::ranks; ++rank)
      add_forces(places, forces[static_cast<std::size_t>(rank)], rank * share, share);
    for (auto half = forces.size() / 2; half > 0; half /= 2)
      for (std::size_t rank = 0; rank < half; ++rank)
        for (std::size_t i = 0; i < places.size(); ++i) forces[rank][i] += forces[rank + half][i];
    move(places.data(), speeds.data(), forces[0].data(), places.size());
  }
  return places;
}

class Atoms : public pattern::Program {
 public:
  Atoms(const std::string& way, int atoms, const Vectors& right)
      : share_(static_cast<std::size_t>(3 * atoms / app::ranks)),
        own_(share_ * static_cast<std::size_t>(app::rank)),
        right_(right),
        places_(right.size()),
        speeds_(share_),
        forces_(right.size()),
        others_(right.size()) {
    for (int dimension = 1; dimension < app::ranks; dimension *= 2) {
      const int peer = app::rank ^ dimension;
      // The numbers of `dimension` ranks on this side of the cube, and of as many on the peer's side.
      const std::size_t mine = share_ * static_cast<std::size_t>(app::rank & ~(dimension - 1));
      const std::size_t theirs = share_ * static_cast<std::size_t>(peer & ~(dimension - 1));
      const std::size_t count = share_ * static_cast<std::size_t>(dimension);
      const int numbers = static_cast<int>(count);
      expand_.emplace_back(way);
      expand_.back().receive(&places_[theirs], numbers, peer, 1);
      expand_.back().send(&places_[mine], numbers, peer, 1);
      folds_.push_back({pattern::Messages(way), mine, count});
      folds_.back().messages.receive(&others_[mine], numbers, peer, 2);
      folds_.back().messages.send(&forces_[theirs], numbers, peer, 2);
    }
  }

  void begin() override {
    const Vectors all = first_places(static_cast<int>(places_.size()) / 3);
    std::fill(places_.begin(), places_.end(), 0);
    std::copy_n(&all[own_], share_, &places_[own_]);
    std::fill(speeds_.begin(), speeds_.end(), 0);
  }

  void iterate() override {
    for (auto& messages : expand_) messages.exchange();
    std::fill(forces_.begin(), forces_.end(), 0);
    const int share = static_cast<int>(share_ / 3);
    add_forces(places_, forces_, app::rank * share, share);
    for (auto fold = folds_.rbegin(); fold != folds_.rend(); ++fold) {
      fold->messages.exchange();
      for (std::size_t i = fold->first; i < fold->first + fold->count; ++i)
        forces_[i] += others_[i];
    }
    move(&places_[own_], speeds_.data(), &forces_[own_], share_);
  }

  void check() override {
    app::require(std::equal(&right_[own_], &right_[own_] + share_, &places_[own_]),
                 "an atom is at the wrong place");
  }

 private:
  struct Fold {
    pattern::Messages messages;
    std::size_t first, count;  // to be added up
  };

  std::size_t share_, own_;  // numbers of the rank's atoms, and the first of them
  const Vectors& right_;
  Vectors places_, speeds_, forces_, others_;
  std::vector<pattern::Messages> expand_;
  std::vector<Fold> folds_;
};

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "md", "Molecular dynamics: places and forces on a hypercube.");
  const auto ways = options.choices("--ways", pattern::kWays, pattern::kWays, pattern::kWaysHelp);
  const int atoms = options.number("--atoms", 128, 64, "atoms of all ranks");
  const int iterations = options.number("--iterations", 1000, 20, "steps of time");
  app::Run run(options);
  app::want(app::ranks >= 2 && (app::ranks & (app::ranks - 1)) == 0,
            "a hypercube has 2, 4, 8, ... ranks");
  app::want(atoms > 0 && atoms % app::ranks == 0 && iterations > 0, "ranks must divide the atoms");
  const Vectors right = sequential(atoms, iterations);
  pattern::measure(
      run,
      {.name = "md",
       .bytes = atoms / 2 * static_cast<long>(3 * sizeof(double)),
       .iterations = iterations,
       .repeats = options.repeats(),
       .ways = ways},
      [&](const std::string& way) { return std::make_unique<Atoms>(way, atoms, right); });
  return run.finish();
}
