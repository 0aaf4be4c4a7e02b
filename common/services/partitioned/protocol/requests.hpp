// Requests: the two ends of partitioned communication, as the protocol sees them. Made and destroyed by Protocol.
//
// Threads: the caller of the protocol serialises, except for atomic members.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lfc/numbers.h"
#include "link/region.hpp"
#include "services/partitioned/protocol/arrivals.hpp"
#include "services/partitioned/protocol/readiness.hpp"
#include "wire/frame.hpp"

namespace lfc::partitioned {

inline constexpr std::uint64_t kEarly = 64 * 1024;   // bytes ahead of a receive
inline constexpr std::uint64_t kMostAhead = 8;       // epochs
inline constexpr std::uint64_t kGather = 20'000;     // ns
inline constexpr std::uint64_t kEnough = 16 * 1024;  // bytes that are worth a frame, or a write
inline constexpr std::uint64_t kEnoughDirect = 128 * 1024;

// Direct: the least bytes that are written directly, where possible: of an epoch, and of a run of adjacent partitions.
struct Direct {
  std::uint64_t total = 16 * 1024;
  std::uint64_t run = 8 * 1024;
  std::size_t token = sizeof(RegionHandle);  // bytes of the token that the sender needs
};

enum class Status : std::uint8_t {
  ok = LFC_PART_OK,
  truncated = LFC_PART_TRUNCATED,
  lost = LFC_PART_LOST
};

// Key: the peer, communicator and tag of a request. The k-th send of a key is for the k-th receive of it.
struct Key {
  PeerId peer = kNoPeer;
  std::uint64_t comm = 0;
  std::int32_t tag = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

struct Request {
  Request(const Key& key_, void* owner_, bool sends_) : key(key_), owner(owner_), sends(sends_) {}

  const Key key;
  void* const owner;        // the host's name of the request
  const bool sends;         // a Sending, else a Receiving
  std::uint64_t name = 0;   // the name that the peer's frames carry
  std::uint64_t other = 0;  // the peer's request; 0: not known yet
  std::uint64_t epoch = 0;  // how often it has been started
  std::atomic<bool> active = false;
  std::atomic<bool> lost = false;  // the peer is lost
  // Used by the service:
  std::uint32_t unreported = 0;  // ended epochs of which the host has not been notified
  bool released = false;         // the host has released it
};

struct Sending : Request {
  Sending(const Key& key_, void* owner_, const std::byte* bytes, std::uint64_t partitions,
          std::uint64_t each)
      : Request(key_, owner_, true), data(bytes), readiness(partitions, each) {}

  Marked mark(std::uint64_t first, std::uint64_t last) noexcept {
    // If the send was lost, its epoch has ended with an error, and late partitions are no mistake of the caller.
    if (!active) return lost ? Marked::some : Marked::refused;
    return readiness.mark(first, last);
  }
  bool is_worth_it(std::uint64_t now) const noexcept {
    return readiness.pending() >= enough || now - last_sent >= kGather;
  }
  bool may_send() const noexcept { return other != 0 && !kept && epoch <= opened + ahead; }

  const std::byte* const data;
  Readiness readiness;
  std::uint64_t opened =
      0;                    // the last epoch that the receiver has started, as far as is known here
  std::uint64_t ahead = 0;  // epochs beyond it that the receiver has room for
  std::atomic<std::uint64_t> enough = kEnough;
  std::atomic<std::uint64_t> last_sent = 0;  // ns: when bytes were last sent
  bool kept = false;                         // a frame waits in the carrier
  bool due = false;                          // work() sends its ready partitions
  bool end_sent = false;                     // an epoch without bytes: its frame has been sent
  std::vector<std::byte> token;  // for the receive's memory; empty: it cannot be written
  std::uint64_t by_frames = 0;   // an epoch in which it could not be written
  // Used by the service: threads that are inside ready(), and its place on the ReadyStack.
  std::atomic<std::uint32_t> inside = 0;
  std::atomic<bool> stacked = false;
  Sending* below = nullptr;
};

struct Receiving : Request {
  // Frames that came before their epoch, one behind the other: {offset, length}, bytes.
  struct Early {
    std::vector<std::byte> frames;
    std::uint64_t bytes = 0;
    bool any = false;
  };

  Receiving(const Key& key_, void* owner_, std::byte* bytes, std::uint64_t partitions,
            std::uint64_t each)
      : Request(key_, owner_, false), place(bytes), arrivals(partitions, each) {}

  std::byte* const place;
  Arrivals arrivals;
  std::uint64_t total = 0;       // bytes of an epoch, from the sender's offer
  std::uint64_t arrived = 0;     // bytes of this epoch
  std::uint64_t reported = 0;    // the last epoch that the sender knows to be open
  std::vector<Early> early;      // by epoch modulo its size
  std::vector<std::byte> token;  // for its memory; empty: the sender cannot write there
  // Used by the service: its memory, if the sender can write there.
  bool exposed = false;
  RegionHandle region;
};

}  // namespace lfc::partitioned
