// NameTable: names for objects of ours to which peers refer. A name is {generation, index}, so an old
// one does not mean a new object; no name is 0, and no two objects have the same.
//
//   NameTable<Window, std::uint32_t> windows{20};         // at most 2^20 at a time
//   const std::uint32_t name = windows.enter(window);     // throws when there are that many
//   if (Window* found = windows.find(name)) ...           // any name that a peer sends
//   windows.leave(name);
//
// After 2^(the other bits) uses of one place its names begin anew.
// Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

namespace lfc {

template <class T, class Name>
class NameTable {
 public:
  // At most 32 bits of index; the other bits of a name are the generation.
  explicit NameTable(unsigned index_bits) noexcept : index_bits_(index_bits) {}
  // Throws std::bad_alloc: no memory, or no name is left.
  Name enter(T& thing) {
    if (free_ == kNone) {
      if (entries_.size() > index_mask()) throw std::bad_alloc();
      free_ = static_cast<std::uint32_t>(entries_.size());
      entries_.emplace_back();
    }
    const std::uint32_t index = free_;
    Entry& entry = entries_[index];
    free_ = entry.next_free;
    entry.thing = &thing;
    entry.generation = entry.generation == last_generation() ? 1 : entry.generation + 1;
    return static_cast<Name>(entry.generation) << index_bits_ | index;
  }
  void leave(Name name) noexcept {
    const auto index = static_cast<std::uint32_t>(name & index_mask());
    entries_[index].thing = nullptr;
    entries_[index].next_free = free_;
    free_ = index;
  }
  // Null: no object has this name, or no longer.
  T* find(Name name) const noexcept {
    const Name index = name & index_mask();
    if (index >= entries_.size()) return nullptr;
    const Entry& entry = entries_[static_cast<std::size_t>(index)];
    return entry.generation == static_cast<Name>(name >> index_bits_) ? entry.thing : nullptr;
  }
  // Returns the name of the object in this place, or of the last one there; 0: none has ever had it.
  Name name_at(std::uint32_t place) const noexcept {
    if (place >= entries_.size()) return 0;
    return static_cast<Name>(entries_[place].generation) << index_bits_ | place;
  }
  // The largest number of objects at a time so far.
  std::size_t places() const noexcept { return entries_.size(); }
  // Whether any object has ever had this place.
  bool is_known(Name name) const noexcept { return (name & index_mask()) < entries_.size(); }
  // Calls call(thing) for each object, which may leave during the call.
  template <class Call>
  void for_each(Call call) {
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].thing != nullptr) call(*entries_[i].thing);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Entry {
    T* thing = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNone;
  };
  Name index_mask() const noexcept { return static_cast<Name>((Name{1} << index_bits_) - 1); }
  Name last_generation() const noexcept {
    return static_cast<Name>(std::numeric_limits<Name>::max() >> index_bits_);
  }

  const unsigned index_bits_;
  std::vector<Entry> entries_;
  std::uint32_t free_ = kNone;
};

}  // namespace lfc
