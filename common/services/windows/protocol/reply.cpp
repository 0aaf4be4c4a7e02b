#include "services/windows/protocol/reply.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "services/windows/protocol/exposed_memory.hpp"
#include "services/windows/protocol/view.hpp"

namespace lfc {

void Reply::begin(const WindowHead& head, std::span<const Run> runs,
                  std::vector<std::byte> values) {
  name_ = head.reply;
  base_ = head.offset;
  offset_ = 0;
  size_ = head.bytes;
  from_memory_ = static_cast<WindowKind>(head.kind) == WindowKind::get;
  runs_.assign(runs.begin(), runs.end());
  from_ = Cursor(runs_, 0, 1, 0);
  values_ = std::move(values);
}

void Reply::next_frame(const ExposedMemory* memory, std::size_t room,
                       std::vector<std::byte>& frame) {
  const std::uint64_t size = std::min<std::uint64_t>(size_ - offset_, room - sizeof(WindowReply));
  WindowReply head{name_, 0, base_ + offset_};
  frame.resize(sizeof head + size);
  std::byte* const bytes = frame.data() + sizeof head;
  offset_ += size;
  if (from_memory_) {
    std::int64_t base = 0;
    std::byte* const at = memory == nullptr ? nullptr : memory->resolve(runs_, base);
    if (at != nullptr) {
      from_.set_base(base);
      gather(from_, at, bytes, size);
    } else {
      frame.resize(sizeof head);
      head.status = static_cast<std::uint64_t>(WindowStatus::range);
      head.offset = size_ - (offset_ - size);
      offset_ = size_;
    }
  } else {
    std::memcpy(bytes, values_.data() + (offset_ - size), size);
  }
  std::memcpy(frame.data(), &head, sizeof head);
}

}  // namespace lfc
