// Link: a connection between engines. It moves frames in order per ordered pair of
// processes, and, where it can, memory. It knows nothing of credits, hosts or MPI.
//
// One class per kind (loop, shm, tcp, verbs, bond, ofi, sim), in a folder of its own; the NI owns the links, and is
// their FrameSink. Its traits describe the abilities of a link (link/traits.hpp).
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
//  - send() copies: on `sent` the caller's bytes may be reused at once. It never blocks, and may be called from inside
//    a sink callback. It calls one function of the sink, may_batch(), which sends nothing and changes no queue.
//  - `again` means: not now, nothing was sent, retry after poll(). send() also returns it while
//    a connection is being set up. A link has room for control frames in reserve: a control frame
//    is refused only after several control frames have been sent without the peer polling.
//  - poll() calls the sink; the sink must not call poll() of the same link (guarded by the NI).
//  - payload pointers given to the sink are valid during the callback only, 8-byte aligned.
//  - An idle peer costs no work in poll().
//  - The loss of a peer, or a breach of the protocol by it, calls on_broken() once; after that send() to it
//    returns `broken`, and its unfinished operations have been completed with `unreachable`.
//    close() completes them likewise.
// Threads: a link has no lock. One thread sets a link up and destroys it. In between the engine holds its own lock
// (engine/ni.hpp) for each call except batched_since(), which any thread may call at any time. No thread of a link
// calls the sink.
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

#include "base/shared_bytes.hpp"
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

// LinkRegion: a link's description of a registered piece of memory; `key` and `base` travel to peers.
struct LinkRegion {
  std::uint64_t key = 0;
  std::uint64_t base = 0;  // the remote side adds offsets to it
  void* local = nullptr;   // the link's own registration; meaningless elsewhere
};

// Bytes that go to an address of the peer.
struct CopyPiece {
  const void* from;
  std::uint64_t to;
  std::size_t size;
};

class RingReader;

// For how long a link may batch frames, to let them leave together with those that follow.
enum class Batch : std::uint8_t {
  never,    // frames leave at once; the link need not call may_batch() again soon
  no,       // this frame leaves at once
  turn,     // until flush(), which ends the control program's current turn
  watched,  // until flush(), which the engine calls soon after batched_since() + kBatchedFor
};

// Watched frames that are older are written at the next opportunity.
inline constexpr std::chrono::microseconds kBatchedFor{20};

// A large `service` frame that is coming: its first bytes, how many of those after them have landed in their place, and
// how many are still to come.
inline constexpr std::size_t kPlacedHead = 24;
struct Placing {
  std::span<const std::byte> head;  // kPlacedHead of them
  std::size_t landed;
  std::size_t left;
};

// Lends the buffers of a link to services that keep frames (LinkTraits::lender).
class FrameLender {
 public:
  // Called inside FrameSink::on_frame(), with bytes of its payload: returns an owner of them, so that they stay where
  // they are after the call. None: this buffer is not lent.
  virtual SharedBytes lend(PeerId peer, std::span<const std::byte> bytes) = 0;

 protected:
  ~FrameLender() = default;
};

// Receives what links deliver. Implemented by the NI and by test fixtures.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A frame arrived from `peer`. The payload is valid during the call only.
  virtual void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) = 0;
  // Returns the place of the bytes of such a frame that are still to come, valid until the next call; null: none. A
  // link need not call it. After a place for the first bytes on_placed() follows after each piece; otherwise
  // on_frame().
  virtual std::byte* place(PeerId /*peer*/, Meta /*meta*/, const Placing& /*frame*/) {
    return nullptr;
  }
  virtual void on_placed(PeerId /*peer*/, Meta /*meta*/, const Placing& /*frame*/) {}
  // A put_notified() of `peer` is in our memory. The value is the peer's choice.
  virtual void on_notified(PeerId /*peer*/, std::uint32_t /*value*/) {}
  // Takes up to `limit` frames of `peer` from the front of this ring and returns their number. The others
  // come by on_frame(). A short path for short messages.
  virtual int on_ring(PeerId /*peer*/, RingReader& /*ring*/, int /*limit*/) { return 0; }
  // A process that knows our address has connected on `link`. Returns the index for its frames, or
  // kNoPeer to refuse it. Called before its first on_frame. kPeerLater: the link calls again soon. Only bonds return
  // it, to their rails, while a frame on another rail is still to come.
  virtual PeerId on_connect(class Link& link, const Address& from) = 0;
  // Returns the published address, with its key, of the process that claims this address; null when
  // it is not known.
  virtual const Address* published(const Address& /*claimed*/) const { return nullptr; }
  // Called before a frame is batched. `stream`: many frames came in a row, so watching is worth its cost.
  virtual Batch may_batch(bool /*stream*/) noexcept { return Batch::never; }
  // connect() got no reply, and no frame has been sent. True: another link carries the frames for `peer`, and this link
  // forgets it, as by close(). False: the link keeps trying.
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

  // The properties for all peers; fixed once the link is open.
  const LinkTraits& traits() const noexcept { return traits_; }
  std::string_view name() const noexcept { return traits_.name; }
  // Payload bytes that one frame may carry at most.
  virtual std::size_t max_payload() const noexcept = 0;
  // The same limit for a frame of type `message`.
  std::size_t max_message() const noexcept {
    return std::max(max_payload(), traits_.message_payload);
  }
  // Adds this link's section to the process's address.
  virtual void publish(AddressWriter& writer) const = 0;
  // Called once with the finished address, without_key(), before the first connect.
  virtual void set_own_address(std::span<const std::byte> /*address*/) {}

  // Whether a process with this address can be reached. On false, `why_not` has the reason in a few
  // words. Cheap: no message is sent.
  virtual bool reach(const Address& peer, std::string& why_not) = 0;
  // Begins a connection; idempotent. false: impossible, `why_not` has the reason, use another link.
  // send() may return `again` until the peer has polled.
  virtual bool connect(PeerId peer, const Address& address, std::string& why_not) = 0;
  // Whether the process with this address has certainly ended, so that no other link reaches it. Called after a
  // connect() that returned false.
  virtual bool has_ended(const Address& /*peer*/) const { return false; }
  // Ends the connection in both directions and forgets the peer. Frames already sent are still
  // delivered, unless the peer is dead.
  virtual void close(PeerId peer) noexcept = 0;
  // Ends the connection at once: frames that have not arrived yet may be lost. For a connection that
  // is presumed dead, on which an orderly end would wait in vain.
  virtual void abandon(PeerId peer) noexcept { close(peer); }

  // Sends one frame to a connected peer; the payload is the concatenation of the slices.
  virtual SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept = 0;
  // Returns the ring of a connected peer, if send() only writes a ring; else null. The caller may write
  // frames to the ring itself, and calls send() for a frame that the ring does not take. Valid until
  // close().
  virtual RingWriter* ring(PeerId) noexcept { return nullptr; }
  // Receives and delivers; completes operations. Returns the number of events, 0 when idle.
  // Bounded: at most about 64 frames per call, fair among peers.
  virtual int poll() noexcept = 0;

  // --- Batched frames (Batch). Optional. ---

  // Writes the batched frames; poll() begins with this.
  virtual void flush() noexcept {}
  // Returns when the oldest batched frame was batched, by steady_clock; 0: none is. Any thread may call it.
  virtual std::chrono::nanoseconds batched_since() const noexcept {
    return std::chrono::nanoseconds(0);
  }

  // --- Waiting without polling (for engine/ni_thread.hpp). Optional. ---

  enum class Armed : std::uint8_t {
    busy,      // not armed: poll() has something to do
    partly,    // armed, but some events make no descriptor readable: poll() must look for them
    settling,  // fully, once arm() has been called again after SleepWord::kSettling
    fully,
  };
  // Appends the descriptors to wait on for reading while armed; always the same ones.
  virtual void wait_fds(std::vector<int>& /*out*/) const {}
  // From now until disarm() all work for poll() makes one of them readable. poll() and arm() may still
  // be called.
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
  // As put(), and then calls the target's FrameSink::on_notified() with the value, once the bytes are visible there. It
  // takes a receive buffer of the peer, as a frame does. The operation ends when the source is the caller's again.
  // `failed`: nothing was written, and the target is not notified.
  virtual Start put_notified(PeerId, const void* /*source*/, const LinkRegion& /*local*/,
                             std::uint64_t /*remote_address*/, const LinkRegion& /*remote*/,
                             std::size_t /*size*/, std::uint32_t /*value*/, Operation*) noexcept {
    return Start::failed;
  }
  // Puts the pieces in order; finished on return. False: some may have been written. For links that copy at once.
  virtual bool put_pieces(PeerId peer, std::span<const CopyPiece> pieces,
                          const LinkRegion& remote) noexcept {
    for (const CopyPiece& piece : pieces)
      if (put(peer, piece.from, {}, piece.to, remote, piece.size, nullptr) != Start::done)
        return false;
    return true;
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
