#include "elements/layout.hpp"

#include <algorithm>
#include <cstring>

namespace lfc {

void append_piece(std::vector<Run>& runs, Piece piece) {
  if (piece.length == 0) return;
  if (!runs.empty()) {
    Run& last = runs.back();
    const auto length = static_cast<std::int64_t>(last.length);
    if (last.repeat == 1 && piece.offset == last.offset + length) {
      last.length += piece.length;
      return;
    }
    if (last.length == piece.length) {
      const auto repeat = static_cast<std::int64_t>(last.repeat);
      if (last.repeat == 1) last.stride = piece.offset - last.offset;
      if (piece.offset == last.offset + last.stride * repeat) {
        ++last.repeat;
        return;
      }
    }
  }
  runs.push_back({piece.offset, piece.length, 0, 1});
}

bool bounds_of(std::span<const Run> runs, Bounds& out) noexcept {
  out = {};
  bool first = true;
  for (const Run& run : runs) {
    if (run.length == 0 || run.repeat == 0) continue;
    if (run.length > INT64_MAX || run.repeat > INT64_MAX) return false;
    std::int64_t reach = 0;
    std::int64_t last = 0;
    std::int64_t high = 0;
    if (__builtin_mul_overflow(run.stride, static_cast<std::int64_t>(run.repeat - 1), &reach) ||
        __builtin_add_overflow(run.offset, reach, &last) ||
        __builtin_add_overflow(std::max(run.offset, last), static_cast<std::int64_t>(run.length),
                               &high))
      return false;
    const std::int64_t low = std::min(run.offset, last);
    out.low = first ? low : std::min(out.low, low);
    out.high = first ? high : std::max(out.high, high);
    first = false;
  }
  return true;
}

void Layout::add(std::int64_t offset, std::uint64_t length) {
  append_piece(runs_, {offset, length});
  size_ += length;
}

bool Layout::bounds(std::uint64_t count, Bounds& out) const noexcept {
  if (!bounds_of(runs_, out)) return false;
  if (count == 0) out = {};
  if (count < 2 || out.low == out.high) return true;
  std::int64_t reach = 0;
  if (count > INT64_MAX ||
      __builtin_mul_overflow(extent_, static_cast<std::int64_t>(count - 1), &reach))
    return false;
  std::int64_t& moved = reach < 0 ? out.low : out.high;
  return !__builtin_add_overflow(moved, reach, &moved);
}

Cursor::Cursor(std::span<const Run> runs, std::int64_t extent, std::uint64_t count,
               std::int64_t base) noexcept
    : runs_(runs), extent_(extent), count_(runs.empty() ? 0 : count), base_(base) {}

bool Cursor::next(std::uint64_t limit, Piece& out) noexcept {
  if (limit == 0 || done()) return false;
  const Run& run = runs_[run_];
  out.offset = base_ + extent_ * static_cast<std::int64_t>(element_) + run.offset +
               run.stride * static_cast<std::int64_t>(piece_) + static_cast<std::int64_t>(within_);
  out.length = std::min(limit, run.length - within_);
  within_ += out.length;
  if (within_ < run.length) return true;
  within_ = 0;
  if (++piece_ < run.repeat) return true;
  piece_ = 0;
  if (++run_ < runs_.size()) return true;
  run_ = 0;
  ++element_;
  return true;
}

bool Cursor::next_pairs(std::uint64_t value, std::uint64_t index, std::uint64_t most,
                        SpacedPairs& out) noexcept {
  if (most == 0 || done() || within_ != 0) return false;
  const Run& run = runs_[run_];
  out.offset = base_ + extent_ * static_cast<std::int64_t>(element_) + run.offset +
               run.stride * static_cast<std::int64_t>(piece_);
  out.spacing = {extent_, static_cast<std::int64_t>(value)};
  out.count = std::min(most, count_ - element_);
  const bool apart = runs_.size() == 2 && run_ == 0 && run.length == value && run.repeat == 1 &&
                     runs_[1].length == index && runs_[1].repeat == 1;
  if (apart) {  // a hole between the two: two pieces to an element
    out.spacing.index = runs_[1].offset - run.offset;
    element_ += out.count;
    return true;
  }
  if (run.length != value + index) return false;
  if (runs_.size() == 1 && run.repeat == 1) {
    element_ += out.count;
    return true;
  }
  out.spacing.stride = run.stride;
  out.count = std::min(most, run.repeat - piece_);
  piece_ += out.count - 1;
  Piece last;
  return next(run.length, last);
}

void Cursor::seek(std::uint64_t place) noexcept {
  std::uint64_t size = 0;
  for (const Run& run : runs_) size += run.length * run.repeat;
  if (size == 0) return;
  element_ = place / size;
  place %= size;
  for (run_ = 0; place >= runs_[run_].length * runs_[run_].repeat; ++run_)
    place -= runs_[run_].length * runs_[run_].repeat;
  piece_ = place / runs_[run_].length;
  within_ = place % runs_[run_].length;
}

void gather(Cursor& from, const std::byte* memory, std::byte* to, std::uint64_t size) noexcept {
  for (Piece piece; from.next(size, piece); size -= piece.length, to += piece.length)
    std::memcpy(to, memory + piece.offset, piece.length);
}

void scatter(Cursor& to, std::byte* memory, const std::byte* from, std::uint64_t size) noexcept {
  for (Piece piece; to.next(size, piece); size -= piece.length, from += piece.length)
    std::memcpy(memory + piece.offset, from, piece.length);
}

}  // namespace lfc
