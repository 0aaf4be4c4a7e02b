// Random: the one source of chance of a simulation, the same on every machine and library.
//
// The distributions of <random> differ between standard libraries; a seed printed by a failing
// run must replay everywhere. Generator: SplitMix64 (Steele, Lea, Flood 2014).
//
//   Random random(seed);
//   if (random.chance(20)) ...            // 20 in 1000
//   const auto delay = random.between(1, 16);
#pragma once

#include <cstdint>

namespace lfc {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); 0 when bound is 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }
  // Uniform in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept {
    return low + below(high - low + 1);
  }
  bool chance(std::uint32_t permille) noexcept { return below(1000) < permille; }

 private:
  std::uint64_t state_;
};

}  // namespace lfc
