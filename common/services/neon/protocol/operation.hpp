// Operation, Announcement: requests of a program, at an origin and at a target. The caller owns both, and keeps them
// until `done` has been called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/neon/protocol/frame.hpp"
#include "services/neon/protocol/runs.hpp"

namespace lfc::neon {

// How an operation or an announcement ended, or why it could not begin.
enum class Status : std::uint8_t {
  ok,
  range,        // some access lies outside the announced buffer; nothing was written there
  withdrawn,    // the announcement it belongs to has been withdrawn
  unreachable,  // the peer is lost
  busy,         // the tag is announced to one of these origins already; no confirmation now
  rank,         // no such rank, or named twice
};

// Intrusive first-in, first-out list of T, linked by T::next.
template <class T>
class Fifo {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  T* front() const noexcept { return head_; }
  T* back() const noexcept { return tail_; }
  void push(T* item) noexcept {
    item->next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = item;
    tail_ = item;
  }
  T* pop() noexcept {
    T* first = head_;
    if (first != nullptr) head_ = first->next;
    if (head_ == nullptr) tail_ = nullptr;
    return first;
  }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
};

struct Stream;

// A put, get or notification on its way. `done` may be called inside the call that starts it.
struct Operation {
  void (*done)(Operation* self, Status status) = nullptr;
  void* context = nullptr;  // the caller's
  // The caller's: where the whole put ends of which this is a piece, in the target's buffer. 0: where this one ends.
  std::uint64_t whole_end = 0;
  bool continues = false;  // the caller's: a piece of the same put has begun before

  // --- The protocol's ---
  enum class Type : std::uint8_t { put, get, put_notify, get_notify, confirm };
  Operation* next = nullptr;
  Stream* stream = nullptr;
  Type type = Type::put;
  bool final = false;
  bool strong = false;
  bool writing = false;   // its bytes go straight into the target's memory
  bool claimed = false;   // ... and a MappedEntry is busy for it
  bool notified = false;  // ... and its write has notified the target
  bool refused = false;   // put_notify: the link has refused such a write
  std::uint32_t key = 0;  // under which it may do so; 0: a frame follows it
  bool issued = false;    // nothing of it waits here any more
  Status status = Status::ok;
  std::uint32_t generation = 0;
  std::uint64_t id = 0;           // in the table of operations that wait for a reply
  std::uint32_t unconfirmed = 0;  // strong pieces that are not known to be in place
  std::uint32_t frames = 0;       // put_notify: of the operation
  std::span<const Run> runs;      // put_notify: its places, the caller's; empty: one place
  RunPosition at;                 // the next byte of `runs`
  std::uint32_t index = 0;        // of the notification
  std::byte* data = nullptr;      // a put only reads it
  std::uint64_t size = 0;
  std::uint64_t moved = 0;   // bytes handed over, or received
  std::uint64_t offset = 0;  // in the target's buffer; displacement in its window
};

struct Opened;

// A buffer under a name, open to some origins until each has notified.
//   Announcement buffer;
//   buffer.address = rows; buffer.size = n; buffer.origins = {left, right}; buffer.tag = 7;
//   neon.announce(buffer);          // ... and again after each completion, with the same tag and origins
//   neon.withdraw(buffer);
struct Announcement {
  std::byte* address = nullptr;
  std::uint64_t size = 0;
  std::vector<Rank> origins;
  std::uint32_t tag = 0;
  bool persistent = false;  // stays announced; each notification re-announces it to its origin
  // All origins have notified (status ok), or never will. Persistent: called at once.
  void (*done)(Announcement* self, Status status) = nullptr;
  void* context = nullptr;  // the caller's

  // --- The protocol's ---
  std::uint64_t notifications = 0;  // ever received
  std::uint64_t due = 0;            // complete when `notifications` reaches it
  std::vector<Rank> notified;       // in this announcement, in the order of arrival
  bool live = false;
  Status status = Status::ok;
  Token token;                // the carrier's key for direct writes of origins
  std::uint32_t unheard = 0;  // origins that may still write, though it is withdrawn
  bool located = false;  // the buffer of this address and size is part of the window, at `place`
  const std::byte* located_at = nullptr;
  std::uint64_t located_size = 0;
  std::uint64_t place = 0;
  Opened* only = nullptr;  // the record of its only origin, after it was announced once
};

}  // namespace lfc::neon
