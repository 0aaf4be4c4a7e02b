// Layout: the places of a datatype's bytes in memory, as runs that repeat; and walks over them.
//
// One element of a datatype is a list of runs {offset, length, stride, repeat}, in the order in which its bytes are
// packed. `count` elements follow each other at distance `extent`. A vector of a million blocks is one run. Only the
// origin knows datatypes: it sends the target the runs of each fragment, so that the target's NI needs nothing but
// bytes and offsets.
//
//   Layout every_other;
//   for (int i = 0; i < 100; ++i) every_other.add(i * 16, 8);     // becomes one run
//   every_other.set_extent(1600);
//   Cursor cursor(every_other, 3, base_offset);
//   for (Piece piece; cursor.next(budget, piece);) copy(memory + piece.offset, piece.length);
//
// Offsets are bytes and may be negative; lengths are bytes. Threads: values; the caller serialises.
// Source: MPI-3.1 4.1 (typemaps).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lfc {

struct Run {
  std::int64_t offset = 0;   // of the first piece
  std::uint64_t length = 0;  // of each piece
  std::int64_t stride = 0;   // from piece to piece
  std::uint64_t repeat = 1;  // pieces
};
static_assert(sizeof(Run) == 32);  // also on the wire, little-endian

// A contiguous part of a layout.
struct Piece {
  std::int64_t offset = 0;
  std::uint64_t length = 0;
};

// Appends a piece to runs, as a part of the last run if it continues that.
void append_piece(std::vector<Run>& runs, Piece piece);

// The bytes [low, high) that contain all pieces; both 0 for none. bounds_of() returns false if 64 bits cannot hold
// them.
struct Bounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
bool bounds_of(std::span<const Run> runs, Bounds& out) noexcept;

class Layout {
 public:
  Layout() = default;
  // One contiguous piece of `size` bytes.
  explicit Layout(std::uint64_t size) { add(0, size), set_extent(static_cast<std::int64_t>(size)); }

  // Appends the next packed bytes of an element.
  void add(std::int64_t offset, std::uint64_t length);
  void set_extent(std::int64_t extent) noexcept { extent_ = extent; }

  std::span<const Run> runs() const noexcept { return runs_; }
  std::int64_t extent() const noexcept { return extent_; }
  // Packed bytes of one element.
  std::uint64_t size() const noexcept { return size_; }
  // The bounds of `count` elements.
  bool bounds(std::uint64_t count, Bounds& out) const noexcept;

 private:
  std::vector<Run> runs_;
  std::int64_t extent_ = 0;
  std::uint64_t size_ = 0;
};

// Pairs at equal distances: the first value's place, the distance from pair to pair, and from a value to its index.
struct Spacing {
  std::int64_t stride = 0;
  std::int64_t index = 0;
  bool operator==(const Spacing&) const = default;
};
struct SpacedPairs {
  std::int64_t offset = 0;
  Spacing spacing;
  std::uint64_t count = 0;
};

// A walk over `count` elements in the order of their packed bytes. The runs must outlive it, and none of
// them is empty.
class Cursor {
 public:
  Cursor() = default;
  // `base` is added to every offset.
  Cursor(std::span<const Run> runs, std::int64_t extent, std::uint64_t count,
         std::int64_t base) noexcept;
  Cursor(const Layout& layout, std::uint64_t count, std::int64_t base) noexcept
      : Cursor(layout.runs(), layout.extent(), count, base) {}

  // The next piece, at most `limit` bytes of it. False: `limit` is 0, or nothing is left.
  bool next(std::uint64_t limit, Piece& out) noexcept;
  // The next pairs of a value and an index of these sizes, at most `most` of them, if they lie at equal distances,
  // with or without gaps. False: they do not, and the walk has not moved.
  bool next_pairs(std::uint64_t value, std::uint64_t index, std::uint64_t most,
                  SpacedPairs& out) noexcept;
  // Moves to this place in the packed bytes of the whole walk, at most to their end. Takes time for each run.
  void seek(std::uint64_t place) noexcept;
  // Sets another address of the memory to which offsets refer.
  void set_base(std::int64_t base) noexcept { base_ = base; }
  bool done() const noexcept { return element_ == count_; }

 private:
  std::span<const Run> runs_;
  std::int64_t extent_ = 0;
  std::uint64_t count_ = 0;
  std::int64_t base_ = 0;
  std::uint64_t element_ = 0;
  std::size_t run_ = 0;
  std::uint64_t piece_ = 0;   // of the run
  std::uint64_t within_ = 0;  // bytes of the piece already passed
};

// Copies the next `size` packed bytes between a buffer and the memory that offsets refer to.
void gather(Cursor& from, const std::byte* memory, std::byte* to, std::uint64_t size) noexcept;
void scatter(Cursor& to, std::byte* memory, const std::byte* from, std::uint64_t size) noexcept;

}  // namespace lfc
