// WindowOp: an operation of ours on a window, from the call to its end.
//
// A model of it is made on the stack by the call; only what cannot be finished at once is copied
// into one of the service's, runs included. Internal to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/limits.hpp"
#include "services/windows/windows.hpp"

namespace lfc {

struct WindowOp {
  enum class Kind : std::uint8_t { put, accumulate, get, fetch, compare_swap };

  Kind kind = Kind::put;
  Accumulation what;
  bool native = false;  // the link shall move the bytes
  WindowStatus status = WindowStatus::ok;
  Window* window = nullptr;
  std::uint32_t target = 0;
  View origin;
  View result;
  View there;
  std::uint64_t bytes = 0;
  void* request = nullptr;

  // Under way.
  Cursor out;                  // over origin
  Cursor in;                   // over result
  std::uint64_t in_place = 0;  // of `in`: not what has been received, replies overtake each other
  Cursor to;                   // over the target's memory
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::array<std::byte, 16> operands{};  // compare_swap: compare, value
  std::vector<Run> storage;              // of the three views
  std::uint64_t name = 0;                // what a target's answer refers to
  bool executing = false;                // by a thread of the host, without the NI's lock
  bool ended = false;                    // its request is finished; the host has not heard of it
  WindowOp* next = nullptr;

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
  bool all_sent() const noexcept { return sent == bytes; }
  void start_walks() noexcept {
    out = origin.cursor();
    in = result.cursor();
    in_place = 0;
    to = there.cursor();
  }
  // Takes everything from a model, and copies of the runs that its views refer to.
  void take(const WindowOp& model);
};

// An operation that the link has under way.
struct Windows::Native : Operation {
  Windows* windows = nullptr;
  std::uint32_t window = 0;
  std::uint32_t rank = 0;
  void* request = nullptr;
};

// A fragment that waits in the NI for a credit.
struct Windows::Carrier : Message {
  Windows* windows = nullptr;
  std::uint32_t window = 0;
  std::uint32_t rank = 0;
  std::vector<std::byte> bytes;
};

// A result that does not fit into an answer, on its way to the origin.
struct Windows::Reply : Message {
  Windows* windows = nullptr;
  PeerId peer = kNoPeer;
  std::uint32_t window = 0;
  std::uint64_t name = 0;    // the origin's operation
  std::uint64_t base = 0;    // offset of this fragment in it
  std::uint64_t offset = 0;  // bytes sent of the fragment
  std::uint64_t size = 0;
  bool from_memory = false;  // a get; else `bytes` hold the old values
  std::vector<Run> runs;
  Cursor from;
  std::vector<std::byte> bytes;
  std::vector<std::byte> frame;
};

}  // namespace lfc
