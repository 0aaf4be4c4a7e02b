// EarlyMessages: messages of channels that no request waited for, of one sender, in the order in which they came.
//
//   EarlyMessages<Key> early;
//   if (!early.keep(key, frame, size)) ...                      // no place, or the message is too long
//   if (EarlyMessages<Key>::Item* first = key.first_early) early.drop(*first);    // after its use
//   while (EarlyMessages<Key>::Item* oldest = early.oldest()) early.drop(*oldest);
//
// The frames are copied. Memory: none before the first message. Each step takes the same time for any number of them.
// Threads: one. Tests: tests/unit/services/channels/early_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace lfc::channels {

template <class Key>
class EarlyMessages {
 public:
  static constexpr std::size_t kMost = 64;         // messages
  static constexpr std::size_t kCell = 256;        // bytes of a short frame
  static constexpr std::size_t kRoom = 32 * 1024;  // bytes of all longer frames

  struct Item {
    Key* key = nullptr;
    std::byte* frame = nullptr;
    std::size_t size = 0;
    Item *before = nullptr, *after = nullptr;  // of all; `after` also joins those that are free
    Item* next = nullptr;                      // of the key
  };

  bool empty() const noexcept { return oldest_ == nullptr; }
  Item* oldest() const noexcept { return oldest_; }

  // False: there is no place for it, or no memory.
  bool keep(Key& key, const std::byte* frame, std::size_t size) noexcept {
    if (store_ == nullptr && !make()) return false;
    Item* const item = free_;
    const bool is_short = size <= kCell;
    if (item == nullptr || (!is_short && size > kRoom - used_)) return false;
    free_ = item->after;
    if (is_short) {
      item->frame = store_->cells[static_cast<std::size_t>(item - store_->items.data())].data();
    } else {
      item->frame = store_->room.data() + used_;
      used_ += size;
      ++longer_;
    }
    std::memcpy(item->frame, frame, size);
    item->key = &key;
    item->size = size;
    item->next = nullptr;
    item->after = nullptr;
    item->before = newest_;
    (newest_ == nullptr ? oldest_ : newest_->after) = item;
    newest_ = item;
    (key.first_early == nullptr ? key.first_early : key.last_early->next) = item;
    key.last_early = item;
    return true;
  }
  // Removes the oldest message of its key. Its frame stays valid until the next keep().
  void drop(Item& item) noexcept {
    item.key->first_early = item.next;
    (item.before == nullptr ? oldest_ : item.before->after) = item.after;
    (item.after == nullptr ? newest_ : item.after->before) = item.before;
    if (item.size > kCell && --longer_ == 0) used_ = 0;
    item.after = free_;
    free_ = &item;
  }

 private:
  struct Store {
    std::array<Item, kMost> items;
    std::array<std::array<std::byte, kCell>, kMost> cells;
    std::array<std::byte, kRoom> room;
  };

  bool make() noexcept {
    store_.reset(new (std::nothrow) Store);
    if (store_ == nullptr) return false;
    for (Item& item : store_->items) {
      item.after = free_;
      free_ = &item;
    }
    return true;
  }

  std::unique_ptr<Store> store_;
  Item *oldest_ = nullptr, *newest_ = nullptr, *free_ = nullptr;
  std::size_t used_ = 0, longer_ = 0;
};

}  // namespace lfc::channels
