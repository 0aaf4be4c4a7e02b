// ExposedMemory: what a member exposes, and how the elements in it are kept apart.
//
//   std::byte* const at = memory.resolve(runs, base);        // null: not all of it is exposed
//   const ElementGuard guard{memory.control().elements, memory.hold(count)};
//
// Threads: hold() and host_hold() any; the caller serialises the rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elements/accumulate.hpp"
#include "elements/layout.hpp"
#include "elements/single_elements.hpp"
#include "services/windows/protocol/ticket_lock.hpp"
#include "services/windows/protocol/view.hpp"

namespace lfc {

// Where local peers find what a window shares besides its bytes; also where they do not map those.
struct WindowControl {
  TicketLock lock;
  ElementLock elements;
  SingleElements singles;  // of the member whose control this is
};

class ExposedMemory {
 public:
  // Up to so many elements are changed by CPU atomics, unless all members take the lock anyway: from two on that costs
  // less.
  static constexpr std::uint64_t kFewElements = 1;

  ExposedMemory(Flavor flavor, std::byte* base, std::uint64_t size, WindowControl* control) noexcept
      : flavor_(flavor), base_(base), size_(size), control_(control) {}

  std::byte* base() const noexcept { return base_; }
  std::uint64_t size() const noexcept { return size_; }
  Flavor flavor() const noexcept { return flavor_; }
  bool allocated() const noexcept {
    return flavor_ == Flavor::allocate || flavor_ == Flavor::shared;
  }
  bool dynamic() const noexcept { return flavor_ == Flavor::dynamic; }
  WindowControl& control() const noexcept { return *control_; }

  // Dynamic windows.
  WindowStatus attach(const void* base, std::uint64_t size);
  WindowStatus detach(const void* base);
  // The memory that the runs are relative to, and what to add to their offsets; null: not all inside.
  std::byte* resolve(std::span<const Run> runs, std::int64_t& base) const noexcept;

  // A member whose elements we change by loads and stores, ourselves included; null: one whose control cannot be
  // mapped.
  void share(WindowControl* control);
  // How that many elements of a mapped member, or our own, may be changed by whoever comes: many of them ask all
  // members to take the lock.
  Hold hold(std::uint64_t count) noexcept;
  // All members take the lock, from now on.
  bool all_take_lock() const noexcept { return alone_.load(std::memory_order_acquire); }
  // The same for the host, which is at no element of its own now. `began`: it changes elements without the lock from
  // now on, and has to settle now and then.
  Hold host_hold(std::uint64_t count, bool& began) noexcept;

 private:
  struct Region {
    std::uint64_t address;
    std::uint64_t size;
  };
  bool is_attached(const Run& run) const noexcept;

  const Flavor flavor_;
  std::byte* const base_;
  const std::uint64_t size_;
  WindowControl* const control_;
  std::vector<Region> attached_;
  std::vector<WindowControl*> sharers_;
  bool all_singles_known_ = true;   // of the members who may change elements by loads and stores
  std::atomic<bool> alone_{false};  // under an element lock of this window: all members take it
};

}  // namespace lfc
