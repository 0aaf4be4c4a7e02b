// RingMemory: memory for one ring, zeroed and aligned as a ring requires.
//
//   const RingShape shape;
//   RingMemory memory(shape);
//   RingWriter writer(memory.get(), shape);
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "link/ring.hpp"

namespace lfc {

class RingMemory {
 public:
  explicit RingMemory(const RingShape& shape)
      : bytes_(static_cast<std::byte*>(::operator new(shape.bytes(), kAlignment))) {
    std::memset(bytes_.get(), 0, shape.bytes());
  }
  std::byte* get() const noexcept { return bytes_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{kRingAlignment};
  struct Free {
    void operator()(std::byte* bytes) const noexcept { ::operator delete(bytes, kAlignment); }
  };

  std::unique_ptr<std::byte, Free> bytes_;
};

}  // namespace lfc
