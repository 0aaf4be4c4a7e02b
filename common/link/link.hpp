// Link: a link between engines. It moves frames in order per ordered pair of
// processes, and, where it can, memory. It knows nothing of credits, hosts or MPI.
//
// One class per kind (loop, shm, tcp, verbs, bond, ofi, sim), in a folder of its own; the NI owns the links, and is
// their FrameSink. What kind of link it is each says in its traits (link/traits.hpp).
//
//   std::unique_ptr<Link> link = make_shm_link(options, sink, why_not);
//   link->publish(address_writer);
//   SendStatus status;
//   if (link->reach(peer_address, why_not) && link->connect(peer, peer_address, why_not)) {
//     while ((status = link->send(peer, meta, slices, n)) == SendStatus::again) link->poll();
//   }
//
// Contract (held by tests/conformance for every kind):
//  - FIFO and exactly once per (sender, receiver, link). A frame arrives whole or not at all.
//  - send() copies: on `sent` the caller's bytes may be reused at once. It never blocks, never
//    calls the sink, and may be called from inside a sink callback.
//  - `again` means: not now, nothing was sent, retry after poll(). It is also the answer while a
//    connection is being set up. A link has room for control frames in reserve: a control frame
//    is refused only after several control frames have been sent without the peer polling.
//  - poll() calls the sink; the sink must not call poll() of the same link (guarded by the NI).
//  - payload pointers given to the sink are valid during the callback only, 8-byte aligned.
//  - A peer that is silent costs no work in poll().
//  - A peer that dies or breaks the protocol gives on_broken() once; after that send() to it
//    answers `broken`, and its unfinished operations have been completed with `unreachable`.
//    close() completes them likewise.
// Threads: a link has no lock. The engine calls it with its lock held (engine/ni.hpp), so one thread at a time is
// inside; batched_since() alone may be called by any thread at any time. A link has no thread that calls the sink.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lfc/numbers.h"
#include "link/traits.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace lfc {

enum class SendStatus : std::uint8_t { sent, again, broken };

// How an operation on remote memory ended.
enum class Result : std::uint8_t {
  ok = LFC_OK,
  unreachable = LFC_UNREACHABLE,
  bad_address = LFC_BAD_ADDRESS,
  not_supported = LFC_NOT_SUPPORTED,
};
const char* to_string(Result result) noexcept;

// An asynchronous operation of the caller. The caller owns it and keeps it alive until `done`
// has been called, exactly once, from poll() or (when an operation finishes at once) from the
// call that started it.
struct Operation {
  void (*done)(Operation* self, Result result) = nullptr;
};

// Links that one process has at most: the handle of a region has room for what each of them needs.
inline constexpr std::size_t kMaxLinks = 8;

// What a link needs to reach a registered piece of memory; `key` and `base` travel to peers.
struct LinkRegion {
  std::uint64_t key = 0;
  std::uint64_t base = 0;  // what the remote side adds an offset to
  void* local = nullptr;   // the link's own registration; meaningless elsewhere
};

class RingReader;

// For how long a link may batch frames, to let them leave together with those that follow.
enum class Batch : std::uint8_t {
  never,    // they leave at once, and there is no need to ask again soon
  no,       // likewise, this time
  turn,     // until flush(), which ends the turn of the control program that is under way
  watched,  // until flush(), which somebody calls soon after the time that batched_since() tells
};

// What is watched is written when it is older, at the next opportunity.
inline constexpr std::chrono::microseconds kBatchedFor{20};

// A large `service` frame that is coming: its first bytes, how many of those after them have landed in their place, and
// how many are still to come.
inline constexpr std::size_t kPlacedHead = 24;
struct Placing {
  std::span<const std::byte> head;  // kPlacedHead of them
  std::size_t landed;
  std::size_t left;
};

// Receives what links deliver. Implemented by the NI and by test fixtures.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A frame arrived from `peer`. The payload is valid during the call only.
  virtual void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) = 0;
  // Where those belong that are still to come of such a frame, until the next call; null: nowhere. A link need not ask.
  // If it has been answered before anything has landed, on_placed() follows after each piece, and else on_frame().
  virtual std::byte* place(PeerId /*peer*/, Meta /*meta*/, const Placing& /*frame*/) {
    return nullptr;
  }
  virtual void on_placed(PeerId /*peer*/, Meta /*meta*/, const Placing& /*frame*/) {}
  // Frames from `peer` are in this ring. Takes as many from its front as it likes, at most `limit`, and
  // returns how many; what it leaves comes by on_frame(). For short messages, without a detour.
  virtual int on_ring(PeerId /*peer*/, RingReader& /*ring*/, int /*limit*/) { return 0; }
  // A process that knows our address begins to talk to us on `link`. Returns the index under which
  // its frames shall be reported, or kNoPeer to refuse it. Called before its first on_frame.
  virtual PeerId on_connect(class Link& link, const Address& from) = 0;
  // The address, with its key, that the process has published which says of itself that it has this
  // one; null when it is not known.
  virtual const Address* published(const Address& /*claimed*/) const { return nullptr; }
  // Asked before a frame is batched. `stream`: there have been many in a row, so it would be worth watching.
  virtual Batch may_batch(bool /*stream*/) noexcept { return Batch::never; }
  // Nobody has answered connect(), and nothing has been sent. True: another link carries what is for `peer`, and
  // this one forgets it, as by close(). False: it goes on asking.
  virtual bool on_unanswered(PeerId /*peer*/, class Link& /*link*/, std::string_view /*why*/) {
    return false;
  }
  // The connection to or from `peer` is gone and stays so.
  virtual void on_broken(PeerId peer, Link& link, std::string_view why) = 0;
};

class RingWriter;

class Link {
 public:
  virtual ~Link() = default;
  explicit Link(LinkTraits traits) : traits_(std::move(traits)) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // What holds for all peers; fixed once the link is open.
  const LinkTraits& traits() const noexcept { return traits_; }
  std::string_view name() const noexcept { return traits_.name; }
  // Payload bytes that one frame may carry at most.
  virtual std::size_t max_payload() const noexcept = 0;
  // That of one of type `message`.
  std::size_t max_message() const noexcept {
    return std::max(max_payload(), traits_.message_payload);
  }
  // Adds this link's section to the process's address.
  virtual void publish(AddressWriter& writer) const = 0;
  // Called once with the finished address, without_key(), before the first connect.
  virtual void set_own_address(std::span<const std::byte> /*address*/) {}

  // Whether a process with this address can be reached. On false, `why_not` says why in a few
  // words. Cheap: no message is sent.
  virtual bool reach(const Address& peer, std::string& why_not) = 0;
  // Begins a connection; idempotent. false: impossible, `why_not` says why, use another link.
  // Sends may answer `again` until the peer has polled.
  virtual bool connect(PeerId peer, const Address& address, std::string& why_not) = 0;
  // Ends the connection in both directions and forgets the peer. Frames already sent are still
  // delivered, unless the peer is dead.
  virtual void close(PeerId peer) noexcept = 0;
  // Likewise, but at once: what was sent and has not arrived need not arrive any more. For a
  // connection that is believed to be dead, on which an orderly end would wait in vain.
  virtual void abandon(PeerId peer) noexcept { close(peer); }

  // Sends one frame to a connected peer; the payload is the concatenation of the slices.
  virtual SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept = 0;
  // The ring that send() puts frames for a connected peer into, where that is all that send() does;
  // else null. Whoever has it may write frames to it without asking the link, and calls send() for
  // a frame that the ring does not take. Valid until close().
  virtual RingWriter* ring(PeerId) noexcept { return nullptr; }
  // Receives and delivers; completes operations. Returns the number of events, 0 when idle.
  // Bounded: at most about 64 frames per call, fair among peers.
  virtual int poll() noexcept = 0;

  // --- Batched frames (Batch). Optional. ---

  // Writes what is batched, as poll() does first of all.
  virtual void flush() noexcept {}
  // Since when the oldest of it is, by steady_clock; 0: nothing is. May be called by any thread.
  virtual std::chrono::nanoseconds batched_since() const noexcept {
    return std::chrono::nanoseconds(0);
  }

  // --- Waiting without polling (for engine/ni_thread.hpp). Optional. ---

  enum class Armed : std::uint8_t {
    busy,      // not armed: poll() has something to do
    partly,    // as far as it goes; what no descriptor tells, poll() finds now and then
    settling,  // fully, once arm() has been called again after SleepWord::kSettling
    fully,
  };
  // Appends the descriptors to wait on for reading while armed; always the same.
  virtual void wait_fds(std::vector<int>& /*out*/) const {}
  // From now until disarm() whatever there is for poll() to do makes one of them readable. poll()
  // may be called all the same, and arm() again.
  virtual Armed arm() noexcept { return Armed::partly; }
  // May be called when not armed.
  virtual void disarm() noexcept {}

  // True when everything accepted by send() has left this process (or is in the peer's memory).
  virtual bool drained() const noexcept { return true; }
  // Bytes of buffers that this link holds now, for sending and receiving.
  virtual std::size_t memory() const noexcept { return 0; }

  // --- Remote memory without the target's NI (single copy, RDMA). Optional. ---

  // True when put()/get() reach this peer's memory natively.
  virtual bool remote_memory(PeerId) const noexcept { return traits_.remote_memory; }
  // Makes [data, data+size) reachable to peers; false when that failed (why is logged once).
  virtual bool register_memory(void* /*data*/, std::size_t /*size*/, LinkRegion& /*out*/) {
    return true;
  }
  virtual void deregister_memory(LinkRegion&) noexcept {}

  enum class Start : std::uint8_t { done, started, again, failed };
  // Copies `size` bytes between local memory and the peer's region. `done`: finished, and
  // operation->done is NOT called. `started`: operation->done follows from poll(). A put has
  // finished when the bytes are visible to the target's CPU. `failed`: not possible on this link,
  // now and later; the NI carries it in frames instead.
  virtual Start put(PeerId, const void* /*source*/, const LinkRegion& /*local*/,
                    std::uint64_t /*remote_address*/, const LinkRegion& /*remote*/,
                    std::size_t /*size*/, Operation*) noexcept {
    return Start::failed;
  }
  virtual Start get(PeerId, void* /*destination*/, const LinkRegion& /*local*/,
                    std::uint64_t /*remote_address*/, const LinkRegion& /*remote*/,
                    std::size_t /*size*/, Operation*) noexcept {
    return Start::failed;
  }

 protected:
  template <class>
  friend struct Insight;  // lfc-look
  LinkTraits traits_;
};

}  // namespace lfc
