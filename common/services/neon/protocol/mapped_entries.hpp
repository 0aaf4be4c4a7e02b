// MappedEntries: the announced buffers of one rank, in memory that its local peers map. A peer that maps the rank's
// window as well copies its puts there by itself, and notifies by a word in the entry. No frame is sent.
//
//   MappedEntries own(memory, count);                               // the target; the memory is zeroed
//   MappedEntry* made = own.make(origin, tag);                      // null: there is no room
//   made->open(generation, {place, size});
//   if (made->is_done(generation)) ...                              // the bytes of all puts are visible
//
//   MappedEntry* entry = theirs.find(rank, tag);                    // the origin; null: not announced yet
//   if (entry->claim(generation)) entry->release(generation, true);  // in between it copies to entry->buffer()
//
// | state  | set by | meaning                                                        | next states        |
// |--------|--------|----------------------------------------------------------------|--------------------|
// | closed | target | no put may begin                                               | open               |
// | open   | both   | the buffer of this generation is announced, and no copy runs   | busy, closed       |
// | busy   | origin | the origin copies                                              | open, done         |
// | done   | origin | the final put of this generation is in place                   | open               |
//
// State and generation are one word, so a claim for an old generation fails. Only the target leaves `closed` and
// `done`, only the origin leaves `busy`; from `open` both go on by compare-and-swap. So a target that has closed an
// entry knows that no copy runs, and a target that finds `busy` has to look again.
// Invariants: no byte is written after close() has returned another state than busy, and is_done() shows all bytes
// (tests/unit/services/neon/mapped_entries_test.cpp, all interleavings).
// Threads: one target and one origin, in different processes. The peer may store anything into an entry, so each side
// checks the values that it loads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "services/neon/protocol/frame.hpp"

namespace lfc::neon {

// An entry has a cache line of its own.
class alignas(64) MappedEntry {
 public:
  enum class State : std::uint8_t { closed, open, busy, done };
  struct Buffer {
    std::uint64_t place = 0;  // in the target's window
    std::uint64_t size = 0;
  };

  // --- The target ---

  void open(std::uint32_t generation, const Buffer& buffer) noexcept {
    // Pairs with the loads in buffer(): a reader of these values sees that the generation before is over.
    place_.store(buffer.place, std::memory_order_release);
    size_.store(buffer.size, std::memory_order_release);
    word_.store(word(generation, State::open), std::memory_order_release);  // pairs with claim()
  }
  // Pairs with the release in release(): the bytes of the generation are visible.
  bool is_done(std::uint32_t generation) const noexcept {
    return word_.load(std::memory_order_acquire) == word(generation, State::done);
  }
  // Ends the generation for the origin, unless the result is busy. Done: its final put came first.
  State close(std::uint32_t generation) noexcept;

  // --- The origin ---

  // True: the caller may access the buffer until release(). Pairs with the release in open(): buffer() is that of this
  // generation.
  bool claim(std::uint32_t generation) noexcept {
    std::uint64_t expected = word(generation, State::open);
    return word_.compare_exchange_strong(expected, word(generation, State::busy),
                                         std::memory_order_acquire, std::memory_order_relaxed);
  }
  // Returns the buffer of a generation that is claimed, or that is open before and after this call.
  Buffer buffer() const noexcept {
    return {place_.load(std::memory_order_acquire), size_.load(std::memory_order_acquire)};
  }
  bool is_open(std::uint32_t generation) const noexcept {
    return word_.load(std::memory_order_acquire) == word(generation, State::open);
  }
  // Pairs with the acquire in is_done() and close(): the copied bytes are visible there.
  void release(std::uint32_t generation, bool final) noexcept {
    word_.store(word(generation, final ? State::done : State::open), std::memory_order_release);
  }

 private:
  friend class MappedEntries;
  static constexpr std::uint64_t word(std::uint32_t generation, State state) noexcept {
    return std::uint64_t{generation} << 32 | static_cast<std::uint64_t>(state);
  }

  std::atomic<std::uint64_t> key_;  // 0: free; set once, by the target
  std::atomic<std::uint64_t> word_;
  std::atomic<std::uint64_t> place_;
  std::atomic<std::uint64_t> size_;
};
static_assert(sizeof(MappedEntry) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

class MappedEntries {
 public:
  MappedEntries() = default;
  // `memory` has room for `count` entries, a power of two, and is aligned to 64 bytes. The caller keeps it.
  MappedEntries(std::byte* memory, std::size_t count) noexcept
      : entries_(reinterpret_cast<MappedEntry*>(memory)), count_(count) {}

  // Returns the entry of this origin and tag, made at the first call; null: there is no room. An entry stays as long as
  // its window.
  MappedEntry* make(Rank origin, std::uint32_t tag) noexcept;
  MappedEntry* find(Rank origin, std::uint32_t tag) const noexcept;

 private:
  MappedEntry& at(std::uint64_t key, std::size_t probe) const noexcept;
  std::size_t probes() const noexcept;

  MappedEntry* entries_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace lfc::neon
