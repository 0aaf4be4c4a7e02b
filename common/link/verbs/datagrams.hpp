// Datagrams: a queue pair of kind UD for the handshakes of a process.
//
//   Datagrams datagrams;
//   if (!datagrams.open(device, why_not)) ...
//   datagrams.send(way, {queue_pair, key}, bytes);            // false: no room now
//   on_hello(datagrams.received(index, completion.byte_len)); datagrams.give_back(index);
//
// Datagrams may get lost, so their sender repeats them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "link/verbs/buffers.hpp"
#include "link/verbs/device.hpp"

namespace lfc::verbs {

class Datagrams {
 public:
  static constexpr std::uint32_t kSends = 16;  // on their way out at a time
  struct Target {
    std::uint32_t queue_pair;
    std::uint32_t key;
  };
  bool open(Device& device, std::string& why_not);
  Target own() const noexcept { return {pair_->qp_num, key_}; }
  // Returns how many bytes a datagram carries at most.
  std::size_t room() const noexcept { return room_; }

  bool send(ibv_ah* way, const Target& target, std::span<const std::byte> bytes) noexcept;
  // A datagram of ours has left.
  void sent(std::uint32_t index) noexcept { free_.push_back(index); }
  std::span<const std::byte> received(std::uint32_t index, std::uint32_t size) const noexcept;
  void give_back(std::uint32_t index) noexcept;
  std::size_t memory() const noexcept { return slab_.size(); }

 private:
  static constexpr std::uint32_t kReceives = 64;
  static constexpr std::size_t kLargest = 2048;
  static constexpr std::size_t kRoute = 40;  // the device puts the route in front
  static constexpr std::size_t kPlace = kLargest + 64;

  std::byte* place(std::uint32_t index) const noexcept { return slab_.data() + index * kPlace; }
  bool ready(Device& device) noexcept;

  Slab slab_;
  Handle<ibv_qp> pair_;
  std::uint32_t key_ = 0;
  std::size_t room_ = 0;
  std::vector<std::uint32_t> free_;
};

}  // namespace lfc::verbs
