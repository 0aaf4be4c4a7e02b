// Small world: a build (`cmake --preset small`) in which all limits are small. So events that are rare elsewhere happen
// in every run: a number wraps, a pool is full, a frame lacks one run. Never installed.
//
//   LFC_SMALL_WORLD=17 mpirun ...            // limits drawn by seed 17; 0, or not set: all the smallest
//   LFC_SMALL_WORLD=17 LFC_SMALL_WORLD_ONLY=window_frame,coll_slots mpirun ...   // the others as in the normal build
//   LFC_SMALL_WORLD_SHOW=1 ...               // each process prints its limits first, on standard error
//
// A limit is drawn from the seed and its name alone: all processes of a job, and all libraries in one, have the same.
// In half of the draws it is the smallest, in the others evenly, on a logarithmic scale, up to the normal one.
// Threads: the environment is read while the program is loaded, before there is a second thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace lfc::small_world {

// Maps numbers to results that look unrelated (as in splitmix64).
inline std::uint64_t scramble(std::uint64_t state) noexcept {
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
  state = (state ^ state >> 27) * 0x94d049bb133111eb;
  return state ^ state >> 31;
}

// A number from a name (FNV-1a) and a seed.
inline std::uint64_t mix(std::string_view name, std::uint64_t seed) noexcept {
  std::uint64_t state = 0xcbf29ce484222325 ^ seed * 0x9e3779b97f4a7c15;
  for (const char letter : name)
    state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return scramble(state);
}

inline std::uint64_t number_of(const char* variable) noexcept {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 0);
}

inline std::uint64_t seed() noexcept { return number_of("LFC_SMALL_WORLD"); }

// Whether the variable is set and its list of names has this one.
inline bool is_listed(const char* variable, std::string_view name) noexcept {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return true;
  std::string_view list = text;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

inline std::uint64_t draw(std::string_view name, std::uint64_t smallest, std::uint64_t normal) {
  if (!is_listed("LFC_SMALL_WORLD_ONLY", name)) return normal;
  const std::uint64_t random = mix(name, seed());
  if (seed() == 0 || random % 2 == 0) return smallest;
  const double share = static_cast<double>(random >> 11) / static_cast<double>(1ull << 53);
  const double drawn = std::exp(std::log(static_cast<double>(smallest)) * (1 - share) +
                                std::log(static_cast<double>(normal)) * share);
  return std::clamp(static_cast<std::uint64_t>(drawn), smallest, normal);
}

inline std::uint64_t limit(std::string_view name, std::uint64_t smallest, std::uint64_t normal) {
  const std::uint64_t value = draw(name, smallest, normal);
  if (number_of("LFC_SMALL_WORLD_SHOW") != 0)
    std::fprintf(stderr, "lfc-limit %.*s=%llu\n", static_cast<int>(name.size()), name.data(),
                 static_cast<unsigned long long>(value));
  return value;
}

inline std::uint64_t power(std::string_view name, std::uint64_t smallest, std::uint64_t normal) {
  return std::bit_floor(limit(name, smallest, normal));
}

}  // namespace lfc::small_world
