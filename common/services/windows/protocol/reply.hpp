// Reply: a result that does not fit into an ack and goes to the origin frame by frame.
//
//   reply.begin(head, runs, {});                 // a get: of the memory under the runs
//   while (!reply.all_sent()) { reply.next_frame(memory, room, frame); send(frame); }
//
// The buffer of the requesting frame is held until the last one has left. So the member's credits bound the number of
// replies.
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
  // `values` are the old values of a fetch; a get has runs.
  void begin(const WindowHead& head, std::span<const Run> runs, std::vector<std::byte> values);

  // Makes the next frame, of at most `room` bytes. The caller looks up the memory for each frame; null: it is gone
  // meanwhile.
  void next_frame(const ExposedMemory* memory, std::size_t room, std::vector<std::byte>& frame);
  bool all_sent() const noexcept { return offset_ == size_; }

 private:
  std::uint64_t name_ = 0;    // the origin's operation
  std::uint64_t base_ = 0;    // offset of this fragment in it
  std::uint64_t offset_ = 0;  // bytes sent of the fragment
  std::uint64_t size_ = 0;
  bool from_memory_ = false;  // a get; else `values_` has the old values
  std::vector<Run> runs_;
  Cursor from_;
  std::vector<std::byte> values_;
};

}  // namespace lfc
