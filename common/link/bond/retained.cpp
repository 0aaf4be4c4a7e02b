#include "link/bond/retained.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lfc::bond {
namespace {

constexpr std::size_t kFirstBytes = 4096;
constexpr std::size_t kFirstFrames = 64;

}  // namespace

void Retained::push(std::uint32_t number, Meta meta, const Slice* slices, int count,
                    std::size_t size, std::uint8_t rail) {
  make_room(size);
  Frame& made = frame(count_++);
  made = {number, static_cast<std::uint32_t>(size), meta, rail, end_};
  std::byte* out = bytes_.data() + (end_ & (bytes_.size() - 1));
  for (int i = 0; i < count; ++i) {
    if (slices[i].size != 0) std::memcpy(out, slices[i].data, slices[i].size);
    out += slices[i].size;
  }
  end_ += size;
  used_ += size;
  if (rail == kNoRail) {
    ++unsent_;
  } else {
    ++on_rail_[rail];
  }
}

void Retained::pop() noexcept {
  const Frame& gone = front();
  used_ -= gone.size;
  if (gone.rail == kNoRail) {
    --unsent_;
  } else {
    --on_rail_[gone.rail];
  }
  head_ = (head_ + 1) & (frames_.size() - 1);
  if (--count_ == 0) end_ = 0;  // the ring's first lines stay warm
}

// Makes both rings large enough for one more frame of this size, and lets end_ be where it fits.
void Retained::make_room(std::size_t size) {
  if (count_ == frames_.size()) {
    std::vector<Frame> larger(std::max(kFirstFrames, frames_.size() * 2));
    for (std::size_t i = 0; i < count_; ++i) larger[i] = frame(i);
    frames_ = std::move(larger);
    head_ = 0;
  }
  largest_ = std::max(largest_, size);
  const std::size_t capacity = bytes_.size();
  const std::size_t offset = capacity == 0 ? 0 : end_ & (capacity - 1);
  const std::size_t begin = offset + size <= capacity ? end_ : end_ + (capacity - offset);
  const std::size_t oldest = count_ == 0 ? begin : front().at;
  if (begin + size - oldest <= capacity) {
    end_ = begin;
    return;
  }
  // `largest_` is room for the bytes that are skipped at the ring's end: fewer than the largest frame.
  std::vector<std::byte> larger(std::bit_ceil(std::max(kFirstBytes, used_ + size + largest_)));
  std::size_t to = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    Frame& kept = frame(i);
    if (kept.size != 0) std::memcpy(larger.data() + to, bytes(kept), kept.size);
    kept.at = to;
    to += kept.size;
  }
  bytes_ = std::move(larger);
  end_ = to;
}

void Retained::forsake(std::uint8_t rail) noexcept {
  if (on_rail_[rail] == 0) return;
  for (std::size_t i = 0; i < count_; ++i) {
    if (frame(i).rail != rail) continue;
    frame(i).rail = kNoRail;
    ++unsent_;
  }
  on_rail_[rail] = 0;
}

Retained::Frame* Retained::first_unsent() noexcept {
  if (unsent_ == 0) return nullptr;
  for (std::size_t i = 0; i < count_; ++i)
    if (frame(i).rail == kNoRail) return &frame(i);
  return nullptr;
}

}  // namespace lfc::bond
