// Remote memory: puts, gets and atomics in frames, for links that cannot reach a peer's memory themselves.
//
// A put is cut into `put` frames, each with region, address and operation. The target stores the bytes
// and acknowledges the operation when all have arrived; it counts bytes and does not rely on the order. A get
// is one `get` frame, the reply is `get_data` frames. An atomic is one frame and one reply. The origin names an
// operation by index and generation, so it recognises forged and late answers.
//
//   RemoteOp& op = table.take();
//   PutPayload payload{table.reference(op), region, address, size};
//   ... and when the acknowledgement is there:
//   if (RemoteOp* found = table.find(ack.operation, peer)) table.give_back(*found);   // else: no such operation
//
// Bounds: a target keeps one GetService for each get frame whose answer has not been sent. It releases the
// frame's receive buffer only then, so a peer has at most its window of them. Atomics use real CPU atomics on
// the target's memory, coherent with the target's own.
// Source: LFC thesis 3.5 (remote request served without the host).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/named_pool.hpp"
#include "engine/waiting.hpp"
#include "engine/way_chooser.hpp"
#include "lfc/numbers.h"
#include "link/link.hpp"
#include "wire/frame.hpp"

namespace lfc {

struct OperationRef {
  std::uint32_t index;
  std::uint32_t generation;
};

struct RegionRef {
  std::uint32_t id;
  std::uint32_t generation;
};

// --- Frame payloads. All little-endian, naturally aligned. ---

struct PutPayload {  // followed by the bytes to store
  OperationRef operation;
  RegionRef region;
  std::uint64_t address;
  std::uint64_t total;  // bytes of the whole put
};
static_assert(sizeof(PutPayload) == 32);

struct GetPayload {
  OperationRef operation;
  RegionRef region;
  std::uint64_t address;
  std::uint64_t size;
};
static_assert(sizeof(GetPayload) == 32);

enum class AtomicOp : std::uint8_t {
  add = LFC_ADD,
  bit_and = LFC_AND,
  bit_or = LFC_OR,
  bit_xor = LFC_XOR,
  swap = LFC_SWAP,
  min = LFC_MIN,
  max = LFC_MAX,
  compare_swap = LFC_CSWAP,
  last_ = compare_swap
};

struct AtomicRequest {
  AtomicOp op = AtomicOp::add;
  std::uint8_t width = 8;  // 4 or 8 bytes; min and max compare as signed integers
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;  // compare_swap: stored only when the old value equals this
};

struct AtomicPayload {
  OperationRef operation;
  RegionRef region;
  std::uint64_t address;
  std::uint64_t operand;
  std::uint64_t compare;
  std::uint8_t op;
  std::uint8_t width;
  std::uint8_t reserved[6];
};
static_assert(sizeof(AtomicPayload) == 48);

struct AckPayload {  // put_ack; head of get_data; atomic_reply (with the old value)
  OperationRef operation;
  std::uint32_t result;  // enum Result
  std::uint32_t reserved;
  std::uint64_t value;  // get_data: offset of the bytes that follow; atomic_reply: old value
};
static_assert(sizeof(AckPayload) == 24);

constexpr std::uint32_t wire(Result result) noexcept { return static_cast<std::uint32_t>(result); }

// Whether an atomic can be applied to this address.
constexpr bool is_aligned(std::uint64_t address, std::uint64_t width) noexcept {
  return (width == 4 || width == 8) && address % width == 0;
}

// Applies the operation to local memory; returns the old value, zero-extended.
std::uint64_t apply_atomic(const AtomicRequest& request, void* target) noexcept;

class RemoteOrigin;

// An operation of ours that is under way, in a link or in frames.
struct RemoteOp : Waiting {
  enum class Type : std::uint8_t { put, get, atomic };
  enum class Stage : std::uint8_t {
    waiting,    // in the peer's queue, with something left to send
    in_link,    // the link will complete it
    reply_due,  // sent; the target's NI will reply
    finished,
  };
  // An operation that a link completes when it moves the bytes itself.
  struct LinkOperation : Operation {
    RemoteOrigin* origin = nullptr;
    RemoteOp* op = nullptr;
  };

  RemoteOp() noexcept : Waiting(Kind::operation) {}

  Operation* operation = nullptr;  // the caller's
  LinkOperation link_operation;
  LinkRegion local_link;   // native only
  LinkRegion remote_link;  // native only
  PeerId peer = kNoPeer;
  Type type = Type::put;
  Stage stage = Stage::waiting;
  bool native = false;                        // the link moves the bytes
  std::optional<std::uint32_t> notification;  // that goes with a put, by the link alone
  Result result = Result::ok;
  std::uint64_t name = 0;
  RegionRef region{};
  std::byte* local = nullptr;  // put: source; get: destination; atomic: where the old value goes
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // put: bytes sent; get: bytes arrived
  AtomicRequest request;
  // For a message whose way was open (engine/message_ways.hpp).
  std::optional<WayChooser::Choice> choice;
  std::uint64_t began = 0;   // ns
  std::uint64_t copies = 0;  // copies that this process had made by then
};

class RemoteOpTable {
 public:
  RemoteOp& take();
  void give_back(RemoteOp& op) noexcept;
  // The operation that a peer's answer names, or null: unknown, finished, or another peer's.
  RemoteOp* find(OperationRef reference, PeerId peer) noexcept;
  static OperationRef reference(const RemoteOp& op) noexcept {
    return {index_of(op.name), generation_of(op.name)};
  }
  // Calls visit(op) for each operation in use.
  template <class Visit>
  void for_each(Visit visit) {
    ops_.for_each(visit);
  }

 private:
  NamedPool<RemoteOp> ops_;
};

// A peer's get that this NI serves.
struct GetService : Waiting {
  GetService() noexcept : Waiting(Kind::service) {}
  OperationRef operation{};
  RegionRef region{};
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

// A peer's put that has not yet arrived whole.
struct IncomingPut {
  OperationRef operation{};
  std::uint64_t remaining = 0;
  Result result = Result::ok;
};

}  // namespace lfc
