// AddressRoom: address space that this process keeps free for a mapping to come, where it has a limit (ulimit -v).
//
//   AddressRoom room = AddressRoom::keep(bytes, spare);
//   if (room.is_refused()) ...                            // too little is left
//   room.release();                                       // directly before the mapping is made
//
// Threads: values; the caller serialises. Another thread that maps memory between release() and the mapping can take
// the place only if it has used up the spare bytes as well.
#pragma once

#include <cstddef>
#include <utility>

namespace lfc {

class AddressRoom {
 public:
  // Whether this process has such a limit.
  static bool is_limited() noexcept;
  // Keeps `size` bytes. Refused if less than `spare` bytes would be left besides. Without a limit it keeps nothing.
  // Both are multiples of the page size.
  static AddressRoom keep(std::size_t size, std::size_t spare) noexcept;

  AddressRoom() = default;
  AddressRoom(AddressRoom&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_), refused_(other.refused_) {}
  AddressRoom& operator=(AddressRoom&&) = delete;
  ~AddressRoom() { release(); }
  bool is_refused() const noexcept { return refused_; }
  // Whether it keeps address space.
  bool is_held() const noexcept { return data_ != nullptr; }
  void release() noexcept;

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  bool refused_ = false;
};

}  // namespace lfc
