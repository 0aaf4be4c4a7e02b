// ExposedMemory: the exposed memory of one member, and the mutual exclusion of accesses to its elements.
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

// The shared state of a window besides its bytes. Local peers map it even if they do not map the bytes.
struct WindowControl {
  TicketLock lock;
  ElementLock elements;
  SingleElements singles;  // of the member whose control this is
};

class ExposedMemory {
 public:
  // Up to so many elements are changed by CPU atomics, unless all members take the lock. From two elements on the lock
  // costs less.
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

  // For dynamic windows.
  WindowStatus attach(const void* base, std::uint64_t size);
  WindowStatus detach(const void* base);
  // Returns the memory that the runs are relative to, and sets `base`, which is added to their offsets. Null: not all
  // of it is exposed.
  std::byte* resolve(std::span<const Run> runs, std::int64_t& base) const noexcept;

  // Adds a member whose elements this process changes by loads and stores, itself included. Null: its control cannot be
  // mapped.
  void share(WindowControl* control);
  // Returns how any caller may change `count` elements of a mapped member or of this one. Many elements make all
  // members take the lock.
  Hold hold(std::uint64_t count) noexcept;
  // True: all members take the lock from now on.
  bool all_take_lock() const noexcept { return alone_.load(std::memory_order_acquire); }
  // As hold(), for the host, which changes no element of its own now. `began`: from now on it changes elements
  // without the lock, and must settle now and then.
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
  bool all_singles_known_ = true;   // of the members that may change elements by loads and stores
  std::atomic<bool> alone_{false};  // under an element lock of this window: all members take it
};

}  // namespace lfc
