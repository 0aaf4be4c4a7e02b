// Segment: the memory in which a process receives from its local peers.
//
// Each process makes one (machine/shared_memory.hpp). It holds a table of claims and `places` ring places, virtual
// until used. A local peer opens it, claims a free place and is from then on the only writer of the ring in it.
//
//   std::optional<OwnSegment> own = OwnSegment::create(shape, places, true, why_not);
//   SegmentName name = own->name();                              // travels in the address
//   std::optional<RemotePlace> place = RemotePlace::claim(name, shape.max_payload, address, why_not);
//   RingWriter writer(place->ring(), place->shape());
//
// Life of a place:  free --claim--> claimed --address written--> ready --close--> closing
//                   --owner has emptied, erased--> free
// The owner alone makes a place free; it also frees what a dead claimant left behind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "link/ring.hpp"
#include "machine/bell.hpp"
#include "machine/local_peer.hpp"
#include "machine/mapping.hpp"
#include "machine/shared_memory.hpp"
#include "wire/address.hpp"

namespace lfc {

// Which segment of which process on which node: the `shm` section of an address.
struct SegmentName {
  ProcessSpace space;
  SharedMemoryName memory;
  std::uint64_t probe = 0;  // address of a word that holds the cookie's first, to try CMA with
  std::uint64_t version = 0;
};
static_assert(sizeof(SegmentName) == 112);
inline constexpr std::uint64_t kSegmentVersion = 4;

// Whether `own` could open the segment of a process of that name, judged by the names alone.
bool is_local_peer(const SegmentName& own, const SegmentName& peer, std::string& why_not);

enum class PlaceState : std::uint32_t { free, claimed, ready, closing };

// A word of the claim table: the holder of the place, and its state.
struct Claim {
  PlaceState state = PlaceState::free;
  std::uint32_t pid = 0;  // 0: of another pid namespace
  std::uint64_t packed() const noexcept {
    return std::uint64_t{pid} << 32 | static_cast<std::uint32_t>(state);
  }
  static Claim unpack(std::uint64_t word) noexcept {
    return {static_cast<PlaceState>(static_cast<std::uint32_t>(word)),
            static_cast<std::uint32_t>(word >> 32)};
  }
};

// The part of each place in front of the ring. Its size keeps the ring aligned.
struct alignas(kRingAlignment) PlaceHead {
  // The owner no longer reads here: set once, read by the claimant now and then.
  std::atomic<std::uint32_t> abandoned;
  std::uint32_t address_size;  // the claimant's, complete when the place is ready
  std::byte address[kMaxAddress];
};

// At the beginning of the segment; the claim table follows.
struct SegmentHead {
  std::atomic<std::uint32_t> closed;  // the owner has ended in good order
  std::uint32_t places;
  RingShape shape;
  // Raised after each change of a claim that the owner should read; alone on its line, since
  // the owner's poll() loads it every time.
  alignas(kCacheLine) std::atomic<std::uint32_t> changes;
  // Whether the owner sleeps: every sender looks after each frame, so it too has its own line.
  alignas(kCacheLine) BellState bell;
};

class OwnSegment {
 public:
  // With a bell, senders wake the owner while its word is armed.
  static std::optional<OwnSegment> create(const RingShape& shape, std::uint32_t places, bool bell,
                                          std::string& why_not);
  OwnSegment(OwnSegment&&) noexcept = default;
  OwnSegment& operator=(OwnSegment&&) = delete;
  // Marks the segment as closed, so that claimants do not take the end for a crash.
  ~OwnSegment();

  const SegmentName& name() const noexcept { return name_; }
  const RingShape& shape() const noexcept { return shape_; }
  std::uint32_t places() const noexcept { return places_; }
  // Grows when a claim has changed; one load.
  std::uint32_t changes() const noexcept {
    // Pairs with the releases in RemotePlace: the changed claims are visible.
    return reinterpret_cast<const SegmentHead*>(mapping_.data())
        ->changes.load(std::memory_order_acquire);
  }
  Claim claim(std::uint32_t place) const noexcept;
  PlaceHead& head(std::uint32_t place) const noexcept;
  std::byte* ring(std::uint32_t place) const noexcept;
  // Bytes of the pages of the segment that claimants have used.
  std::size_t memory() const noexcept;
  // Erases the place, gives its pages back to the kernel, and makes it free.
  void free(std::uint32_t place) noexcept;
  // Frees the places whose claimant ended before they were ready.
  void free_stillborn() noexcept;
  // Null without one.
  Bell* bell() const noexcept { return bell_.get(); }

 private:
  OwnSegment() = default;

  SegmentName name_;
  RingShape shape_;
  std::uint32_t places_ = 0;
  SharedFile file_;
  Mapping mapping_;
  std::unique_ptr<std::uint64_t> probe_;  // where name_.probe points
  std::unique_ptr<Bell> bell_;
};

// A claimed place in a local peer's segment.
class RemotePlace {
 public:
  // nullopt: the process is gone, is not the one of that name, forbids it, takes no payload of
  // `payload` bytes, or has no place left. `process`: for a peer in another pid namespace; becomes its pidfd.
  static std::optional<RemotePlace> claim(const SegmentName& peer, std::size_t payload,
                                          std::span<const std::byte> own_address,
                                          std::string& why_not, FileDescriptor* process = nullptr);
  RemotePlace(RemotePlace&&) noexcept = default;
  RemotePlace& operator=(RemotePlace&&) = delete;
  // Closes the place; the owner still reads the frames in it.
  ~RemotePlace();

  std::byte* ring() const noexcept;
  const RingShape& shape() const noexcept { return shape_; }
  // The owner has closed its side, of this place or of all.
  bool abandoned() const noexcept;
  // To be pulled after each frame; null: the owner never sleeps.
  const BellCord* cord() const noexcept { return cord_ ? &cord_ : nullptr; }

 private:
  RemotePlace() = default;

  PlaceHead& head() const noexcept;

  RingShape shape_;
  std::uint32_t index_ = 0;
  std::uint32_t pid_ = 0;  // ours, as the owner counts
  Mapping segment_;        // head and claim table
  Mapping place_;
  BellCord cord_;
};

}  // namespace lfc
