// Runs: the places of a notified put that are not contiguous at the target, and the frames that carry them.
//
//   RunPosition at;                                            // the origin, for each frame:
//   const Portion portion = next_portion(runs, at, room);
//   write_list(runs, at, portion, list);                       // in front of the data, which is not copied
//   at = portion.end;
//   const std::optional<RunSpan> span = span_of_runs(header, payload, size);
//   if (!span) return false;                                   // the target: malformed
//   return for_each_run(header, *span, payload, size, store);  // false: the sender has changed the frame meanwhile
//
// A frame with runs has as many FrameRuns as Header::runs, and then their bytes one after the other. A frame of one run
// has no FrameRun: it is a frame of a contiguous put.
// Invariants: a frame ends only when the next run does not fit. A run is cut at multiples of kCut bytes from its start,
// not of addresses, if a frame's room is such a multiple. So no aligned word is cut of a run that begins at a multiple
// of 8. Each portion has at least one byte.
// Held by: tests/unit/services/neon/runs_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "services/neon/protocol/frame.hpp"

namespace lfc::neon {

// One contiguous place of a put: `size` bytes, at least 1, `within` bytes behind the put's displacement.
struct Run {
  std::uint64_t within = 0;
  std::uint64_t size = 0;
};

// Little-endian on the wire.
struct FrameRun {
  std::int32_t distance;  // from Header::extra, where the first run of the frame begins
  std::uint32_t size;
};
static_assert(sizeof(FrameRun) == 8);

inline constexpr std::uint32_t kCut = 64;

// The next byte of a put: `moved` bytes of run `index` are in earlier frames.
struct RunPosition {
  std::size_t index = 0;
  std::uint64_t moved = 0;
};

// The part of a put that one frame carries.
struct Portion {
  std::uint32_t runs = 0;
  std::uint32_t bytes = 0;  // of data
  RunPosition end;          // the position behind it

  // Returns the size of the list of runs in the frame's payload, and that of the payload.
  std::size_t list_size() const noexcept {
    return runs > 1 ? std::size_t{runs} * sizeof(FrameRun) : 0;
  }
  std::size_t payload() const noexcept { return list_size() + bytes; }
};

// Returns whether these runs can be a put of `size` bytes: none is empty, and together they have as many.
bool are_valid(std::span<const Run> runs, std::uint64_t size) noexcept;
// Returns the part of the put from `at` on that fits into a payload of `room` bytes. `at` is not behind the last run.
Portion next_portion(std::span<const Run> runs, RunPosition at, std::uint32_t room) noexcept;
// Returns the number of frames of the put.
std::uint64_t count_portions(std::span<const Run> runs, std::uint32_t room) noexcept;
// Writes the list of a portion of several runs, portion.list_size() bytes.
void write_list(std::span<const Run> runs, RunPosition at, const Portion& portion,
                std::byte* list) noexcept;

// The bytes from `begin` to `end`, relative to the put's displacement.
struct RunSpan {
  std::uint64_t begin, end;
};
// Returns the smallest span that contains all runs of a received frame; nothing: the frame is malformed.
std::optional<RunSpan> span_of_runs(const Header& header, const std::byte* payload,
                                    std::size_t size) noexcept;

// Reads a run of a frame once: the frame may lie in memory that its sender can change.
inline FrameRun read_run(const std::byte* payload, std::size_t index) noexcept {
  FrameRun run;
  std::memcpy(&run, payload + index * sizeof run, sizeof run);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler does not read it again
  return run;
}

// Calls each(bytes behind the span's begin, data, size) for each run of a frame that span_of_runs() has accepted with
// this span. Its sender may have changed the frame since. False: the next run leaves the span, or has more bytes than
// the frame has left; `each` was called for the runs before it alone.
template <class Each>
bool for_each_run(const Header& header, const RunSpan& span, const std::byte* payload,
                  std::size_t size, Each each) {
  const std::uint64_t room = span.end - span.begin;
  std::size_t left = size - std::size_t{header.runs} * sizeof(FrameRun);
  for (std::size_t i = 0; i < header.runs; ++i) {
    const FrameRun run = read_run(payload, i);
    const std::uint64_t begin =
        header.extra + static_cast<std::uint64_t>(std::int64_t{run.distance}) - span.begin;
    if (begin > room || run.size > room - begin || run.size > left) return false;
    each(begin, payload + (size - left), std::size_t{run.size});
    left -= run.size;
  }
  return true;
}

}  // namespace lfc::neon
