// Board: shared memory with flags and payload through which the ranks of one communicator on one node communicate.
//
// Each rank has a lane that it alone writes; for the leader of a node its NI may write. Work on a communicator is cut
// into steps. All ranks number them alike, because they call the same operations in the same order. Step s uses slot
// s % limits::kCollSlots of each lane that is written in it: a cache line with a flag and up to kInline bytes, and for
// more bytes a room of kRoom bytes. A rank publishes how many steps it has finished. A slot is written again when all
// ranks have finished its previous step.
//
//   if (board.writable(step, size)) {
//     std::memcpy(board.room(lane, step, size), data, size);
//     board.publish(lane, step, label);
//   }
//   if (board.ready(lane, step) && board.agrees(lane, step, label)) read(board.room(lane, step, size), size);
//   board.finish(step + 1);
//
// So a small payload moves in one cache line, without a system call or help by a third rank, and no payload is
// overwritten unread. Memory: size(lanes), virtual until used.
// Threads: one writer and reader at a time for each Board object; two objects on the same memory
// may be used at the same time if they write different steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "services/collective/protocol/label.hpp"
#include "services/collective/protocol/mailbox.hpp"

#include "base/faults.hpp"
#include "base/limits.hpp"

namespace lfc {

class BuildStamp;

class Board {
 public:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kInline = kLine - sizeof(std::uint64_t);
  static constexpr std::size_t kRoom = std::size_t{64} * 1024;

  Board() = default;
  Board(std::byte* memory, std::uint32_t lanes, std::uint32_t self) noexcept;
  static std::size_t size(std::uint32_t lanes) noexcept;
  // Makes memory a board from which `users` ranks will detach. `zeroed`: nothing was written to it since the kernel
  // zeroed it, so no page of it is touched that is not needed yet.
  static void format(std::byte* memory, std::uint32_t lanes, std::uint32_t users,
                     bool zeroed = false) noexcept;

  bool is_open() const noexcept { return memory_ != nullptr; }
  std::uint32_t lanes() const noexcept { return lanes_; }
  std::uint32_t self() const noexcept { return self_; }

  // Whether the slot (and, for more than kInline bytes, the room) of this step may be written.
  bool writable(std::uint64_t step, std::size_t size) noexcept {
    if (fault(Fault::board_waits)) return false;
    const std::uint64_t depth = size <= kInline ? limits::kCollSlots : limits::kCollRooms;
    return step < all_finished_ + depth || (look_again() && step < all_finished_ + depth);
  }
  std::byte* room(std::uint32_t lane, std::uint64_t step, std::size_t size) const noexcept {
    if (size <= kInline) return slot(lane, step).bytes;
    return memory_ + rooms_ + (lane * limits::kCollRooms + step % limits::kCollRooms) * kRoom;
  }
  // The value of a flag: the number of the step, and a digest of the label. (The number has 43 bits: a stale flag
  // passes for a new one after 2^43 steps in which its lane was never written.)
  static constexpr std::uint64_t flag_of(std::uint64_t step, Label label) noexcept {
    return (step + 1) << Label::kDigestBits | label.digest();
  }
  // Pairs with ready(): the payload and its label are visible to a rank that sees the flag. With a payload in a room,
  // the label's word is in the slot, whose bytes are free then.
  void publish(std::uint32_t lane, std::uint64_t step, Label label) noexcept {
    Slot& own = slot(lane, step);
    if (label.size > kInline) {
      const std::uint64_t word = label.word();
      std::memcpy(own.bytes, &word, sizeof word);
    }
    own.ready.store(flag_of(step, label), std::memory_order_release);
  }
  // Whether the lane has been written in this step, with any label.
  bool ready(std::uint32_t lane, std::uint64_t step) const noexcept {
    return ((flag(lane, step).load(std::memory_order_acquire) ^ flag_of(step, {})) >>
            Label::kDigestBits) == 0;
  }
  // Whether the label of a lane that is ready is this one.
  bool agrees(std::uint32_t lane, std::uint64_t step, Label label) const noexcept {
    if (flag(lane, step).load(std::memory_order_relaxed) != flag_of(step, label)) return false;
    std::uint64_t word = label.word();
    if (label.size > kInline) std::memcpy(&word, slot(lane, step).bytes, sizeof word);
    return word == label.word();
  }
  // Becomes flag_of(step, label) when the lane is ready, with that label.
  const std::atomic<std::uint64_t>& flag(std::uint32_t lane, std::uint64_t step) const noexcept {
    return slot(lane, step).ready;
  }
  // Whether that rank has finished this step. If its lane is not ready even then, it never will be.
  bool passed(std::uint32_t lane, std::uint64_t step) const noexcept {
    return finished(lane) > step;
  }
  std::uint64_t finished(std::uint32_t lane) const noexcept {
    return line(lane).finished.load(std::memory_order_acquire);
  }
  // Publishes that this rank has read all that it needs of the steps below `steps`. Pairs with look_again(): a writer
  // that sees the number may overwrite their slots.
  void finish(std::uint64_t steps) noexcept {
    line(self_).finished.store(steps, std::memory_order_release);
  }

  // Publishes that this rank has waited for long in the operation that begins with this step. False: another rank waits
  // in the same step, but in another operation, so both might wait for ever.
  bool waits_alike(std::uint64_t step, Label label) noexcept;

  // For memory that the rank with this lane may not read itself.
  Mailbox& mailbox(std::uint32_t lane) const noexcept { return line(lane).mailbox; }

  // The reason why no rank may wait on this board any more; the first reason stays.
  enum class End : std::uint32_t { none, lost, disagreement, revoked, last_ = revoked };
  void set_end(End end) noexcept;
  End end() const noexcept;
  // Called once, when this rank uses the board no more. True: it was the last one, so the memory may be used again.
  bool detach() noexcept;
  static bool is_free(const std::byte* memory) noexcept;

 private:
  struct alignas(kLine) Head {
    std::atomic<std::uint32_t> attached;
    std::atomic<End> end;
  };
  struct alignas(kLine) Line {
    std::atomic<std::uint64_t> finished;
    std::atomic<std::uint64_t> waits;  // flag_of() the operation in which it has waited for long
    Mailbox mailbox;
  };
  struct alignas(kLine) Slot {
    std::atomic<std::uint64_t> ready;
    std::byte bytes[kInline];
  };
  static_assert(sizeof(Slot) == kLine);
  static const BuildStamp stamp;
  static_assert(Label::kSmall == kInline && kRoom <= Label::kMostBytes);

  static std::size_t slots_offset(std::uint32_t lanes) noexcept;
  static std::size_t rooms_offset(std::uint32_t lanes) noexcept;
  Head& head() const noexcept { return *reinterpret_cast<Head*>(memory_); }
  Line& line(std::uint32_t lane) const noexcept {
    return reinterpret_cast<Line*>(memory_ + sizeof(Head))[lane];
  }
  Slot& slot(std::uint32_t lane, std::uint64_t step) const noexcept {
    return reinterpret_cast<Slot*>(memory_ +
                                   slots_)[lane * limits::kCollSlots + step % limits::kCollSlots];
  }
  bool look_again() noexcept;

  std::byte* memory_ = nullptr;
  std::size_t slots_ = 0;
  std::size_t rooms_ = 0;
  std::uint32_t lanes_ = 1;
  std::uint32_t self_ = 0;
  std::uint64_t all_finished_ = 0;  // every rank has finished at least so many steps
};

}  // namespace lfc
