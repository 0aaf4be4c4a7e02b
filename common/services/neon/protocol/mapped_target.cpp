#include "services/neon/protocol/mapped_target.hpp"

#include <algorithm>
#include <utility>

namespace lfc::neon {
namespace {

constexpr std::size_t kLooks = 32;   // entries that one call looks at
constexpr std::size_t kAgain = 128;  // if a notification may be near
constexpr int kHopes = 8;            // calls after a notification

}  // namespace

void MappedTarget::open(Opened& each) {
  const Announcement& buffer = *each.live;
  if (buffer.persistent || each.open) return;
  if (each.entry == nullptr) each.entry = carrier_.own_entry(each.origin, each.tag);
  if (each.entry == nullptr) return;
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(buffer.address) -
                              reinterpret_cast<std::uintptr_t>(carrier_.window(0, 0, 0));
  const std::byte* const within = carrier_.window(place, 0, buffer.size);
  if (within == nullptr || within != buffer.address) return;
  each.open = true;
  each.index = opened_.size();
  opened_.push_back(&each);
  count_.store(opened_.size(), std::memory_order_relaxed);
  each.entry->open(each.announced, {place, buffer.size});
}

MappedEntry::State MappedTarget::close(Opened& each) {
  if (!each.open) return MappedEntry::State::closed;
  const MappedEntry::State state = each.entry->close(each.announced);
  if (state != MappedEntry::State::busy) forget(each);
  return state;
}

void MappedTarget::forget(Opened& each) {
  if (!std::exchange(each.open, false)) return;
  opened_.back()->index = each.index;
  opened_[each.index] = opened_.back();
  opened_.pop_back();
  count_.store(opened_.size(), std::memory_order_relaxed);
  if (each.closing != nullptr) --std::exchange(each.closing, nullptr)->unheard;
}

int MappedTarget::look() {
  int events = 0;
  const std::size_t once = std::min(opened_.size(), kLooks);
  const std::size_t looks = hopes_ > 0 ? kAgain : once;
  for (std::size_t i = 0; i < looks && !opened_.empty() && (i < once || events == 0); ++i) {
    if (next_ >= opened_.size()) next_ = 0;
    Opened& each = *opened_[next_];
    if (each.live == nullptr) {
      if (close(each) == MappedEntry::State::busy) ++next_;
    } else if (each.entry->is_done(each.announced)) {
      fire(each);  // another one takes its place in the list
      ++events;
    } else {
      ++next_;
    }
  }
  hopes_ = events > 0 ? kHopes : std::max(hopes_ - 1, 0);
  return events;
}

std::vector<Rank> MappedTarget::open_origins() const {
  std::vector<Rank> origins;
  for (const Opened* each : opened_) origins.push_back(each->origin);
  return origins;
}

}  // namespace lfc::neon
