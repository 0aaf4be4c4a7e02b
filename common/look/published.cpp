#include "look/published.hpp"

#include <unistd.h>

#include <cstring>
#include <mutex>
#include <type_traits>

namespace lfc::look {
namespace {

std::mutex mutex;
// In the library's writable data from the beginning, never in memory that is zero at start, because readers search
// the former.
constinit Root the_root{{}, kVersion, 0, nullptr};

// The magic bytes are written when the root is valid, and are in no other writable memory.
void begin() noexcept {
  the_root.process = static_cast<std::uint32_t>(getpid());
  std::memcpy(the_root.magic, kMagic, kMagicBytes);
}

}  // namespace

Published* Published::last_ = nullptr;

Published* Published::of(const Shown* shown) noexcept {
  static_assert(std::is_standard_layout_v<Published>);
  return reinterpret_cast<Published*>(const_cast<Shown*>(shown));
}

Published::Published(const Schema& kind, const void* first, std::size_t number,
                     std::size_t bytes_apart, const void* belongs_to) noexcept
    : shown_{nullptr,
             &kind,
             first,
             reinterpret_cast<std::uintptr_t>(belongs_to),
             static_cast<std::uint32_t>(number),
             static_cast<std::uint32_t>(bytes_apart)} {
  const std::lock_guard guard(mutex);
  before_ = last_;
  (before_ == nullptr ? the_root.first : before_->shown_.next) = &shown_;
  last_ = this;
  if (the_root.process == 0) begin();
}

Published::~Published() {
  const std::lock_guard guard(mutex);
  (before_ == nullptr ? the_root.first : before_->shown_.next) = shown_.next;
  (shown_.next == nullptr ? last_ : of(shown_.next)->before_) = before_;
}

const Root& root() noexcept { return the_root; }

}  // namespace lfc::look
