// Buffers of the verbs link: receive buffers, shared by all peers, and send buffers.
//
//   ReceivePool receives;
//   if (!receives.promise(count, why_not)) ...                    // from now on a peer may send so many
//   deliver(receives.data(index));
//   receives.give_back(index);                                    // posted again, with others, before poll() ends
//
// Why the receiver is always ready: a peer sends no more than it has been promised, and there are kBatch buffers beyond
// all promises. At most kBatch buffers have been taken from the queue and not been posted again. So at any time the
// queue has at least as many buffers as peers may still use. Held by tests/unit/link/verbs_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "link/verbs/device.hpp"

namespace lfc::verbs {

// Receive buffers of all peers. The completion queue has room for each, and for each work request under way.
inline constexpr int kMostReceives = 16384;
inline constexpr std::uint32_t kMostOutstanding = 4096;
inline constexpr int kCompletions = kMostReceives + static_cast<int>(kMostOutstanding);

// Promises: how many receive buffers must exist for the promised frames. Pure.
class Promises {
 public:
  explicit Promises(std::uint32_t most = 0) noexcept : most_(most) {}

  bool fits(std::uint32_t count) const noexcept { return wanted(count) <= most_; }
  // Returns how many buffers must be made and posted for a promise of `count`.
  std::uint32_t missing(std::uint32_t count) const noexcept {
    return wanted(count) - std::min(exist_, wanted(count));
  }
  void make(std::uint32_t count) noexcept { exist_ += count; }
  void promise(std::uint32_t count) noexcept { promised_ += count; }
  // The peer's queue pair is gone. Its buffers serve the next one.
  void release(std::uint32_t count) noexcept { promised_ -= count; }
  // The device may have kept a buffer for itself.
  void lose() noexcept { exist_ -= exist_ != 0 ? 1 : 0; }
  std::uint32_t promised() const noexcept { return promised_; }
  std::uint32_t exist() const noexcept { return exist_; }

 private:
  std::uint32_t wanted(std::uint32_t count) const noexcept {
    return promised_ + count + Completions::kBatch;
  }
  std::uint32_t most_;
  std::uint32_t promised_ = 0;
  std::uint32_t exist_ = 0;
};

class ReceivePool {
 public:
  bool open(Device& device, std::size_t piece, std::string& why_not);
  ibv_srq* queue() const noexcept { return queue_.get(); }

  bool promise(std::uint32_t count, std::string& why_not);
  void release(std::uint32_t count) noexcept { promises_.release(count); }
  void lose() noexcept { promises_.lose(); }

  std::byte* data(std::uint32_t index) const noexcept {
    return slabs_[index / per_slab_]->data() + (index % per_slab_) * piece_;
  }
  void give_back(std::uint32_t index) noexcept {
    back_.push_back(index);
    if (back_.size() == Completions::kBatch) post();
  }
  // Posts the returned buffers again. False: the device refuses them.
  bool post() noexcept;
  std::size_t memory() const noexcept { return slabs_.size() * per_slab_ * piece_; }

 private:
  Device* device_ = nullptr;
  Handle<ibv_srq> queue_;
  Promises promises_;
  std::size_t piece_ = 0;
  std::uint32_t per_slab_ = 1;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::uint32_t made_ = 0;  // buffers that were ever used
  std::vector<std::uint32_t> back_;
};

class SendPool {
 public:
  bool open(const Device& device, std::size_t piece, std::uint32_t count, std::string& why_not);
  std::size_t free() const noexcept { return free_.size(); }
  std::uint32_t take() noexcept {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) noexcept { free_.push_back(index); }
  std::byte* data(std::uint32_t index) const noexcept { return slab_.data() + index * piece_; }
  std::uint32_t key() const noexcept { return slab_.key(); }
  std::size_t memory() const noexcept { return slab_.size(); }

 private:
  Slab slab_;
  std::size_t piece_ = 0;
  std::vector<std::uint32_t> free_;
};

// WorkId: the owner of a completion, in its wr_id. In failed completions no other field is reliable.
struct WorkId {
  enum class Kind : std::uint8_t { send, receive, datagram_out, datagram_in };
  Kind kind;
  std::uint32_t slot;    // send: of the connection
  std::uint32_t number;  // send: the last work request that has ended; else the buffer

  static WorkId of(std::uint64_t word) noexcept {
    return {static_cast<Kind>(word >> 62), static_cast<std::uint32_t>(word >> 32) & 0x3fffffffu,
            static_cast<std::uint32_t>(word)};
  }
  std::uint64_t word() const noexcept {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 62 | std::uint64_t{slot} << 32 |
           number;
  }
};

}  // namespace lfc::verbs
