#include "spare_memory.hpp"

#include <algorithm>
#include <thread>

#include "layout.hpp"
#include "watch.hpp"

namespace programs {

SpareMemory::SpareMemory(Draw& draw)
    : pieces_(draw.one_in(4) ? 0 : draw.in(1, 3000)),
      behind_(std::min(pieces_, draw.in(0, 100))),
      at_once_(draw.in(1, 40)),
      rounds_(draw.one_in(2) ? 0 : draw.in(1, 6)),
      distance_(draw.in(0, 5)),
      in_order_(draw.one_in(2)),
      lent_(1 + draw.bytes(100000)),
      key_(draw.next()) {}

std::string SpareMemory::text() const {
  return std::to_string(pieces_) + " pieces detached " + std::to_string(at_once_) + " at once" +
         (in_order_ ? " in order, " : ", ") + std::to_string(lent_) + " bytes lent " +
         std::to_string(rounds_) + " times at distance " + std::to_string(distance_);
}

void SpareMemory::prepare(World& world, MPI_Win win, void* memory, MPI_Aint bytes) {
  win_ = win;
  MPI_Comm_dup(world.all.comm, &comm_);
  memory_.resize(static_cast<std::size_t>(pieces_));
  for (int i = 0; i <= pieces_; ++i) {
    if (i == pieces_ - behind_) {
      MPI_Win_attach(win, memory, bytes);
      MPI_Win_attach(win, &word_, sizeof word_);
    }
    if (i == pieces_) break;
    Piece& piece = memory_[static_cast<std::size_t>(i)];
    MPI_Win_attach(win, piece.data(), sizeof piece);
  }
}

void SpareMemory::detach_beside(const std::atomic<int>& operating) {
  watch_call("MPI_Win_detach beside other threads");
  Draw draw(key_);
  std::vector<int> order = draw.permutation(pieces_);
  for (int i = 0; in_order_ && i < pieces_; ++i) order[static_cast<std::size_t>(i)] = i;
  int left = at_once_;
  for (int index : order) {
    MPI_Win_detach(win_, memory_[static_cast<std::size_t>(index)].data());
    if (--left > 0) continue;
    left = at_once_;
    for (const int seen = operations_; operating > 0 && operations_ == seen;)
      std::this_thread::yield();
  }
  detached_ = true;
}

void SpareMemory::use_word(World& world) {
  const int rank = world.all.rank_of(world.me);
  MPI_Aint at;
  MPI_Get_address(&word_, &at);
  watch_call("uses a word while other memory is detached");
  for (std::int64_t value = 1; !detached_; ++value) {
    std::int64_t back = -1;
    MPI_Put(&value, 1, MPI_INT64_T, rank, at, 1, MPI_INT64_T, win_);
    MPI_Win_flush(rank, win_);
    MPI_Get(&back, 1, MPI_INT64_T, rank, at, 1, MPI_INT64_T, win_);
    MPI_Win_flush(rank, win_);
    if (back != value)
      fail("the word is %lld, not %lld", static_cast<long long>(back),
           static_cast<long long>(value));
    passed();
  }
}

void SpareMemory::lend(World& world) {
  const int size = world.all.size(), rank = world.all.rank_of(world.me);
  const int to = (rank + distance_) % size, from = (rank + size - distance_ % size) % size;
  for (int round = 0; round < rounds_; ++round) {
    const auto of = [&](int origin) {
      return contents(
          mixed(key_ + static_cast<std::uint64_t>(origin), static_cast<std::uint64_t>(round)),
          lent_);
    };
    const std::vector<char> put = of(rank), should = of(from);
    std::vector<char> lent(lent_);
    const int bytes = static_cast<int>(lent_);
    MPI_Aint mine, theirs;
    watch_call("attaches memory for a neighbour");
    MPI_Win_attach(win_, lent.data(), bytes);
    MPI_Get_address(lent.data(), &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, from, round, &theirs, 1, MPI_AINT, to, round, comm_,
                 MPI_STATUS_IGNORE);
    watch_call("MPI_Put into memory lent by a neighbour");
    MPI_Put(put.data(), bytes, MPI_BYTE, to, theirs, bytes, MPI_BYTE, win_);
    MPI_Win_flush(to, win_);
    MPI_Barrier(comm_);
    MPI_Win_sync(win_);
    const std::ptrdiff_t wrong = first_difference(lent, should);
    if (wrong >= 0) fail("round %d: byte %td of lent memory is wrong", round, wrong);
    MPI_Win_detach(win_, lent.data());
  }
}

void SpareMemory::end() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  memory_.clear();
}

}  // namespace programs
