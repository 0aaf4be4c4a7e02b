// KeyTable: objects by the name of their key, in a hash table that owns them.
//
//   KeyTable<Sender> senders;
//   Sender& made = senders.add(std::make_unique<Sender>(end));   // no object has this name yet
//   if (Sender* found = senders.find(end.name)) ...
//   senders.erase(made);
//
// Memory: at most 16 pointers for each object that is here, and a minimum. Threads: the caller serialises.
// Tests: tests/unit/services/channels/key_table_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace lfc::channels {

// Name: the messages of one tag that this process exchanges with one rank of a communicator.
struct Name {
  std::uint32_t comm = 0;
  std::int32_t rank = 0;  // the other process's
  std::int32_t tag = 0;
  bool operator==(const Name&) const = default;
};

// End: one process's end of a channel.
struct End {
  Name name;
  std::uint32_t peer = 0;  // the other process, as the engine's peer
  std::int32_t self = 0;   // this process's rank in the communicator
  bool operator==(const End&) const = default;
};

// Mixes all bits of the name into the upper bits.
inline std::uint64_t hash_of(const Name& name) noexcept {
  std::uint64_t hash = std::uint64_t{name.comm} << 32 | static_cast<std::uint32_t>(name.rank);
  hash *= UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ hash >> 32) + static_cast<std::uint32_t>(name.tag);
  return hash * UINT64_C(0x9e3779b97f4a7c15);
}

// Each object of type T has a member `end`.
template <class T>
class KeyTable {
 public:
  T* find(const Name& name) const noexcept { return slots_[place_of(name)].get(); }
  // Throws std::bad_alloc: no memory.
  T& add(std::unique_ptr<T> object) {
    if (2 * (size_ + 1) > count()) resize(Slots(new Slot[2 * count()]), bits_ + 1);
    Slot& slot = slots_[place_of(object->end.name)];
    slot = std::move(object);
    ++size_;
    return *slot;
  }
  void erase(T& object) noexcept {
    std::size_t hole = place_of(object.end.name);
    slots_[hole].reset();
    for (std::size_t at = next(hole); slots_[at] != nullptr; at = next(at)) {
      // A look-up of this object begins at its home, and must not pass a hole.
      if (distance(home_of(slots_[at]->end.name), at) < distance(hole, at)) continue;
      slots_[hole] = std::move(slots_[at]);
      hole = at;
    }
    --size_;
    if (bits_ == kFewestBits || 16 * size_ > count()) return;
    if (Slots fewer(new (std::nothrow) Slot[count() / 2]); fewer != nullptr)
      resize(std::move(fewer), bits_ - 1);
  }
  std::size_t size() const noexcept { return size_; }
  // Places in the table, used or not.
  std::size_t count() const noexcept { return std::size_t{1} << bits_; }

 private:
  using Slot = std::unique_ptr<T>;
  using Slots = std::unique_ptr<Slot[]>;
  static constexpr unsigned kFewestBits = 3;

  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (count() - 1); }
  std::size_t distance(std::size_t from, std::size_t to) const noexcept {
    return (to - from) & (count() - 1);
  }
  std::size_t home_of(const Name& name) const noexcept { return hash_of(name) >> (64 - bits_); }
  // The place of this name, or the empty one where it would be.
  std::size_t place_of(const Name& name) const noexcept {
    std::size_t at = home_of(name);
    while (slots_[at] != nullptr && slots_[at]->end.name != name) at = next(at);
    return at;
  }
  void resize(Slots slots, unsigned bits) noexcept {
    const std::size_t before = count();
    std::swap(slots_, slots);
    bits_ = bits;
    for (std::size_t at = 0; at < before; ++at)
      if (slots[at] != nullptr) slots_[place_of(slots[at]->end.name)] = std::move(slots[at]);
  }

  unsigned bits_ = kFewestBits;
  Slots slots_{new Slot[std::size_t{1} << kFewestBits]};
  std::size_t size_ = 0;
};

}  // namespace lfc::channels
