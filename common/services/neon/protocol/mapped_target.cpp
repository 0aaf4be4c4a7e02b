#include "services/neon/protocol/mapped_target.hpp"

#include <algorithm>
#include <utility>

#include "base/stored_words.hpp"

namespace lfc::neon {
namespace {

constexpr std::size_t kAgain = 128;  // words that is_due() reads if a notification may be near
constexpr int kHopes = 8;            // calls after a notification

bool is_located(const Announcement& buffer) noexcept {
  return buffer.located && buffer.located_at == buffer.address &&
         buffer.located_size == buffer.size;
}

}  // namespace

bool MappedTarget::locate(Announcement& buffer) {
  buffer.place = reinterpret_cast<std::uintptr_t>(buffer.address) -
                 reinterpret_cast<std::uintptr_t>(carrier_.window(0, 0, 0));
  const std::byte* const within = carrier_.window(buffer.place, 0, buffer.size);
  buffer.located = within != nullptr && within == buffer.address;
  buffer.located_at = buffer.address;
  buffer.located_size = buffer.size;
  return buffer.located;
}

void MappedTarget::list(Opened& each, std::size_t index) {
  each.index = index;
  opened_[index] = &each;
  if (index < kLooks) entries_[index].store(each.entry, std::memory_order_relaxed);
}

void MappedTarget::open(Opened& each) {
  Announcement& buffer = *each.live;
  if (buffer.persistent || each.open) return;
  if (each.entry == nullptr) each.entry = carrier_.own_entry(each.origin, each.tag);
  if (each.entry == nullptr || !(is_located(buffer) || locate(buffer))) return;
  each.open = true;
  opened_.push_back(nullptr);
  list(each, opened_.size() - 1);
  each.entry->open(each.announced, {buffer.place, buffer.size});
  count_.store(opened_.size(), std::memory_order_release);  // pairs with is_due(): so many entries
}

MappedEntry::State MappedTarget::close(Opened& each) {
  if (!each.open) return MappedEntry::State::closed;
  const MappedEntry::State state = each.entry->close(each.announced);
  if (state == MappedEntry::State::busy) {
    if (!std::exchange(each.ending, true)) ending_.fetch_add(1, std::memory_order_relaxed);
    return state;
  }
  if (state == MappedEntry::State::done) land(each);
  forget(each);
  return state;
}

bool MappedTarget::take_final(Opened& each) {
  if (!each.open || each.live == nullptr || !each.entry->is_done(each.announced)) return false;
  each.entry->prefetch();  // the buffer is often announced again soon
  land(each);
  forget(each);
  return true;
}

// Copies the put that the entry carries, if there is one, to the buffer. An honest origin has seen the buffer's size.
void MappedTarget::land(Opened& each) {
  const MappedEntry::Carried put = each.entry->carried();
  if (put.size == 0 || each.live == nullptr) return;
  if (put.size > MappedEntry::kCarried || !fits(put.offset, put.size, each.live->size)) {
    each.live->status = Status::range;
    return;
  }
  store_words(each.live->address + put.offset, reinterpret_cast<const std::byte*>(&put.words),
              put.size);
}

void MappedTarget::forget(Opened& each) {
  if (!std::exchange(each.open, false)) return;
  list(*opened_.back(), each.index);
  opened_.pop_back();
  count_.store(opened_.size(), std::memory_order_relaxed);
  if (std::exchange(each.ending, false)) ending_.fetch_sub(1, std::memory_order_relaxed);
  if (each.closing != nullptr) --std::exchange(each.closing, nullptr)->unheard;
}

bool MappedTarget::is_due() noexcept {
  const std::size_t count = count_.load(std::memory_order_acquire);  // pairs with open()
  if (count == 0) return false;
  if (count > kLooks || ending_.load(std::memory_order_relaxed) != 0) return true;
  std::size_t read = 0;
  do {
    for (std::size_t i = 0; i < count; ++i)
      if (entries_[i].load(std::memory_order_relaxed)->may_be_done()) return true;
    read += count;
  } while (hopes_ > 0 && read < kAgain);
  hopes_ = std::max(hopes_ - 1, 0);
  return false;
}

int MappedTarget::look() {
  int events = 0;
  const std::size_t looks = std::min(opened_.size(), kLooks);
  for (std::size_t i = 0; i < looks && !opened_.empty(); ++i) {
    if (next_ >= opened_.size()) next_ = 0;
    Opened& each = *opened_[next_];
    if (each.live == nullptr) {
      if (close(each) == MappedEntry::State::busy) ++next_;
    } else if (take_final(each)) {  // another one takes its place in the list
      fire(each);
      ++events;
    } else {
      ++next_;
    }
  }
  if (events > 0) hopes_ = kHopes;
  return events;
}

std::vector<Rank> MappedTarget::open_origins() const {
  std::vector<Rank> origins;
  for (const Opened* each : opened_) origins.push_back(each->origin);
  return origins;
}

}  // namespace lfc::neon
