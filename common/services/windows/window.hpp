// Window: memory that other processes read, write and combine into without this host's help. One MPI window, or another
// object that has ranks, memory and epochs.
//
//   std::unique_ptr<Window> window = windows->create(std::move(shape));
//   allgather(window->facts(), facts);                      // of all ranks
//   window->connect(facts, peers, local_peers);              // each by rank
//   window->lock(target, true, false);
//   window->put(target, origin, there, nullptr);            // Views: local memory, displacement
//   window->put_plain(target, &word, 8, displacement);
//   window->unlock(target);
//
// This file has a window's creation and end, and the host's own part of an operation: loads and stores to mapped
// memory. way.hpp chooses the way of each operation; the protocol (protocol.hpp) does the rest.
// Threads: any, when the NI has threads. Source: MPI-3.1 chapter 11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "link/region.hpp"
#include "machine/shared_memory.hpp"
#include "services/windows/engine_carrier.hpp"
#include "services/windows/epoch_calls.hpp"
#include "services/windows/shown.hpp"

namespace lfc {

// The facts of a member that all others need: plain bytes, exchanged once.
struct WindowFacts {
  std::uint32_t id = 0;
  std::uint32_t displacement_unit = 1;
  std::uint32_t process = 0;  // pid, for local peers
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  RegionHandle region;
  SharedMemoryName
      segment;  // of the control and, if the window allocated it, the memory; size 0: none
  std::uint64_t control_offset = 0;
  std::uint64_t memory_offset = 0;
};

// Memory that a window owns.
struct WindowMemory {
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  // shared: all parts; else the control, and the part of this rank if the window allocates it.
  std::optional<SharedMemory> segment;
  // Allocated without a segment, because the kernel refuses it: peers reach it through their links.
  std::unique_ptr<std::byte, Free> unshared;
};

struct WindowShape {
  Flavor flavor = Flavor::create;
  void* base = nullptr;  // create
  std::uint64_t size = 0;
  std::uint32_t displacement_unit = 1;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  WindowMemory own;
  // shared: where this rank's part lies in the segment that all of them map.
  std::uint64_t control_offset = 0;
  std::uint64_t memory_offset = 0;

  bool allocates() const noexcept { return flavor == Flavor::allocate || flavor == Flavor::shared; }
};

class Window final : public EpochCalls {
 public:
  using Shape = WindowShape;

  ~Window();

  // --- Life ---

  std::byte* memory() const noexcept { return protocol_.memory.base(); }
  const WindowFacts& facts() const noexcept { return facts_; }
  // Takes the members' facts and peers, by rank, and maps the memory of those in `local_peers`. False: a local peer's
  // memory cannot be mapped. Throws std::bad_alloc, and then the window can only be destroyed.
  bool connect(std::span<const WindowFacts> facts, std::span<const PeerId> peers,
               std::span<const bool> local_peers);
  // Closes the segment, when no peer will map it any more.
  void close_segment() noexcept;
  // True: every member's memory is mapped here.
  bool all_mapped() const noexcept { return all_mapped_; }
  std::uint32_t ranks() const noexcept {
    return static_cast<std::uint32_t>(carrier_.routes().size());
  }
  // The size of that rank's memory, and its address in its own process.
  std::uint64_t size(std::uint32_t rank) const noexcept {
    return protocol_.origin.memory_size(rank);
  }
  std::uint64_t address(std::uint32_t rank) const noexcept { return carrier_.route(rank).base; }
  // For dynamic windows.
  WindowStatus attach(void* base, std::uint64_t size);
  WindowStatus detach(const void* base);

  // --- Operations. One waits only if the target has not caught up with many before it (README.md, Bounds), and drives
  // the rest of the process meanwhile; `lost`: a member is lost. If `request` is not null, host.finished() is called
  // with it when origin and result are the caller's again, possibly inside the call. ---

  WindowStatus put(std::uint32_t target, const View& origin, const View& there, void* request);
  WindowStatus get(std::uint32_t target, const View& result, const View& there, void* request);
  WindowStatus accumulate(std::uint32_t target, Accumulation what, const View& origin,
                          const View& there, void* request);
  // Stores the old values in `result`.
  WindowStatus fetch(std::uint32_t target, Accumulation what, const View& origin,
                     const View& result, const View& there, void* request);
  // Swaps one element of `size` bytes, at most 8.
  WindowStatus compare_and_swap(std::uint32_t target, const void* compare, const void* value,
                                void* result, std::size_t size, std::int64_t offset);

  // The same operations on contiguous bytes or elements at a displacement in the target's units. They have a short path
  // for the case in which choose() returns Way::stores.
  WindowStatus put_plain(std::uint32_t target, const void* origin, std::uint64_t bytes,
                         std::int64_t displacement);
  WindowStatus get_plain(std::uint32_t target, void* result, std::uint64_t bytes,
                         std::int64_t displacement);
  // `result` may be null. The combination is valid.
  WindowStatus accumulate_plain(std::uint32_t target, Accumulation what, const void* origin,
                                void* result, std::uint64_t bytes, std::uint64_t count,
                                std::int64_t displacement);
  // Accumulates pairs that lie `extent` apart on both sides, as in C, into mapped memory. False: another case, and
  // nothing was done.
  bool pairs_plain(std::uint32_t target, Accumulation what, const void* origin,
                   std::uint64_t extent, std::uint64_t count, std::int64_t displacement);
  WindowStatus swap_plain(std::uint32_t target, const void* compare, const void* value,
                          void* result, std::size_t size, std::int64_t displacement);
  std::uint32_t displacement_unit(std::uint32_t rank) const noexcept {
    return protocol_.origin.displacement_unit(rank);
  }
  // Converts a displacement into an offset in the target's memory, in bytes. False: 64 bits do not hold it.
  bool offset_of(std::uint32_t target, std::int64_t displacement,
                 std::int64_t& offset) const noexcept {
    const std::int64_t unit{displacement_unit(target)};
    return !__builtin_mul_overflow(displacement, unit, &offset);
  }
  // Returns the target's memory at a displacement if `bytes` of it may be accessed by loads and stores now; else null.
  std::byte* stores(std::uint32_t target, std::int64_t displacement,
                    std::uint64_t bytes) const noexcept {
    const rma::OriginPeer& to = peer(target);
    if (to.mapped == nullptr || to.first != nullptr || !protocol_.origin.open_for_stores(to) ||
        displacement < 0)
      return nullptr;
    std::uint64_t offset = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(displacement),
                               std::uint64_t{to.displacement_unit}, &offset) ||
        offset > to.size || bytes > to.size - offset)
      return nullptr;
    return to.mapped + offset;
  }

 private:
  friend class WindowService;
  friend struct NotifiedAccess;
  template <class>
  friend struct Insight;  // lfc-look

  Window(WindowService& windows, Shape shape, const Placement& placement);

  WindowStatus issue(const WindowCall& call);
  WindowStatus plain(WindowCall::Kind kind, std::uint32_t target, Accumulation what,
                     const void* origin, void* result, std::uint64_t bytes,
                     std::int64_t displacement);
  bool issue_plain(const PlainCall& call);
  // Returns the guard with which the host may now change `count` elements of a target whose memory is mapped.
  ElementGuard elements(std::uint32_t target, std::uint64_t count) noexcept {
    const bool single =
        count <= ExposedMemory::kFewElements && protocol_.memory.control().singles.may_skip_lock();
    const Hold hold = single                             ? Hold::none
                      : protocol_.memory.all_take_lock() ? Hold::alone
                                                         : host_hold(count);
    return {peer(target).control->elements, hold};
  }
  Hold host_hold(std::uint64_t count) noexcept;
  void find_link(std::uint32_t target);
  bool map(std::uint32_t rank, const WindowFacts& its, bool local_peer);
  WindowStatus execute(const WindowCall& call, Walk& walk);
  void combine(const WindowCall& call, Walk& walk, std::byte* memory);
  void run_host_work();

  WindowFacts facts_;
  WindowMemory own_;
  EngineCarrier carrier_;
  bool all_mapped_ = false;
  const WindowShown shown_{*this};
};

// Copies a word in one instruction, even if the compiler does not know the size.
inline void copy_bytes(void* to, const void* from, std::uint64_t bytes) noexcept {
  if (bytes == sizeof(std::uint64_t)) {
    std::memcpy(to, from, sizeof(std::uint64_t));
  } else {
    std::memcpy(to, from, bytes);
  }
}

inline WindowStatus Window::put_plain(std::uint32_t target, const void* origin, std::uint64_t bytes,
                                      std::int64_t displacement) {
  std::byte* const there = stores(target, displacement, bytes);
  if (there == nullptr)
    return plain(WindowCall::Kind::put, target, {}, origin, nullptr, bytes, displacement);
  order_.note_stores();
  copy_bytes(there, origin, bytes);
  return WindowStatus::ok;
}

inline WindowStatus Window::get_plain(std::uint32_t target, void* result, std::uint64_t bytes,
                                      std::int64_t displacement) {
  const std::byte* const there = stores(target, displacement, bytes);
  if (there == nullptr)
    return plain(WindowCall::Kind::get, target, {}, nullptr, result, bytes, displacement);
  order_.before_loads();
  copy_bytes(result, there, bytes);
  return WindowStatus::ok;
}

inline WindowStatus Window::accumulate_plain(std::uint32_t target, Accumulation what,
                                             const void* origin, void* result, std::uint64_t bytes,
                                             std::uint64_t count, std::int64_t displacement) {
  std::byte* const there = stores(target, displacement, bytes);
  if (there == nullptr)
    return plain(result == nullptr ? WindowCall::Kind::accumulate : WindowCall::Kind::fetch, target,
                 what, origin, result, bytes, displacement);
  const bool reads_only = what.operation == Accumulate::no_op;
  if (reads_only) {
    order_.before_loads();
  } else {
    order_.before_atomic();
  }
  const bool ordered =
      lfc::accumulate(what, there, static_cast<const std::byte*>(origin),
                      static_cast<std::byte*>(result), count, elements(target, count));
  if (!ordered && !reads_only) order_.note_stores();
  return WindowStatus::ok;
}

inline bool Window::pairs_plain(std::uint32_t target, Accumulation what, const void* origin,
                                std::uint64_t extent, std::uint64_t count,
                                std::int64_t displacement) {
  const PairLayout layout = layout_of(what.element);
  if (extent != layout.distance || extent == 0 || count == 0) return false;
  std::byte* const there = stores(target, displacement, (count - 1) * extent + layout.used);
  if (there == nullptr) return false;
  order_.before_atomic();  // the element lock
  order_.note_stores();
  return lfc::accumulate_pairs(what, there, static_cast<const std::byte*>(origin), count,
                               peer(target).control->elements);
}

inline WindowStatus Window::swap_plain(std::uint32_t target, const void* compare, const void* value,
                                       void* result, std::size_t size, std::int64_t displacement) {
  std::byte* const there = stores(target, displacement, size);
  if (there == nullptr || size > sizeof(std::uint64_t)) {
    std::int64_t offset = 0;
    if (!offset_of(target, displacement, offset)) return WindowStatus::range;
    return compare_and_swap(target, compare, value, result, size, offset);
  }
  order_.before_atomic();
  if (!lfc::compare_and_swap(there, static_cast<const std::byte*>(compare),
                             static_cast<const std::byte*>(value), static_cast<std::byte*>(result),
                             size, elements(target, 1)))
    order_.note_stores();
  return WindowStatus::ok;
}

}  // namespace lfc
