// Reply: a result that does not fit into an answer, on its way to the origin, frame after frame.
//
//   reply.begin(head, runs, {});                 // a get: of the memory under the runs
//   while (!reply.all_sent()) { reply.next_frame(memory, room, frame); send(frame); }
//
// The buffer of the frame that asked is held until the last one has left, so a member has at most its window of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elements/layout.hpp"
#include "services/windows/protocol/frames.hpp"

namespace lfc {

class ExposedMemory;

class Reply {
 public:
  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  // `values` are the old ones of a fetch; of a get there are runs.
  void begin(const WindowHead& head, std::span<const Run> runs, std::vector<std::byte> values);

  // Makes the next frame, of at most `room` bytes. The memory is looked up for each: null, it is gone meanwhile.
  void next_frame(const ExposedMemory* memory, std::size_t room, std::vector<std::byte>& frame);
  bool all_sent() const noexcept { return offset_ == size_; }

 private:
  std::uint64_t name_ = 0;    // the origin's operation
  std::uint64_t base_ = 0;    // offset of this fragment in it
  std::uint64_t offset_ = 0;  // bytes sent of the fragment
  std::uint64_t size_ = 0;
  bool from_memory_ = false;  // a get; else `values_` hold the old ones
  std::vector<Run> runs_;
  Cursor from_;
  std::vector<std::byte> values_;
};

}  // namespace lfc
