// WindowCall: the description of an operation that a call requests, made and range-checked once. Walk: the progress of
// its bytes. WindowOp: a call that could not be finished at once, with copies of the runs that its views refer to.
// Operations: the WindowOps of all windows of the process, by the names that replies contain.
//
//   WindowOp& op = operations.take(call);
//   WindowOp* const meant = operations.find(ack.reply, peer);      // null: no such one, or for another target
//   operations.finish(op, WindowStatus::ok);                 // given back, or kept until the host has its completion
//
// Internal to this folder. Threads: the caller serialises, but for host_wanted().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/named_pool.hpp"
#include "elements/accumulate.hpp"
#include "services/windows/protocol/bundle.hpp"
#include "services/windows/protocol/view.hpp"
#include "services/windows/protocol/way.hpp"
#include "wire/frame.hpp"

namespace lfc {

namespace rma {
class Origin;
using Rank = std::uint32_t;
}  // namespace rma

struct WindowCall {
  enum class Kind : std::uint8_t { put, accumulate, get, fetch, compare_swap };
  static constexpr std::uint32_t kNoCounter = UINT32_MAX;

  Kind kind = Kind::put;
  Accumulation what{};
  rma::Rank target = 0;
  View origin{};
  View result{};
  View there{};
  std::uint64_t bytes = 0;
  void* request = nullptr;
  std::array<std::byte, 16> operands{};  // compare_swap: compare, value
  std::uint32_t counter = kNoCounter;    // accumulate, fetch: the target increments it afterwards

  bool notifies() const noexcept { return counter != kNoCounter; }
  bool has_result() const noexcept {
    return kind == Kind::get || kind == Kind::fetch || kind == Kind::compare_swap;
  }
  bool sends_operands() const noexcept {
    return kind != Kind::get && what.operation != lfc::Accumulate::no_op;
  }
  // Fragments end between elements.
  std::uint64_t unit() const noexcept {
    return kind == Kind::accumulate || kind == Kind::fetch ? size_of(what.element) : 1;
  }
  // Returns whether both sides have room.
  bool fits() const noexcept {
    const bool operands_fit =
        !sends_operands() || kind == Kind::compare_swap || origin.bytes() >= bytes;
    return operands_fit && (!has_result() || result.bytes() >= bytes) && there.bytes() >= bytes;
  }
  Shape shape() const noexcept {
    Shape shape{Shape::Kind::other, false, request != nullptr, bytes};
    if (kind == Kind::put || kind == Kind::get) {
      shape.kind = kind == Kind::put ? Shape::Kind::put : Shape::Kind::get;
      shape.contiguous = (kind == Kind::put ? origin : result).contiguous() && there.contiguous();
    }
    return shape;
  }
};

// The description of the usual operation, on contiguous bytes on all sides, which one frame carries or the link copies
// at once.
struct PlainCall {
  WindowCall::Kind kind;
  Accumulation what;
  rma::Rank target;
  const std::byte* origin;  // compare_swap: compare and, behind it, value
  std::byte* result;
  std::uint64_t offset;  // in the target's memory
  std::uint64_t bytes;

  bool is_put() const noexcept { return kind == WindowCall::Kind::put; }
  bool is_get() const noexcept { return kind == WindowCall::Kind::get; }
  bool has_result() const noexcept { return !is_put() && kind != WindowCall::Kind::accumulate; }
  std::uint64_t operand_bytes() const noexcept {
    if (kind == WindowCall::Kind::compare_swap) return 2 * bytes;
    return is_get() || (!is_put() && what.operation == lfc::Accumulate::no_op) ? 0 : bytes;
  }
  Shape shape() const noexcept {
    return {is_put()   ? Shape::Kind::put
            : is_get() ? Shape::Kind::get
                       : Shape::Kind::other,
            is_put() || is_get(), false, bytes};
  }
};

struct Walk {
  Walk() = default;
  explicit Walk(const WindowCall& call) noexcept
      : out(call.origin.cursor()), in(call.result.cursor()), to(call.there.cursor()) {}

  Cursor out;                  // over origin
  Cursor in;                   // over result
  Cursor to;                   // over the target's memory
  std::uint64_t in_place = 0;  // of `in`; not `received`, because replies overtake each other
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

struct WindowOp : WindowCall {
  Walk walk;
  Way way = Way::frames;  // the one it takes when permitted
  WindowStatus status = WindowStatus::ok;
  rma::Origin* owner = nullptr;
  std::uint64_t name = 0;    // a target's reply contains it
  bool executing = false;    // by a thread of the host, without the lock
  bool ended = false;        // its request is finished, but not reported to the host
  std::vector<Run> storage;  // of the three views
  Run piece;                 // of the result of a plain call
  WindowOp* next = nullptr;

  bool all_sent() const noexcept { return walk.sent == bytes; }
  // Takes everything from a call, and copies of the runs that its views refer to.
  void take(const WindowCall& call);
  // Prepares to wait for the result of an operation that is sent as a whole.
  void take(const PlainCall& call) noexcept;
};

class Operations {
 public:
  struct Ended {
    void* request;
    WindowStatus status;
  };

  template <class Call>
  WindowOp& take(const Call& call) {
    return ops_.take([&](WindowOp& op) { op.take(call); });
  }
  void give_back(WindowOp& op) noexcept;
  // Finds the operation that a reply of this peer names; null: there is no such one, or it is for another target.
  WindowOp* find(std::uint64_t name, PeerId peer) noexcept;
  // Ends an operation. take_finished() reports its request to the host.
  void finish(WindowOp& op, WindowStatus status);
  std::vector<Ended> take_finished();
  // The number of operations that have not ended (diagnosis).
  std::size_t count() noexcept;
  template <class Call>
  void for_each(Call call) {
    ops_.for_each(call);
  }

  // Notes that there is work or a completion for the host.
  void want_host() noexcept { host_wanted_.store(true, std::memory_order_release); }
  bool host_wanted() const noexcept { return host_wanted_.load(std::memory_order_acquire); }

  rma::BundlePool bundles;
  // Buffers for one fragment at a time.
  std::vector<Run> runs;
  std::vector<std::byte> bytes;

 private:
  NamedPool<WindowOp> ops_;
  std::vector<WindowOp*> finished_;
  std::atomic<bool> host_wanted_{false};
};

}  // namespace lfc
