#include "engine/way_chooser.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lfc {
namespace {

using Way = WayChooser::Way;

// The other way replaces the better one only if it is better by this factor.
constexpr double kClearly = 1.03;
// The estimate moves towards each message's cost by this step, so it tends to the median, and an interruption counts
// no more than a slow message.
constexpr double kStep = 0.04;
// A try that is slower by this factor needs no second look.
constexpr double kHopeless = 4;
constexpr std::uint16_t kBetweenTries = 32;  // messages, also if they cost nothing
constexpr std::uint16_t kLongestTry = 256;   // messages, if none of them can be counted
// The rest between two messages is forgotten by this factor with each message; beyond kFar times the message it is
// ignored.
constexpr double kForgotten = 1.03;
constexpr double kFar = 16;
constexpr std::size_t kWords = 8;  // of a sample

constexpr Way other(Way way) noexcept { return way == Way::copied ? Way::streamed : Way::copied; }
constexpr std::size_t at(Way way) noexcept { return static_cast<std::size_t>(way); }

}  // namespace

WayChooser::Class& WayChooser::class_of(std::size_t size) noexcept {
  constexpr int kSmallest = 12;
  const int bits = std::bit_width(size - (size > 0 ? 1 : 0));
  return classes_[static_cast<std::size_t>(
      std::clamp(bits - kSmallest, 0, static_cast<int>(kClasses) - 1))];
}

bool WayChooser::is_due(const Course& course) noexcept {
  if (course.cost[at(course.better)] <= 0) return false;
  const bool first = course.cost[at(other(course.better))] <= 0;
  return (first || course.counted >= kBetweenTries) && course.allowance >= course.price;
}

WayChooser::Choice WayChooser::choose(std::size_t size) noexcept {
  Class& of_size = class_of(size);
  Course& course = of_size.courses[of_size.repeats ? 1 : 0];
  if (!course.trying && is_due(course)) {
    course.trying = true;
    course.sampled = 0;
    course.begun = 0;
  }
  // A try without a result is charged as if it had taken twice the time.
  if (course.trying && ++course.begun > kLongestTry)
    end_try(course, course.cost[at(course.better)] * static_cast<double>(size));
  return {course.trying ? other(course.better) : course.better, course.trying, of_size.repeats};
}

void WayChooser::took(const Choice& choice, std::size_t size, const Times& times,
                      std::uint64_t contents) noexcept {
  Class& of_size = class_of(size);
  Course& course = of_size.courses[choice.repeats ? 1 : 0];
  const bool follows = of_size.any && of_size.last == choice.way;
  const double rest = std::max(0.0, times.began - of_size.ended);
  of_size.repeats = of_size.any && of_size.contents == contents;
  of_size.contents = contents;
  of_size.any = true;
  of_size.last = choice.way;
  of_size.ended = times.ended;

  const double took = times.ended - times.began;
  if (!choice.tried)
    course.allowance = std::min(course.allowance + kPrice * took, 2 * course.price);
  if (!follows || !times.undisturbed || of_size.repeats != choice.repeats) return;
  const auto bytes = static_cast<double>(std::max<std::size_t>(size, 1));
  if (!choice.tried) {
    record(course, choice.way, took / bytes, rest / bytes);
  } else if (course.trying && choice.way != course.better) {
    look_at(course, size, took / bytes, rest / bytes);
  }
}

// The cost of a message by a known way, with the cost that it causes until the next one.
double WayChooser::total(const Course& course, Way way) noexcept {
  const double least = std::min(course.cost[0], course.cost[1]);
  return course.cost[at(way)] + std::min(course.rest[at(way)], kFar * least);
}

// Enters a message of the way that is, or was until now, taken for the better one.
void WayChooser::record(Course& course, Way way, double cost, double rest) noexcept {
  double& known = course.cost[at(way)];
  if (known <= 0) {
    if (add_sample(course, way, cost, rest)) known = median(course);
    return;
  }
  known += std::clamp(cost - known, -kStep * known, kStep * known);
  course.rest[at(way)] = std::min(rest, kForgotten * course.rest[at(way)]);
  if (way != course.better) return;
  if (course.counted < UINT16_MAX) ++course.counted;
  if (!course.trying && course.cost[at(other(way))] > 0 &&
      total(course, way) > kClearly * total(course, other(way)))
    course.better = other(way);
}

// Enters a message of the way that is tried.
void WayChooser::look_at(Course& course, std::size_t size, double cost, double rest) noexcept {
  const Way tried = other(course.better);
  const bool enough = add_sample(course, tried, cost, rest);
  const double least = std::min(course.samples[0], course.samples[1]);
  if (!enough && (course.sampled < 2 || least < kHopeless * course.cost[at(course.better)])) return;
  const bool first = course.cost[at(tried)] <= 0;
  course.cost[at(tried)] = enough ? median(course) : least;
  const double found = total(course, tried);
  const double known = total(course, course.better);
  end_try(course, std::max(0.0, found - known) * static_cast<double>(size));
  if (first) course.allowance = course.price = 0;  // the first try is free, and is soon repeated
  if (found * kClearly < known) course.better = tried;
}

// Ends a try. Each of its messages has cost `excess` ns more than by the better way.
void WayChooser::end_try(Course& course, double excess) noexcept {
  course.price = excess * course.begun;
  course.allowance -= course.price;
  course.trying = false;
  course.counted = 0;
}

// Returns whether there are enough samples.
bool WayChooser::add_sample(Course& course, Way way, double cost, double rest) noexcept {
  double& least = course.rest[at(way)];
  least = course.sampled == 0 ? rest : std::min(least, rest);
  course.samples[course.sampled++] = cost;
  return course.sampled == kSamples;
}

double WayChooser::median(Course& course) noexcept {
  std::sort(course.samples.begin(), course.samples.end());
  course.sampled = 0;
  return course.samples[kSamples / 2];
}

std::uint64_t WayChooser::sample(const std::byte* data, std::size_t size) noexcept {
  std::uint64_t mixed = size;
  if (size < sizeof mixed) return mixed;
  const std::size_t last = size - sizeof mixed;
  for (std::size_t i = 0; i < kWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + last / (kWords - 1) * i, sizeof word);
    mixed = (std::rotl(mixed, 7) ^ word) * 0x9e3779b97f4a7c15;
  }
  return mixed;
}

}  // namespace lfc
