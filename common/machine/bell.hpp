// Bell: wakes a process that sleeps, from another process of the node.
//
// The owner of a segment sleeps on a datagram socket whose name is in no file system; a local peer sends a byte there,
// but only while the segment says that the owner sleeps. A sender to an owner that is awake pays one load of a
// line that hardly ever changes. All local peers of a process are rung from one socket: no descriptor for each of them.
//
//   std::unique_ptr<Bell> bell = Bell::create(state, why_not);     // owner; state: in its segment
//   const bool settled = bell->arm();                         // I sleep ...
//   if (work is there) bell->withdraw();                           // ... unless there is work
//   else poll(bell->fd(), settled ? for ever : SleepWord::kSettling);   // not settled: arm and look again
//   BellCord cord(state);                                          // local peer
//   send(); if (cord) cord.pull();
//
// That no wake-up is lost: sync/sleep_word.hpp. Anybody in the network namespace may ring: the owner looks, and finds
// nothing.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "machine/file_descriptor.hpp"
#include "sync/sleep_word.hpp"

namespace lfc {

using BellName = std::array<char, 32>;  // of the socket; empty: the owner never sleeps
class Ringer;

// In the segment. The name is there before the segment is published.
struct BellState {
  SleepWord word;
  BellName name;

  bool is_there() const noexcept { return name[0] != '\0'; }
};

class Bell {
 public:
  static std::unique_ptr<Bell> create(BellState& state, std::string& why_not);

  // Readable once somebody has rung.
  int fd() const noexcept { return socket_.get(); }
  // From now on local peers ring. The owner must look for earlier frames after this call. A second call without a
  // withdrawal between continues the first arming. True: it is settled, and a look from now on also finds the
  // frames of local peers that have missed the armed word.
  bool arm() noexcept;
  // No longer, and forgets that they did.
  void withdraw() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  explicit Bell(BellState& state) noexcept : state_(state) {}

  BellState& state_;
  FileDescriptor socket_;
  Clock::time_point armed_at_;
};

class BellCord {
 public:
  BellCord() = default;
  // Rings once, to see whether it can. An owner without a bell gets no socket, and nothing is to be pulled. One that
  // has a bell and cannot be rung (errno says why: no descriptor, or another network namespace) must not be sent to:
  // it might sleep. Held by tests/unit/machine/bell_test.cpp.
  explicit BellCord(BellState& state);
  explicit operator bool() const noexcept { return state_ != nullptr; }

  // After the work has been published.
  void pull() const noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // sync/sleep_word.hpp
    if (const std::uint32_t token = state_->word.asleep()) [[unlikely]]
      ring(token);
  }

 private:
  void ring(std::uint32_t token) const noexcept;

  BellState* state_ = nullptr;
  BellName name_{};
  std::shared_ptr<const Ringer> ringer_;
};

}  // namespace lfc
