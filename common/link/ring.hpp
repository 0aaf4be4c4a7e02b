// Ring: frames from one writer to one reader through a piece of memory that both see.
//
// Fixed slots of 640 bytes, each beginning with one 64-bit control word, and a bulk area. A payload
// of up to 632 bytes lies behind the word: the flag and a short payload share one cache line, so a
// short frame costs the transfer of one line. A longer payload lies contiguous in the bulk area, and
// its position behind the word.
//
// While the reader keeps up, the writer uses the beginning of the bulk area over and over: lines in the
// nearest caches of both processors cost half as much as lines last used a lap ago. Only payloads that
// pile up use the whole area.
//
//   RingShape shape;                                  // 64 slots, 256 KiB
//   RingWriter writer(memory, shape);                 // memory: shape.bytes(), zero, slot-aligned
//   RingReader reader(memory, shape);                 // another thread or process
//   SendStatus status = writer.send(meta, slices, n);
//   RingFrame frame;
//   if (reader.peek(frame) == RingReader::Peek::frame) { use(frame); reader.pop(); }
//
// Invariants (tests/unit/link/ring_test.cpp):
//  - The word's sequence is the low 16 bits of (slot number + 1), so the word of an earlier lap is
//    never mistaken for a new one: no zeroing, no separate tail index.
//  - Frames of data leave kControlReserve slots to control frames.
//  - The reader publishes its progress only every quarter of the slots or of the bulk, and when it
//    has emptied the ring of bulk. Unpublished progress never fills the ring, so the writer never
//    waits for it in vain.
//  - Values from the other side are checked before use; an invalid one yields `broken` or `corrupt`.
// Threads: one writer and one reader, which may be different processes.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/limits.hpp"
#include "base/prefetch.hpp"
#include "link/link.hpp"
#include "machine/bell.hpp"
#include "wire/frame.hpp"

namespace lfc {

inline constexpr std::size_t kCacheLine = 64;
// Half a KiB and its header fit; an odd number of pairs of lines, to spread over the cache.
inline constexpr std::size_t kSlotBytes = 640;
inline constexpr std::size_t kInlinePayload = kSlotBytes - sizeof(std::uint64_t);
inline constexpr std::uint32_t kControlReserve = 8;
// The longest payload that is copied in line, without a call.
inline constexpr std::size_t kShortPayload = 2048;
// The longest payload that may go to the beginning of the bulk area again: 4 KiB and a header.
inline constexpr std::size_t kAnewPayload = 4096 + kCacheLine;
// The alignment of a ring's memory. No slot shares a pair of lines with other data, because processors
// fetch lines in pairs.
inline constexpr std::size_t kRingAlignment = 256;
// In front of the slots: the reader's progress.
inline constexpr std::size_t kRingHead = kRingAlignment;

struct RingShape {
  static constexpr std::uint32_t kMinSlots =
      16;  // a quarter unpublished, the reserve, and some to use
  static constexpr std::uint32_t kMaxSlots =
      1 << 14;  // a lap must be shorter than the 16-bit sequence
  static constexpr std::uint32_t kMinBulk = 4 * 1024;
  static constexpr std::uint32_t kMaxBulk = 1 << 26;
  static constexpr std::uint32_t kMaxPayload = (1 << 24) - 1;  // RingWord has 24 bits for it

  std::uint32_t slots = limits::kRingSlots;  // a power of two
  std::uint32_t bulk = limits::kRingBulk;    // bytes, a power of two
  std::uint32_t max_payload =
      limits::kRingPayload;  // at most a quarter of the bulk, and kMaxPayload

  // On false, `why_not` names the value that is out of range.
  bool valid(std::string& why_not) const;
  std::size_t bytes() const noexcept { return kRingHead + std::size_t{slots} * kSlotBytes + bulk; }
};

// The reader's line: the writer loads it only when the ring seems full.
struct alignas(kCacheLine) RingProgress {
  // Slots consumed (low half) and 64-byte units of bulk consumed (high half), both modulo 2^32.
  std::atomic<std::uint64_t> consumed;
};

// Where a payload in the bulk area begins, behind the word: in units, modulo 2^32.
using BulkPosition = std::uint32_t;

// The control word of a slot.
struct RingWord {
  static std::uint64_t pack(std::uint64_t slot, Meta meta, std::size_t length) noexcept {
    return (slot + 1) % 0x10000 | std::uint64_t{static_cast<std::uint8_t>(meta.type)} << 16 |
           std::uint64_t{meta.tag} << 24 | std::uint64_t{meta.credits} << 32 |
           std::uint64_t{length} << 40;
  }
  static std::uint16_t sequence(std::uint64_t word) noexcept {
    return static_cast<std::uint16_t>(word);
  }
  static std::uint32_t sequence_and_type(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word) & 0xffffff;
  }
  static Meta meta(std::uint64_t word) noexcept {
    return std::bit_cast<Meta>(static_cast<std::uint32_t>(word >> 16 & 0xffffff));
  }
  static std::size_t length(std::uint64_t word) noexcept { return word >> 40; }
};

// Where the parts of a ring lie; the part of the writer and of the reader that is the same.
class RingView {
 public:
  RingView(std::byte* memory, const RingShape& shape) noexcept
      : progress_(reinterpret_cast<RingProgress*>(memory)),
        slots_(memory + kRingHead),
        bulk_(slots_ + std::size_t{shape.slots} * kSlotBytes),
        slot_count_(shape.slots),
        bulk_units_(shape.bulk / kUnit),
        max_payload_(shape.max_payload) {}

 protected:
  static constexpr std::uint32_t kUnit = kCacheLine;  // of bulk positions

  std::byte* slot(std::uint64_t number) const noexcept {
    return slots_ + (number & (slot_count_ - 1)) * kSlotBytes;
  }
  static std::atomic<std::uint64_t>& word_of(std::byte* slot) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(slot);
  }
  static std::uint32_t units(std::size_t length) noexcept {
    return static_cast<std::uint32_t>((length + kUnit - 1) / kUnit);
  }
  // The beginning of the bulk area in the lap after `unit`, or there.
  std::uint32_t next_lap(std::uint32_t unit) const noexcept {
    return (unit + bulk_units_ - 1) & ~(bulk_units_ - 1);
  }
  // Whether so many units from `unit` on lie in one piece.
  bool in_one_piece(std::uint32_t unit, std::uint32_t need) const noexcept {
    return (unit & (bulk_units_ - 1)) + need <= bulk_units_;
  }
  std::byte* bulk(std::uint32_t unit) const noexcept {
    return bulk_ + std::size_t{unit & (bulk_units_ - 1)} * kUnit;
  }

  RingProgress* progress_;
  std::byte* slots_;
  std::byte* bulk_;
  std::uint32_t slot_count_;
  std::uint32_t bulk_units_;
  std::uint32_t max_payload_;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Copies a short piece without the call that memcpy of unknown size is.
inline void copy_short(std::byte* to, const void* source, std::size_t size) noexcept {
  const auto* from = static_cast<const std::byte*>(source);
  if (size >= 16) {
    for (std::size_t at = 0; at + 16 < size; at += 16) std::memcpy(to + at, from + at, 16);
    std::memcpy(to + size - 16, from + size - 16, 16);
  } else if (size >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + size - 4, from + size - 4, 4);
  } else if (size != 0) {
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
}

// Prefetches the lines of [from, from + size), at most kPrefetch bytes. The processor prefetches the
// rest of a longer piece by itself.
inline constexpr std::size_t kPrefetch = 2048;
inline void prefetch_to_read(const std::byte* from, std::size_t size) noexcept {
  const std::byte* const end = from + std::min(size, kPrefetch);
  for (; from < end; from += kCacheLine) __builtin_prefetch(from, 0);
}
// Prefetches lines for writing.
inline void prefetch_to_write(const std::byte* from, std::size_t size) noexcept {
  const std::byte* const end = from + std::min(size, kPrefetch);
  for (; from < end; from += kCacheLine) prefetch_line_to_write(from);
}

class RingWriter : private RingView {
 public:
  RingWriter(std::byte* memory, const RingShape& shape) noexcept
      : RingView(memory, shape), full_at_(shape.slots) {}

  // Sends `head` and `body`, either of which may be empty, in line and without a call, if there is known
  // room and they have at most kShortPayload bytes. False: nothing was done; call send().
  [[gnu::always_inline]] bool send_short(Meta meta, Slice head, Slice body) noexcept {
    const std::uint64_t number = next_;
    const std::size_t length = head.size + body.size;
    if (number + reserve(meta) >= full_at_) [[unlikely]]
      return false;
    std::byte* const word = slot(number);
    std::byte* to = word + sizeof(std::uint64_t);
    if (length > kInlinePayload) {
      if (length > kShortPayload || units(length) > bulk_until_ - bulk_next_) [[unlikely]]
        return false;
      to = take_bulk(to, units(length));
    }
    copy_short(to, head.data, head.size);
    copy_short(to + head.size, body.data, body.size);
    next_ = number + 1;
    show(word, RingWord::pack(number, meta, length));
    if (length > kCacheLine - sizeof(std::uint64_t)) prepare_next(length);
    return true;
  }
  // `again`: no room. `broken`: the reader's progress is invalid, the payload is too long, or the
  // ring is shut.
  SendStatus send(Meta meta, const Slice* slices, int count) noexcept;

  // From now on the cord is pulled after each frame: the reader may sleep.
  void set_cord(const BellCord* cord) noexcept { cord_ = cord; }
  // From now on every send returns `broken`.
  void shut() noexcept {
    shut_ = true;
    full_at_ = 0;
  }

 private:
  // Units of bulk after which the writer goes back to the beginning, if the reader has kept up.
  static constexpr std::uint32_t kStretch = 4096 / kUnit;

  // Makes a frame visible, and wakes a reader that sleeps.
  [[gnu::always_inline]] void show(std::byte* slot, std::uint64_t word) noexcept {
    // Pairs with the acquire in RingReader::peek: the payload is visible to a reader that sees the word.
    word_of(slot).store(word, std::memory_order_release);
    if (cord_ != nullptr) cord_->pull();
  }
  static std::uint32_t reserve(Meta meta) noexcept {
    return is_data(meta.type) ? kControlReserve : 0;
  }
  // Takes bulk for which there is room, and writes its position to `behind_word`.
  [[gnu::always_inline]] std::byte* take_bulk(std::byte* behind_word, std::uint32_t need) noexcept {
    const BulkPosition start = bulk_next_;
    std::memcpy(behind_word, &start, sizeof start);
    bulk_next_ = start + need;
    return bulk(start);
  }
  // Prefetches for the next frame, which is probably as long. Its lines are in the reader's cache from the lap
  // before, and the next word becomes visible only after they have moved here. The word's own line is not
  // prefetched, because the reader polls it.
  [[gnu::always_inline]] void prepare_next(std::size_t length) const noexcept {
    if (length <= kInlinePayload)
      return prefetch_to_write(slot(next_) + kCacheLine,
                               length + sizeof(std::uint64_t) - kCacheLine);
    const bool goes_on = units(length) <= bulk_until_ - bulk_next_;
    prefetch_to_write(bulk(goes_on ? bulk_next_ : next_lap(bulk_next_)), length);
  }
  SendStatus send_long(Meta meta, const Slice* slices, int count, std::size_t length) noexcept;
  SendStatus make_room(std::uint32_t need) noexcept;
  // Reads the reader's progress; false when it is invalid.
  bool refresh() noexcept;

  std::uint64_t next_ = 0;  // number of the next slot
  std::uint64_t full_at_;   // the slot number that the reader is not known to have freed
  // In units of bulk, modulo 2^32:
  std::uint32_t bulk_next_ = 0;
  std::uint32_t bulk_until_ =
      0;  // end of the free piece that needs no look at the reader's progress
  std::uint32_t bulk_consumed_ = 0;  // the reader has consumed at least up to here
  std::uint32_t bulk_seen_ = 0;      // the reader's last published position
  std::uint32_t stretch_ = kStretch;
  bool shut_ = false;
  const BellCord* cord_ = nullptr;
};

struct RingFrame {
  std::uint64_t word = 0;
  std::span<const std::byte> payload;

  Meta meta() const noexcept { return RingWord::meta(word); }
};

class RingReader : private RingView {
 public:
  enum class Peek : std::uint8_t { empty, frame, corrupt };

  RingReader(std::byte* memory, const RingShape& shape) noexcept
      : RingView(memory, shape), at_(slot(0)), publish_at_(shape.slots / 4) {}

  // True when peek() has found the next slot empty and it still is: one load and one comparison.
  bool still_empty() const noexcept {
    return word_of(at_).load(std::memory_order_relaxed) == empty_word_;
  }
  // True when there is a frame, or something that looks like one.
  bool has_next() const noexcept {
    return RingWord::sequence(word_of(at_).load(std::memory_order_relaxed)) ==
           static_cast<std::uint16_t>(next_ + 1);
  }
  // The oldest frame; it stays in the ring until pop().
  Peek peek(RingFrame& out) noexcept {
    // Pairs with the release in RingWriter::show: the frame's payload is visible.
    const std::uint64_t word = word_of(at_).load(std::memory_order_acquire);
    if (RingWord::sequence(word) != static_cast<std::uint16_t>(next_ + 1)) [[unlikely]]
      return look_at_stale(word);
    const std::size_t length = RingWord::length(word);
    if (!is_valid(RingWord::meta(word).type)) [[unlikely]]
      return Peek::corrupt;
    out.word = word;
    if (length <= kInlinePayload) [[likely]] {
      out.payload = in_slot(length);
    } else {
      if (length > max_payload_) [[unlikely]]
        return Peek::corrupt;
      if (!find_bulk(length, out.payload)) [[unlikely]]
        return Peek::corrupt;
    }
    return Peek::frame;
  }

  // The oldest frame, if it is a message: the common case, in line. On false call peek(). It stays in
  // the ring until pop().
  [[gnu::always_inline]] bool peek_message(RingFrame& out) noexcept {
    const std::uint64_t word = word_of(at_).load(std::memory_order_acquire);  // as in peek()
    const std::size_t length = RingWord::length(word);
    if (RingWord::sequence_and_type(word) !=
        RingWord::sequence_and_type(RingWord::pack(next_, {FrameType::message, 0, 0}, 0)))
        [[unlikely]]
      return false;
    out.word = word;
    if (length > kInlinePayload) return length <= max_payload_ && find_bulk(length, out.payload);
    out.payload = in_slot(length);
    return true;
  }

  // Releases the frame of the last peek.
  void pop() noexcept {
    ++next_;
    at_ = slot(next_);
    empty_word_ = 0;
    bulk_next_ = bulk_after_;
    if (next_ >= publish_at_) [[unlikely]]
      publish();
  }

 private:
  // Returns a payload behind its word, and prefetches all its lines at once.
  [[gnu::always_inline]] std::span<const std::byte> in_slot(std::size_t length) const noexcept {
    if (length > kCacheLine - sizeof(std::uint64_t))
      prefetch_to_read(at_ + kCacheLine, length + sizeof(std::uint64_t) - kCacheLine);
    return {at_ + sizeof(std::uint64_t), length};
  }
  // Finds a payload in the bulk area, likewise. False: its position is invalid.
  [[gnu::always_inline]] bool find_bulk(std::size_t length,
                                        std::span<const std::byte>& out) noexcept {
    BulkPosition start = 0;
    std::memcpy(&start, at_ + sizeof(std::uint64_t), sizeof start);
    const std::uint32_t need = units(length);
    if (!in_one_piece(start, need)) [[unlikely]]
      return false;
    out = {bulk(start), length};
    bulk_after_ = start + need;
    if (bulk_after_ - bulk_published_ >= bulk_units_ / 4) publish_at_ = next_ + 1;
    prefetch_to_read(out.data(), length);
    return true;
  }
  // Checks the word of a slot without a frame of this lap.
  Peek look_at_stale(std::uint64_t word) noexcept;
  void publish() noexcept;

  std::byte* at_;                 // the slot to read next
  std::uint64_t empty_word_ = 0;  // its word when it was empty; 0 is never a frame
  std::uint64_t next_ = 0;        // its number
  std::uint64_t publish_at_;      // the slot number with which progress is worth publishing
  std::uint32_t bulk_next_ = 0;   // end of the consumed bulk: units, modulo 2^32
  std::uint32_t bulk_after_ = 0;  // bulk_next_ after the pop of the last peek's frame
  std::uint32_t bulk_published_ = 0;
};

}  // namespace lfc
