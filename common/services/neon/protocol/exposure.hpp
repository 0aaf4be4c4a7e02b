// Exposure: the memory of a window in this process, and its counters, as peers may reach them by put_notify
// and get_notify.
//
//   exposure.base = memory; exposure.size = bytes;
//   if (std::byte* place = exposure.at(offset, within, n)) ...
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/neon/protocol/slot.hpp"

namespace lfc::neon {

struct Exposure {
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  Slot* slots = nullptr;  // the endpoint's
  std::uint32_t slot_count = 0;

  // Null: not all of it lies in the window.
  std::byte* at(std::uint64_t offset, std::uint64_t within, std::uint64_t bytes) const noexcept {
    if (offset > size || within > size - offset || bytes > size - offset - within) return nullptr;
    return base + offset + within;
  }
  Slot* slot(std::uint32_t index) const noexcept {
    return index < slot_count ? &slots[index] : nullptr;
  }
};

}  // namespace lfc::neon
