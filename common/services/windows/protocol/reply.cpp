#include "services/windows/protocol/reply.hpp"

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

WindowReply Reply::next_frame(const ExposedMemory* memory, std::span<std::byte>& bytes) {
  WindowReply head{name_, 0, base_ + offset_};
  if (!from_memory_) {
    std::memcpy(bytes.data(), values_.data() + offset_, bytes.size());
    offset_ += bytes.size();
    return head;
  }
  std::int64_t base = 0;
  std::byte* const at = memory == nullptr ? nullptr : memory->resolve(runs_, base);
  if (at == nullptr) {
    head.status = static_cast<std::uint64_t>(WindowStatus::range);
    head.offset = size_ - offset_;
    offset_ = size_;
    bytes = {};
    return head;
  }
  from_.set_base(base);
  gather(from_, at, bytes.data(), bytes.size());
  offset_ += bytes.size();
  return head;
}

}  // namespace lfc
