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
//   if (entry->load(generation, offset, data, n)) entry->carry(generation, n);   // a short final put
//
// | state   | set by | meaning                                                        | next states           |
// |---------|--------|----------------------------------------------------------------|-----------------------|
// | closed  | target | no put may begin                                               | open                  |
// | open    | both   | the buffer of this generation is announced, and no copy runs   | busy, carried, closed |
// | busy    | origin | the origin copies                                              | open, done            |
// | done    | origin | the final put of this generation is in place                   | open                  |
// | carried | origin | the final put of this generation is in the entry               | open                  |
//
// State and generation are one word, so a claim for an old generation fails. Only the target leaves `closed`, `done`
// and `carried`, only the origin leaves `busy`; from `open` both go on by compare-and-swap. So a target that has closed
// an entry knows that no copy runs, and a target that finds `busy` has to look again.
// A put that the entry carries takes one cache line from the origin to the target, instead of the entry, the buffer and
// the entry once more. The target copies it to the buffer.
// Invariants: no byte is written to the buffer after close() has returned another state than busy, and is_done() shows
// all bytes (tests/unit/services/neon/mapped_entries_test.cpp, all interleavings).
// Threads: one target and one origin, in different processes. The peer may store anything into an entry, so each side
// checks the values that it loads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/prefetch.hpp"
#include "services/neon/protocol/frame.hpp"

namespace lfc::neon {

// An entry has a cache line of its own.
class alignas(64) MappedEntry {
 public:
  enum class State : std::uint8_t { closed, open, busy, done, carried };
  struct Buffer {
    std::uint64_t place = 0;  // in the target's window
    std::uint64_t size = 0;
  };
  static constexpr std::size_t kCarriedWords = 3;
  static constexpr std::size_t kCarried =
      8 * kCarriedWords;  // bytes of the largest put that it carries
  struct Carried {
    std::uint64_t offset = 0;  // in the buffer
    std::uint64_t size = 0;
    std::array<std::uint64_t, kCarriedWords> words{};
  };

  // --- The target ---

  void open(std::uint32_t generation, const Buffer& buffer) noexcept {
    // Pairs with the loads in buffer(): a reader of these values sees that the generation before is over.
    place_.store(buffer.place, std::memory_order_release);
    size_.store(buffer.size, std::memory_order_release);
    word_.store(word(generation, State::open), std::memory_order_release);  // pairs with claim()
  }
  // Pairs with the release in release() and carry(): the bytes of the generation are visible, here or in the buffer.
  bool is_done(std::uint32_t generation) const noexcept {
    return is_final(word_.load(std::memory_order_acquire), generation);
  }
  // Returns whether some generation is done. A hint, for a look without a lock.
  bool may_be_done() const noexcept {
    return state_of(word_.load(std::memory_order_relaxed)) >= State::done;
  }
  // Returns the put that the entry carries, once is_done() is true or close() has returned done. Size 0: there is none.
  Carried carried() const noexcept;
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
  // Stores a put of up to kCarried bytes in the entry, for carry(). False: the generation is not open. Pairs with the
  // release in open(): the target no longer reads what the entry carried before.
  bool load(std::uint32_t generation, std::uint64_t offset, const std::byte* data,
            std::size_t size) noexcept {
    if (!is_open(generation)) return false;
    offset_.store(offset, std::memory_order_relaxed);
    std::size_t at = 0;
    for (; size - at >= 8; at += 8)
      words_[at / 8].store(load_pod<std::uint64_t>(data + at), std::memory_order_relaxed);
    if (at < size) load_rest(at, data + at, size - at);
    return true;
  }
  // Ends the generation by the put that was loaded. False: it is not open any more.
  bool carry(std::uint32_t generation, std::size_t size) noexcept {
    std::uint64_t expected = word(generation, State::open);
    // Pairs with the acquire in is_done() and close().
    return word_.compare_exchange_strong(expected,
                                         word(generation, State::carried) | size << kSizeAt,
                                         std::memory_order_release, std::memory_order_relaxed);
  }
  // A hint that the caller will claim or carry soon.
  void prefetch() const noexcept { prefetch_line_to_write(this); }

 private:
  friend class MappedEntries;
  // A word consists of the generation, 24 bits for the size of the put that is carried, and the state.
  static constexpr int kSizeAt = 8;
  static constexpr std::uint64_t word(std::uint32_t generation, State state) noexcept {
    return std::uint64_t{generation} << 32 | static_cast<std::uint64_t>(state);
  }
  static constexpr State state_of(std::uint64_t word) noexcept {
    return static_cast<State>(static_cast<std::uint8_t>(word));
  }
  void load_rest(std::size_t at, const std::byte* data, std::size_t size) noexcept;
  static constexpr std::uint64_t size_of(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word) >> kSizeAt;
  }
  static constexpr bool is_final(std::uint64_t found, std::uint32_t generation) noexcept {
    return found >> 32 == generation &&
           (state_of(found) == State::done || state_of(found) == State::carried);
  }

  std::atomic<std::uint64_t> key_;  // 0: free; set once, by the target
  std::atomic<std::uint64_t> word_;
  std::atomic<std::uint64_t> place_;
  std::atomic<std::uint64_t> size_;
  std::atomic<std::uint64_t> offset_;  // in the buffer, of the put that is carried
  std::array<std::atomic<std::uint64_t>, kCarriedWords> words_;
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
