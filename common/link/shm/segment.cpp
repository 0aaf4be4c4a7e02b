#include "link/shm/segment.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "base/build_stamp.hpp"
#include "base/errors.hpp"

namespace lfc {
namespace {

constexpr std::uint32_t kMaxPlaces = 1 << 14;

const BuildStamp stamp("segment", {sizeof(SegmentHead), offsetof(SegmentHead, changes),
                                   offsetof(SegmentHead, bell), sizeof(BellState),
                                   sizeof(PlaceHead), sizeof(RingProgress), kRingHead, kSlotBytes,
                                   sizeof(BulkPosition), kControlReserve});

// The layout of a segment.
struct Layout {
  std::size_t head;   // bytes of head and claim table
  std::size_t place;  // bytes of a place
  std::uint32_t places;

  Layout(const RingShape& shape, std::uint32_t count) noexcept
      : head(round_to_pages(sizeof(SegmentHead) + sizeof(std::uint64_t) * count)),
        place(round_to_pages(sizeof(PlaceHead) + shape.bytes())),
        places(count) {}
  std::size_t offset(std::uint32_t index) const noexcept { return head + place * index; }
  std::size_t bytes() const noexcept { return offset(places); }
};

SegmentHead& head_of(const Mapping& segment) noexcept {
  return *reinterpret_cast<SegmentHead*>(segment.data());
}

std::atomic<std::uint64_t>& claim_of(const Mapping& segment, std::uint32_t place) noexcept {
  auto* table = reinterpret_cast<std::atomic<std::uint64_t>*>(segment.data() + sizeof(SegmentHead));
  return table[place];
}

// A peer's segment, opened and checked.
struct PeerSegment {
  std::optional<SharedFile> file;
  Mapping mapping;  // head and claim table; not open when anything is wrong
  RingShape shape;
  std::uint32_t places = 0;

  PeerSegment(const SegmentName& peer, std::string& why_not, FileDescriptor* process);
};

PeerSegment::PeerSegment(const SegmentName& peer, std::string& why_not, FileDescriptor* process) {
  std::string why;
  file = SharedFile::open(peer.memory, why, process);
  if (!file) {
    why_not = "segment: " + why;
    return;
  }
  mapping = file->map(0, sizeof(SegmentHead));
  if (!mapping.is_open()) {
    why_not = with_errno("segment cannot be mapped");
    return;
  }
  // Copies, because the owner could change the originals after the check.
  shape = head_of(mapping).shape;
  places = head_of(mapping).places;
  if (places == 0 || places > kMaxPlaces || !shape.valid(why) ||
      Layout(shape, places).bytes() != peer.memory.size) {
    why_not = "segment is malformed";
    mapping = Mapping();
    return;
  }
  mapping = file->map(0, Layout(shape, places).head);
  if (!mapping.is_open()) why_not = with_errno("segment cannot be mapped");
}

}  // namespace

bool is_local_peer(const SegmentName& own, const SegmentName& peer, std::string& why_not) {
  if (peer.version == kSegmentVersion) return is_local_peer(own.space, peer.space, why_not);
  why_not = "speaks another version";
  return false;
}

// --- The owner ---

std::optional<OwnSegment> OwnSegment::create(const RingShape& shape, std::uint32_t places,
                                             bool bell, std::string& why_not) {
  if (!shape.valid(why_not)) return std::nullopt;
  if (places == 0 || places > kMaxPlaces) {
    why_not = "places must be from 1 to " + std::to_string(kMaxPlaces) + ", not " +
              std::to_string(places);
    return std::nullopt;
  }
  OwnSegment own;
  own.shape_ = shape;
  own.places_ = places;
  const std::optional<ProcessSpace> space = own_space(why_not);
  if (!space) return std::nullopt;
  std::optional<SharedFile> file = SharedFile::create(Layout(shape, places).bytes(), why_not);
  if (!file) return std::nullopt;
  own.file_ = std::move(*file);
  own.mapping_ = own.file_.map(0, own.file_.name().size);
  if (!own.mapping_.is_open()) {
    why_not = with_errno("segment of " + std::to_string(own.file_.name().size) +
                         " bytes cannot be mapped");
    return std::nullopt;
  }
  own.name_ = {*space, own.file_.name(), 0, kSegmentVersion};
  own.probe_ = std::make_unique<std::uint64_t>(own.name_.memory.cookie[0]);
  own.name_.probe = reinterpret_cast<std::uintptr_t>(own.probe_.get());
  auto* head = new (own.mapping_.data()) SegmentHead{};
  head->places = places;
  head->shape = shape;
  if (bell) {
    own.bell_ = Bell::create(head->bell, why_not);
    if (own.bell_ == nullptr) return std::nullopt;
  }
  return own;
}

OwnSegment::~OwnSegment() {
  if (mapping_.is_open()) head_of(mapping_).closed.store(1, std::memory_order_relaxed);
}

std::size_t OwnSegment::memory() const noexcept { return file_.used(); }

Claim OwnSegment::claim(std::uint32_t place) const noexcept {
  // Pairs with the releases in RemotePlace: address and frames are visible.
  return Claim::unpack(claim_of(mapping_, place).load(std::memory_order_acquire));
}

PlaceHead& OwnSegment::head(std::uint32_t place) const noexcept {
  return *reinterpret_cast<PlaceHead*>(mapping_.data() + Layout(shape_, places_).offset(place));
}

std::byte* OwnSegment::ring(std::uint32_t place) const noexcept {
  return reinterpret_cast<std::byte*>(&head(place)) + sizeof(PlaceHead);
}

void OwnSegment::free(std::uint32_t place) noexcept {
  const Layout layout(shape_, places_);
  if (!file_.discard(layout.offset(place), layout.place))
    std::memset(mapping_.data() + layout.offset(place), 0, layout.place);
  // Pairs with the acquire of the exchange in RemotePlace::claim: the place is erased.
  claim_of(mapping_, place).store(Claim{}.packed(), std::memory_order_release);
}

void OwnSegment::free_stillborn() noexcept {
  for (std::uint32_t place = 0; place < places_; ++place) {
    const Claim now = claim(place);
    if (now.state == PlaceState::claimed && now.pid != 0 &&
        kill(static_cast<pid_t>(now.pid), 0) != 0 && errno == ESRCH)
      free(place);
  }
}

// --- The local peer ---

std::optional<RemotePlace> RemotePlace::claim(const SegmentName& peer, std::size_t payload,
                                              std::span<const std::byte> own_address,
                                              std::string& why_not, FileDescriptor* process) {
  if (own_address.size() > kMaxAddress) {
    why_not = "own address is too long";
    return std::nullopt;
  }
  PeerSegment segment(peer, why_not, process);
  if (!segment.mapping.is_open()) return std::nullopt;
  if (segment.shape.max_payload < payload) {
    why_not = "peer takes frames of at most " + std::to_string(segment.shape.max_payload) +
              " bytes, because its btl_lfc_shm_bulk is smaller: all ranks need the same value";
    return std::nullopt;
  }
  RemotePlace remote;
  remote.shape_ = segment.shape;
  remote.segment_ = std::move(segment.mapping);
  const Layout layout(segment.shape, segment.places);

  const std::uint32_t pid = process == nullptr ? static_cast<std::uint32_t>(getpid()) : 0;
  remote.pid_ = pid;
  const auto take = [&](std::uint32_t place) {
    std::uint64_t expected = Claim{}.packed();
    // Acquire pairs with the release in OwnSegment::free.
    return claim_of(remote.segment_, place)
        .compare_exchange_strong(expected, Claim{PlaceState::claimed, pid}.packed(),
                                 std::memory_order_acquire, std::memory_order_relaxed);
  };
  while (remote.index_ < layout.places && !take(remote.index_)) ++remote.index_;
  if (remote.index_ == layout.places) {
    why_not = "all " + std::to_string(layout.places) + " ring places of the peer are taken";
    return std::nullopt;
  }
  std::atomic<std::uint64_t>& claim_word = claim_of(remote.segment_, remote.index_);
  remote.place_ = segment.file->map(layout.offset(remote.index_), layout.place);
  if (!remote.place_.is_open()) {
    why_not = with_errno("ring place cannot be mapped");
    // Nothing was written to it: it is as free as before.
    claim_word.store(Claim{}.packed(), std::memory_order_release);
    return std::nullopt;
  }
  segment.file.reset();  // it may be the last one there is
  BellState& bell = head_of(remote.segment_).bell;
  remote.cord_ = BellCord(bell);
  if (!remote.cord_ && bell.is_there()) {
    why_not = with_errno("the peer could not be woken: its socket");
    claim_word.store(Claim{}.packed(), std::memory_order_release);  // nothing was written to it
    return std::nullopt;
  }
  PlaceHead& head = remote.head();
  head.address_size = static_cast<std::uint32_t>(own_address.size());
  if (!own_address.empty()) std::memcpy(head.address, own_address.data(), own_address.size());
  // Both pair with the acquires in OwnSegment::changes and OwnSegment::claim.
  claim_word.store(Claim{PlaceState::ready, pid}.packed(), std::memory_order_release);
  head_of(remote.segment_).changes.fetch_add(1, std::memory_order_release);
  if (remote.cord_) remote.cord_.pull();
  return remote;
}

RemotePlace::~RemotePlace() {
  if (!place_.is_open()) return;
  const Claim closing{PlaceState::closing, pid_};
  // Both pair with the acquires in OwnSegment::changes and OwnSegment::claim.
  claim_of(segment_, index_).store(closing.packed(), std::memory_order_release);
  head_of(segment_).changes.fetch_add(1, std::memory_order_release);
  if (cord_) cord_.pull();
}

PlaceHead& RemotePlace::head() const noexcept {
  return *reinterpret_cast<PlaceHead*>(place_.data());
}

std::byte* RemotePlace::ring() const noexcept { return place_.data() + sizeof(PlaceHead); }

bool RemotePlace::abandoned() const noexcept {
  return head().abandoned.load(std::memory_order_relaxed) != 0 ||
         head_of(segment_).closed.load(std::memory_order_relaxed) != 0;
}

}  // namespace lfc
