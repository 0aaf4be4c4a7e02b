#include "services/windows/protocol/exposed_memory.hpp"

#include <algorithm>

namespace lfc {
namespace {

// Pieces of one run that are looked up one by one: bounds the cost of a hostile run.
constexpr std::uint64_t kMostPieces = 1 << 16;

}  // namespace

WindowStatus ExposedMemory::attach(const void* base, std::uint64_t size) {
  const auto address = reinterpret_cast<std::uint64_t>(base);
  if (size > UINT64_MAX - address || (base == nullptr && size != 0)) return WindowStatus::range;
  attached_.push_back({address, size});
  return WindowStatus::ok;
}

WindowStatus ExposedMemory::detach(const void* base) {
  const auto address = reinterpret_cast<std::uint64_t>(base);
  const auto found = std::find_if(attached_.begin(), attached_.end(),
                                  [&](const Region& region) { return region.address == address; });
  if (found == attached_.end()) return WindowStatus::invalid;
  attached_.erase(found);
  return WindowStatus::ok;
}

// Returns whether all bytes from a run's first to its last lie in attached regions, in one or in several adjacent ones.
bool ExposedMemory::is_attached(const Run& run) const noexcept {
  Bounds bounds;
  if (!bounds_of({&run, 1}, bounds) || bounds.low < 0) return false;
  const auto high = static_cast<std::uint64_t>(bounds.high);
  for (auto low = static_cast<std::uint64_t>(bounds.low); low < high;) {
    std::uint64_t reach = low;
    for (const Region& region : attached_)
      if (region.address <= low) reach = std::max(reach, region.address + region.size);
    if (reach == low) return false;
    low = reach;
  }
  return true;
}

// In a dynamic window offsets are addresses, and each piece must be attached. In all others they count from the
// window's start.
std::byte* ExposedMemory::resolve(std::span<const Run> runs, std::int64_t& base) const noexcept {
  Bounds bounds;
  base = 0;
  if (!dynamic()) {
    if (runs.size() == 1 && runs[0].repeat == 1) {  // the usual case
      const auto begin = static_cast<std::uint64_t>(runs[0].offset);
      return begin <= size_ && runs[0].length <= size_ - begin ? base_ : nullptr;
    }
    for (const Run& run : runs) {
      if (!bounds_of({&run, 1}, bounds) || bounds.low < 0 ||
          static_cast<std::uint64_t>(bounds.high) > size_)
        return nullptr;
    }
    return base_;
  }
  for (const Run& run : runs) {
    if (is_attached(run)) continue;
    // Bytes between the pieces of a regular run may be unattached.
    if (run.repeat == 1 || run.repeat > kMostPieces) return nullptr;
    Run piece{run.offset, run.length, 0, 1};
    for (std::uint64_t i = 0; i < run.repeat; ++i, piece.offset += run.stride)
      if (!is_attached(piece)) return nullptr;
  }
  base = -runs[0].offset;
  return reinterpret_cast<std::byte*>(runs[0].offset);
}

void ExposedMemory::share(WindowControl* control) {
  if (control == nullptr) {
    all_singles_known_ = false;
  } else {
    sharers_.push_back(control);
  }
}

Hold ExposedMemory::hold(std::uint64_t count) noexcept {
  if (all_take_lock()) return Hold::alone;
  if (count <= kFewElements || !all_singles_known_) return Hold::shared;
  bool all = true;
  for (WindowControl* member : sharers_)
    if (!member->singles.given_up()) all = false;
  if (!all) return Hold::shared;
  alone_.store(true, std::memory_order_release);
  return Hold::alone;
}

Hold ExposedMemory::host_hold(std::uint64_t count, bool& began) noexcept {
  SingleElements& own = control_->singles;
  began = count <= kFewElements && own.begin();
  if (began) return Hold::none;
  const Hold now = hold(count);
  if (now == Hold::alone || !own.settle()) return now;
  return hold(count);
}

}  // namespace lfc
