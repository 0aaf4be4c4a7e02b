#include "services/collective/lent_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lfc {

LentMemory::Fetched LentMemory::fetch(const Ranks& ranks, const CollOperation& operation,
                                      Board& board, bool has_room, std::uint32_t lane,
                                      std::byte* to, std::uint64_t from, std::size_t size) {
  if (operation_ != &operation) {
    if (read(ranks, lane, to, from, size)) return Fetched::done;
    if (environment_.has_ended(ranks.members().name(ranks.local()[lane]))) return Fetched::lost;
    if (!has_room || operation_ != nullptr) return Fetched::waits;
    operation_ = &operation;
  }
  Mailbox& mailbox = board.mailbox(board.self());
  for (;;) {
    const std::size_t piece = std::min(size - done_, Board::kRoom);
    if (!std::exchange(requested_, true))
      mailbox.request({operation.first, from + done_, static_cast<std::uint32_t>(piece), lane});
    if (!mailbox.has_reply()) return Fetched::waits;
    std::memcpy(to + done_, board.room(board.self(), operation.first + 1, Board::kRoom), piece);
    requested_ = false;
    done_ += piece;
    if (done_ < size) continue;
    operation_ = nullptr;
    done_ = 0;
    return Fetched::done;
  }
}

}  // namespace lfc
