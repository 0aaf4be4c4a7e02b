// Window frames: the payloads of the frames of ServiceId::windows.
//
// | frame        | payload                              | kinds                                        |
// |--------------|--------------------------------------|----------------------------------------------|
// | service      | WindowHead, runs, operands           | all of WindowKind                            |
// | service_ack  | WindowAck                            | AckKind: operations counted, a small result  |
// | service_data | WindowReply, bytes                   | a larger result of get, fetch                |
//
// An operation larger than a frame goes in fragments. Each carries the runs of its part of the target's memory, so a
// target keeps no state of an operation. The usual small one, a whole operation on one piece, has no runs and fits a
// cache line. Put and accumulate fragments are counted by origin and target. Complete, unlock and the end of a fence
// must not overtake them. So these name the count that has to be reached first, and the frames may take any way.
// Small puts and accumulates that cannot leave at once leave together, in a bundle, which counts as one fragment.
//
// An accumulate or fetch with a notification is one fragment with runs, whose `offset` is the number of the counter.
//
// Little-endian, naturally aligned. Every field may be forged, and is checked where it is used.
#pragma once

#include <cstdint>

#include "wire/frame.hpp"

namespace lfc {

enum class WindowKind : std::uint8_t {
  put = 1,
  accumulate,
  get,           // service_data replies
  fetch,         // get_accumulate, fetch_and_op: the old values come back
  compare_swap,  // operands: compare, value
  lock,
  granted,
  unlock,
  post,
  complete,
  bundle,  // small puts and accumulates: BundleEntry and operands of each
};

enum WindowFlags : std::uint8_t {
  kWantAck = 1,    // the origin waits for remote completion: send an ack with the count
  kExclusive = 2,  // lock
  kNotify = 2,     // accumulate, fetch: a counter is incremented afterwards
  kInFence = 4,    // counted for the fence epoch
  kOddFence = 8,   // of odd number
  kWhole = 16,     // the fragment is the whole operation
  kComplete = 32,  // the last fragment of an access epoch: `complete` rides in it
  kUnlock = 64,    // of a lock: `unlock` rides in it
  kPast = 128,     // lock: shared, past writers that wait
};

struct WindowHead {
  std::uint32_t window;  // the receiver's name for it
  std::uint32_t rank;    // the sender's in the window
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint8_t operation;  // enum Accumulate
  std::uint8_t element;    // enum Element
  std::uint32_t runs;      // number that follow; 0: the whole operation is one piece, at `offset`
  union {
    std::uint64_t reply;  // the origin's name for the operation that waits for a result
    std::uint64_t count;  // complete, unlock: put and accumulate fragments sent, this one included
  };
  std::uint64_t bytes;  // packed bytes that the runs cover
  std::uint64_t
      offset;  // of `bytes` in the packed bytes of the whole operation; without runs: in the target's memory
};
static_assert(sizeof(WindowHead) == 40);

inline WindowHead head_of(WindowKind kind, std::uint8_t flags, std::uint64_t count = 0) noexcept {
  WindowHead head{};
  head.kind = static_cast<std::uint8_t>(kind);
  head.flags = flags;
  head.count = count;
  return head;
}

// An operation in a bundle. Its operands follow, padded to 8 bytes, and then the next entry.
struct BundleEntry {
  std::uint64_t offset;  // in the target's memory
  std::uint32_t bytes;   // of the operands
  std::uint8_t kind;     // put or accumulate
  std::uint8_t operation;
  std::uint8_t element;
  std::uint8_t unused;
};
static_assert(sizeof(BundleEntry) == 16);

enum class AckKind : std::uint8_t { counted = 1, unlocked, result };

struct WindowAck {
  std::uint8_t kind;
  std::uint8_t status;   // enum WindowStatus
  std::uint16_t size;    // result: bytes used
  std::uint32_t window;  // counted, unlocked: the receiver's
  union {
    std::uint64_t count;  // counted, unlocked: fragments done so far
    std::uint64_t reply;  // result: the receiver's operation
  };
  union {
    std::uint32_t rank;  // counted, unlocked: the sender's in the window
    unsigned char result[16];
  };
};
static_assert(sizeof(WindowAck) == kServiceAckRoom);

struct WindowReply {
  std::uint64_t reply;
  std::uint64_t status;
  // In the packed bytes of the operation; after a failure, the number of bytes that will be missing.
  std::uint64_t offset;
};
static_assert(sizeof(WindowReply) == 24);

}  // namespace lfc
