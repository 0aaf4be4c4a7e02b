#include "services/collective/protocol/board.hpp"

#include <algorithm>

#include "base/build_stamp.hpp"
#include "base/limits.hpp"

namespace lfc {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

const BuildStamp Board::stamp("board",
                              {sizeof(Head), sizeof(Line), sizeof(Mailbox), sizeof(Slot), kInline,
                               kRoom, Label::kDigestBits, Label::kKinds, limits::kCollSlots,
                               limits::kCollRooms, static_cast<std::uint64_t>(End::last_)});

std::size_t Board::slots_offset(std::uint32_t lanes) noexcept {
  return sizeof(Head) + sizeof(Line) * lanes;
}

std::size_t Board::rooms_offset(std::uint32_t lanes) noexcept {
  const std::size_t end = slots_offset(lanes) + sizeof(Slot) * limits::kCollSlots * lanes;
  return (end + kPage - 1) / kPage * kPage;
}

std::size_t Board::size(std::uint32_t lanes) noexcept {
  return rooms_offset(lanes) + kRoom * limits::kCollRooms * lanes;
}

Board::Board(std::byte* memory, std::uint32_t lanes, std::uint32_t self) noexcept
    : memory_(memory),
      slots_(slots_offset(lanes)),
      rooms_(rooms_offset(lanes)),
      lanes_(lanes),
      self_(self) {}

void Board::format(std::byte* memory, std::uint32_t lanes, std::uint32_t users,
                   bool zeroed) noexcept {
  // The rooms need no cleaning.
  if (!zeroed) std::fill_n(memory, rooms_offset(lanes), std::byte{0});
  // Whoever sees it in use sees that its old key is gone: pairs with is_free().
  Board(memory, lanes, 0).head().attached.store(users, std::memory_order_release);
}

bool Board::look_again() noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t lane = 0; lane < lanes_; ++lane)
    least = std::min(least, line(lane).finished.load(std::memory_order_acquire));
  all_finished_ = least;
  return true;
}

bool Board::waits_alike(std::uint64_t step, Label label) noexcept {
  const std::uint64_t own = flag_of(step, label);
  line(self_).waits.store(own, std::memory_order_relaxed);  // looked at again and again
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    const std::uint64_t other = line(lane).waits.load(std::memory_order_relaxed);
    if (other != own && (other ^ own) >> Label::kDigestBits == 0) return false;
  }
  return true;
}

void Board::set_end(End end) noexcept {
  End none = End::none;
  head().end.compare_exchange_strong(none, end, std::memory_order_acq_rel);
}
Board::End Board::end() const noexcept { return head().end.load(std::memory_order_acquire); }

bool Board::detach() noexcept {
  // acq_rel: the last rank sees all that the others did before they detached.
  return head().attached.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

bool Board::is_free(const std::byte* memory) noexcept {
  return reinterpret_cast<const Head*>(memory)->attached.load(std::memory_order_acquire) == 0;
}

}  // namespace lfc
