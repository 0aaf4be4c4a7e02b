// Bell: wakes a process that sleeps, from another process of the host.
//
// The owner of a segment sleeps on the reading end of a pipe; a neighbour opens the writing end as
// /proc/PID/fd/FD (which the kernel permits for pipes) and writes a byte, but only when the owner
// has said in the segment that it sleeps. A sender to an owner that is awake pays one load of a
// line that hardly ever changes.
//
//   std::unique_ptr<Bell> bell = Bell::create(state, why_not);     // owner; state: in its segment
//   bell->announce();                                              // I sleep ...
//   if (work is there) bell->withdraw(); else poll(bell->fd());    // ... unless there is work
//   BellCord cord(state, pid);                                     // neighbour
//   send(); if (cord) cord.pull();
//
// That no wake-up is lost: sync/sleep_word.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "machine/file_descriptor.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/sleep_word.hpp"

namespace lfc {

// In the segment.
struct BellState {
  SleepWord word;
  std::atomic<std::uint32_t> fd;        // of the writing end, plus one; 0: the owner never sleeps
  std::atomic<std::uint32_t> is_heavy;  // the owner can fence its neighbours

  bool is_there() const noexcept { return fd.load(std::memory_order_relaxed) != 0; }
};

class Bell {
 public:
  static std::unique_ptr<Bell> create(BellState& state, std::string& why_not);

  // Readable once somebody has rung.
  int fd() const noexcept { return read_end_.get(); }
  // From now on neighbours ring. What they sent before must be looked for after this.
  void announce() noexcept;
  // No longer, and forgets that they did.
  void withdraw() noexcept;

 private:
  explicit Bell(BellState& state) noexcept : state_(state), fence_(AsymmetricFence::Scope::host) {}

  BellState& state_;
  AsymmetricFence fence_;
  FileDescriptor read_end_;
  FileDescriptor write_end_;
};

class BellCord {
 public:
  BellCord() = default;
  // An owner without a bell gets no descriptor, and nothing is to be pulled. One that has a bell, and whose
  // pipe cannot be opened, must not be sent to: it might sleep. Held by tests/unit/link/shm_test.cpp.
  BellCord(BellState& state, std::uint32_t pid) noexcept;
  explicit operator bool() const noexcept { return state_ != nullptr; }

  // After the work has been published.
  void pull() const noexcept {
    AsymmetricFence::light(cheap_);
    if (const std::uint32_t token = state_->word.asleep()) [[unlikely]]
      ring(token);
  }

 private:
  void ring(std::uint32_t token) const noexcept;

  BellState* state_ = nullptr;
  bool cheap_ = false;
  FileDescriptor pipe_;
};

}  // namespace lfc
