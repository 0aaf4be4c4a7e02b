#include "services/neon/protocol/runs.hpp"

#include <algorithm>
#include <limits>

namespace lfc::neon {
namespace {

constexpr std::uint32_t kMostRuns = std::numeric_limits<decltype(Header::runs)>::max();

void advance(std::span<const Run> runs, RunPosition& at, std::uint64_t bytes) noexcept {
  at.moved += bytes;
  if (at.moved < runs[at.index].size) return;
  ++at.index;
  at.moved = 0;
}

// Returns the distance between two places; nothing: a FrameRun cannot hold it.
std::optional<std::int32_t> distance(std::uint64_t from, std::uint64_t to) noexcept {
  std::int32_t between = 0;
  if (__builtin_sub_overflow(to, from, &between)) return std::nullopt;
  return between;
}

}  // namespace

bool are_valid(std::span<const Run> runs, std::uint64_t size) noexcept {
  std::uint64_t sum = 0;
  for (const Run& each : runs) {
    if (each.size == 0 || __builtin_add_overflow(sum, each.size, &sum)) return false;
  }
  return sum == size;
}

Portion next_portion(std::span<const Run> runs, RunPosition at, std::uint32_t room) noexcept {
  Portion portion;
  portion.end = at;
  const std::uint64_t first = runs[at.index].size - at.moved;
  if (first + sizeof(FrameRun) > room) {
    portion.runs = 1;
    portion.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(first, room));
    advance(runs, portion.end, portion.bytes);
    return portion;
  }
  const std::uint64_t begin = runs[at.index].within + at.moved;
  std::uint64_t used = 0;
  while (portion.end.index < runs.size() && portion.runs < kMostRuns &&
         used + sizeof(FrameRun) < room) {
    const Run& run = runs[portion.end.index];
    if (!distance(begin, run.within + portion.end.moved)) break;
    const std::uint64_t left = run.size - portion.end.moved;
    const std::uint64_t fits = room - used - sizeof(FrameRun);
    const std::uint64_t bytes = left <= fits ? left : fits / kCut * kCut;
    if (bytes == 0) break;
    used += sizeof(FrameRun) + bytes;
    portion.bytes += static_cast<std::uint32_t>(bytes);
    ++portion.runs;
    advance(runs, portion.end, bytes);
  }
  return portion;
}

std::uint64_t count_portions(std::span<const Run> runs, std::uint32_t room) noexcept {
  std::uint64_t count = 0;
  for (RunPosition at; at.index < runs.size();) {
    // Full frames of this run alone.
    const std::uint64_t full = (runs[at.index].size - at.moved) / room;
    if (full > 0) {
      count += full;
      advance(runs, at, full * room);
    } else {
      ++count;
      at = next_portion(runs, at, room).end;
    }
  }
  return count;
}

void write_list(std::span<const Run> runs, RunPosition at, const Portion& portion,
                std::byte* list) noexcept {
  const std::uint64_t begin = runs[at.index].within + at.moved;
  std::uint32_t left = portion.bytes;
  for (std::uint32_t i = 0; i < portion.runs; ++i) {
    const Run& run = runs[at.index];
    const auto size =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(run.size - at.moved, left));
    const FrameRun made{distance(begin, run.within + at.moved).value_or(0), size};
    std::memcpy(list + i * sizeof made, &made, sizeof made);
    advance(runs, at, size);
    left -= size;
  }
}

std::optional<RunSpan> span_of_runs(const Header& header, const std::byte* payload,
                                    std::size_t size) noexcept {
  const std::size_t list = std::size_t{header.runs} * sizeof(FrameRun);
  if (header.runs == 0 || list > size) return std::nullopt;
  RunSpan span{~std::uint64_t{0}, 0};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < header.runs; ++i) {
    const FrameRun run = read_run(payload, i);
    std::uint64_t begin = 0, end = 0;
    if (run.size == 0 || __builtin_add_overflow(header.extra, run.distance, &begin) ||
        __builtin_add_overflow(begin, run.size, &end))
      return std::nullopt;
    span.begin = std::min(span.begin, begin);
    span.end = std::max(span.end, end);
    bytes += run.size;
  }
  if (bytes != size - list) return std::nullopt;
  return span;
}

}  // namespace lfc::neon
