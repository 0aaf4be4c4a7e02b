// Reply: a result that does not fit into an ack and goes to the origin frame by frame.
//
//   reply.begin(head, runs, {});                 // a get: of the memory under the runs
//   while (!reply.all_sent()) {
//     std::span<std::byte> bytes = buffer_of(reply.next_size(room));
//     WindowReply head = reply.next_frame(memory, bytes);           // may make `bytes` shorter
//     send(head, bytes);
//   }
//
// The buffer of the requesting frame is held until the last one has left. So the member's credits bound the number of
// replies.
#pragma once

#include <algorithm>
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

  // Returns the bytes of the result in the next frame, which has room for so many bytes with its head.
  std::size_t next_size(std::size_t room) const noexcept {
    return std::min<std::uint64_t>(size_ - offset_, room - sizeof(WindowReply));
  }
  // Makes the next frame: returns its head, and writes its bytes, of which there are next_size(). The caller looks up
  // the memory for each frame; null: it is gone meanwhile. Then the frame has no bytes, and `bytes` is empty.
  WindowReply next_frame(const ExposedMemory* memory, std::span<std::byte>& bytes);
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
