// Mapping: a part of a file in this process's memory, unmapped with its owner.
//
//   Mapping part(fd, offset, size);
//   if (part.is_open()) use(part.data());
#pragma once

#include <cstddef>
#include <utility>

namespace lfc {

class Mapping {
 public:
  Mapping() = default;
  // Shared, for reading and writing; not open if the kernel refuses (see errno). `offset`: a multiple of the page size.
  Mapping(int fd, std::size_t offset, std::size_t size) noexcept;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping();
  std::byte* data() const noexcept { return data_; }
  bool is_open() const noexcept { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lfc
