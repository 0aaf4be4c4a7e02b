// Bell: a wake-up for a sleeping process, rung by another process of the node.
//
// The owner of a segment sleeps on a datagram socket whose name is in no file system. A local peer sends a byte there,
// but only while the segment shows that the owner sleeps. For an owner that is awake a sender pays one load of a
// line that hardly ever changes. One socket rings all local peers of a process, so none needs a descriptor of its own.
//
//   std::unique_ptr<Bell> bell = Bell::create(state, why_not);     // owner; state: in its segment
//   const bool settled = bell->arm();                         // before it sleeps ...
//   if (work_is_there) bell->withdraw();                           // ... unless there is work
//   else poll(bell->fd(), settled ? for_ever : SleepWord::kSettling);   // not settled: arm and look again
//   BellCord cord(state);                                          // local peer
//   send(); if (cord) cord.pull();
//
// Why no wake-up is lost: sync/sleep_word.hpp. Any process in the network namespace may ring: the owner looks, and
// finds nothing.
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

// In the segment. The name is written before the segment is published.
struct BellState {
  SleepWord word;
  BellName name;

  bool is_there() const noexcept { return name[0] != '\0'; }
};

class Bell {
 public:
  static std::unique_ptr<Bell> create(BellState& state, std::string& why_not);

  // Readable after a ring.
  int fd() const noexcept { return socket_.get(); }
  // Makes local peers ring from now on. The owner must look for earlier frames after this call. A second call without a
  // withdrawal between continues the first arming. True: it is settled, and a look from now on also finds the
  // frames of local peers that have missed the armed word.
  bool arm() noexcept;
  // Ends this, and discards earlier rings.
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
  // Rings once, to test it. If the owner has no bell, there is no socket and nothing to pull. If it has one that
  // cannot be rung (errno: no descriptor, or another network namespace), nothing may be sent to it, because
  // it might sleep. Held by tests/unit/machine/bell_test.cpp.
  explicit BellCord(BellState& state);
  explicit operator bool() const noexcept { return state_ != nullptr; }

  // Wakes the owner if it sleeps. Call it after the work has been published.
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
