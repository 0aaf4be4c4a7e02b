// Transfers: puts and gets of the NI, cut into chunks, which the rails take when they have room. So rails share the
// work by their speed, which is not measured.
//
//   Link::Start started = transfers.start(session, is_put, memory, address, remote, size, operation);
//   if (transfers.feed(session)) sessions.make_restless(session);  // chunks wait, and no end of another starts them
//   transfers.abandon(session);                               // the next complete_cancelled() notifies the callers
//
// Invariants: an operation ends once, when all chunks have; a put that a rail has lost is sent again only when the
// peer has closed that rail (tests/unit/link/bond/bond_test.cpp). Threads: as the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "link/bond/losses.hpp"

namespace lfc::bond {

class Transfers {
 public:
  Transfers(Rails& rails, Sessions& sessions, Losses& losses, Counters& counters) noexcept
      : rails_(rails), sessions_(sessions), losses_(losses), counters_(counters) {}

  bool served(const Session& session) const noexcept;
  Link::Start start(Session& session, bool is_put, void* memory, std::uint64_t address,
                    const LinkRegion& remote, std::size_t size, Operation* operation) noexcept;
  // Lets the rails take chunks. True: some chunks wait that no rail takes now, and no end of another chunk will start
  // them.
  bool feed(Session& session);
  // Cancels all transfers. The rails are closed, or will be before the caller takes its memory back.
  void abandon(Session& session);
  bool cancelled() const noexcept { return !cancelled_.empty(); }
  // Notifies the callers of abandoned transfers; returns how many.
  int complete_cancelled();

 private:
  Chunk& take_chunk();
  Chunk* next_chunk(Session& session);
  std::uint8_t rail_with_room(const Session& session, std::uint32_t tried) const noexcept;
  Link::Start start_chunk(Session& session, Chunk& chunk, std::uint8_t rail) noexcept;
  static void chunk_done(Operation* self, Result result);
  void chunk_ended(Chunk& chunk, Result result);
  void account(Chunk& chunk, Result result);

  Rails& rails_;
  Sessions& sessions_;
  Losses& losses_;
  Counters& counters_;
  std::deque<Chunk> chunks_;
  std::vector<Chunk*> spare_chunks_;
  std::deque<Transfer> transfers_;
  std::vector<Transfer*> spare_transfers_;
  std::vector<Operation*> cancelled_;
};

}  // namespace lfc::bond
