// Origin: the half of NEON that puts, gets and notifies. For each target and tag it keeps a stream in the order of the
// calls. Operations that cannot start yet wait there, and no call blocks.
//
// A put of up to Limits::eager bytes goes at once. If its announcement is not known to be made, it
// is *charged* to the budget at the target, which gives the bytes back when it has put them in place; when
// the budget is used up, and for larger puts, the origin *wants* the announcement and waits for
// its *grant*. With a grant nothing is charged, and a large put goes straight into the target's
// memory where the carrier can do that; its final frame leaves when that has happened.
// Frames of a generation may still be on their way. So a put that overlaps them goes by frames as well, and one that
// overlaps a direct write waits for it.
//
// A put or get of a buffer that is mapped here needs no frame, if the target has published the announcement
// (mapped_entries.hpp) and nothing of its generation has gone by frames.
//
// Why nothing waits for ever: a stream waits for room in the carrier (pumped), for a grant, or for its own direct
// writes. The target replies to every `want`: at once, when it announces, or with kFailed. A target that withdraws a
// buffer that this origin can write to waits for the origin's reply, which waits for those writes alone. Streams do not
// wait for each other, and wants, grants and refunds are never charged.
// Source: NEON thesis 5.2.5 (put), 4.4.2.2 (waiting is not shown), 7 (early sender).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/name_table.hpp"
#include "base/sparse_table.hpp"
#include "services/neon/protocol/carrier.hpp"
#include "services/neon/protocol/frame.hpp"
#include "services/neon/protocol/operation.hpp"
#include "services/neon/protocol/tag_table.hpp"

namespace lfc::neon {

// After 2^32 - 1 of them generations begin anew; 0 is none.
constexpr std::uint32_t next_generation(std::uint32_t generation) noexcept {
  return generation + 1 == 0 ? 1 : generation + 1;
}
// True when `now` has come to generation `then`.
constexpr bool reached(std::uint32_t now, std::uint32_t then) noexcept {
  return static_cast<std::int32_t>(now - then) >= 0;
}

// The smallest range that contains all bytes that were added.
struct Extent {
  std::uint64_t begin = 0, end = 0;  // equal: none

  void add(std::uint64_t offset, std::uint64_t size) noexcept {
    if (size == 0) return;
    begin = begin == end ? offset : std::min(begin, offset);
    end = std::max(end, offset + size);
  }
  bool meets(std::uint64_t offset, std::uint64_t size) const noexcept {
    return offset < end && begin < offset + size;
  }
};

// The puts and gets of this process to one target and tag.
struct Stream {
  Rank target = 0;
  std::uint32_t tag = 0;
  bool open = false;             // the window at large: needs no announcement
  std::uint32_t generation = 1;  // of the next put
  std::uint32_t sending = 1;     // the generation that is on its way,
  std::uint32_t sent = 0;        // and its frames that have been sent,
  Extent framed;                 // and the bytes of the buffer that these write
  std::uint32_t granted = 0;     // the last generation known to be announced,
  std::uint64_t size = 0;        // its buffer,
  Token token;                   // and how to write there,
  std::uint32_t key = 0;         // and to notify with the write
  std::uint32_t failed = 0;      // the last generation known to have been withdrawn
  std::uint32_t requested = 0;   // the last generation that was requested by `want`
  bool requests_all = false;
  std::uint32_t writing = 0;  // direct writes under way,
  Extent written;             // and their bytes of the buffer, and those of some that are over
  std::uint32_t recalled =
      0;  // the generation whose target waits for `recalled` after these writes; 0: none
  MappedEntry* entry = nullptr;  // in mapped memory of the target; null: not known
  bool running = false;
  bool listed = false;  // waits for room or budget
  Fifo<Operation> queue;

  void count_frame(bool final) noexcept {
    ++sent;
    if (final) end_generation();
  }
  void end_generation() noexcept {
    sent = 0;
    framed = {};
    sending = next_generation(sending);
  }
};

// Returns whether the unsent frames of a generation never will be sent: a later one is announced, or its announcement
// was refused. Forgets earlier generations, which would count as later ones some 2^31 generations on.
bool is_withdrawn(Stream& stream, std::uint32_t generation) noexcept;

class Origin {
 public:
  Origin(std::uint32_t ranks, const Limits& limits, Outlet& outlet, Carrier& carrier,
         Statistics& statistics);

  // Each begins one operation, whose `done` the caller has set. Not ok: nothing has begun. The pieces of one put, begun
  // without a call in between, are all refused or none, if they have the same Operation::whole_end, and all but the
  // first have Operation::continues: the target may announce a buffer in mapped memory in between.
  Status put(Operation& op, Rank target, std::uint32_t tag, std::uint64_t offset, const void* data,
             std::uint64_t size, bool final, bool strong);
  // Puts without an operation, if the buffer is announced in mapped memory and nothing waits before it. False: nothing
  // was done, and put() follows.
  bool put_mapped(Rank target, std::uint32_t tag, std::uint64_t offset, const void* data,
                  std::uint64_t size, bool final, bool strong);
  Status get(Operation& op, Rank target, std::uint32_t tag, std::uint64_t offset, void* data,
             std::uint64_t size, bool final);
  // Makes the last put to (target, tag) final if that is still waiting here: a notification that
  // needs no frame. False: put 0 bytes, final.
  bool merge_notification(Rank target, std::uint32_t tag);
  // Writes `size` bytes at `data` to the places `runs`, or to one place if there are none. Their notification is
  // counted once, when all are in place. No run is empty, and together they have `size` bytes. The caller keeps them
  // until the operation is done.
  Status put_notify(Operation& op, Rank target, std::uint64_t displacement, const void* data,
                    std::uint64_t size, std::span<const Run> runs, std::uint32_t index,
                    bool strong);
  Status get_notify(Operation& op, Rank target, std::uint64_t displacement, void* data,
                    std::uint64_t size, std::uint32_t index);

  // Returns the stream; null: there has been no put or get to this target and tag.
  Stream* find(Rank target, std::uint32_t tag) const noexcept;

  // Returns the number of operations to the target that have not completed.
  std::uint64_t open(Rank target) const noexcept {
    const Peer* const known = peers_.find(target);
    return known != nullptr ? known->open : 0;
  }
  // Returns the number of operations of which no byte has been sent (diagnosis).
  std::uint64_t waiting(Rank target) const noexcept;

  bool on_reply(Rank from, const Header& header, const std::byte* payload, std::size_t size);
  bool on_delivered(Rank from, const Header& header);
  bool on_grant(Rank from, const Header& header, const Token& token);
  bool on_refund(Rank from, std::uint32_t bytes);
  void on_lost(Rank peer);
  // Called when the carrier has room again. False: not enough.
  bool pump(Rank peer);
  // Carrier::write or write_window has ended.
  void written(Operation& op, Status status, Written what);

 private:
  struct Peer {
    explicit Peer(Rank target) {
      window.target = target;
      window.open = true;
    }

    TagTable<Stream> streams;
    Stream window;  // for the window at large
    std::vector<Stream*> listed;
    std::uint64_t open = 0;
    std::uint32_t charged = 0;

    // False: the budget does not suffice.
    bool charge(std::uint64_t bytes, std::uint32_t budget) noexcept {
      if (charged + bytes + kOverhead > budget) return false;
      charged += static_cast<std::uint32_t>(bytes) + kOverhead;
      return true;
    }
  };
  enum class Step : std::uint8_t { done, grant, budget, room, writes };

  Stream& stream(Rank target, std::uint32_t tag);
  void begin(Stream& stream, Operation& op);
  Step run(Stream& stream);
  Step issue(Stream& stream, Operation& op);
  Step issue_put(Stream& stream, Operation& op);
  Step issue_get(Stream& stream, Operation& op);
  Step issue_notified(Stream& stream, Operation& op);
  Step start_write(Stream& stream, Operation& op);
  void acknowledge_recall(Stream& stream);
  Step request_grant(Stream& stream, const Operation& op, bool always);
  void settle(Operation& op);
  void finish(Operation& op);
  std::uint64_t await(Operation& op);
  Operation* awaited(Rank from, std::uint64_t id);
  void stop_awaiting(Operation& op);

  const Limits limits_;
  Outlet& outlet_;
  Carrier& carrier_;
  Statistics& statistics_;
  SparseTable<Peer> peers_;
  NameTable<Operation, std::uint64_t> awaited_{32};
  std::vector<std::byte> list_;  // runs of the frame that is being sent
};

}  // namespace lfc::neon
