#include "link/shm/segment.hpp"

#include "machine/host.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

namespace lfc {
namespace {

constexpr std::uint32_t kMaxPlaces = 1 << 14;
constexpr char kMemoryName[] = "lfc-shm";
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::string with_errno(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

std::size_t round_to_pages(std::size_t size) noexcept {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

// Where things lie in a segment.
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

// Opens the segment file of a peer; not open when it is not there or is something else.
FileDescriptor open_file(const SegmentName& peer, std::string& why_not) {
  const std::string path = "/proc/" + std::to_string(peer.pid) + "/fd/" + std::to_string(peer.fd);
  // Look before opening: another kind of file could block or have side effects.
  char target[64] = {};
  if (readlink(path.c_str(), target, sizeof target - 1) <= 0) {
    why_not = with_errno("segment " + path);
    return FileDescriptor{};
  }
  if (!std::string_view(target).starts_with(std::string("/memfd:") + kMemoryName)) {
    why_not = "segment " + path + ": not a segment of this library";
    return FileDescriptor{};
  }
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) why_not = with_errno("segment " + path);
  return file;
}

// A peer's segment, opened and checked.
struct PeerSegment {
  FileDescriptor file;
  Mapping mapping;  // head and claim table; not open when anything is wrong
  RingShape shape;
  std::uint32_t places = 0;

  PeerSegment(const SegmentName& peer, std::string& why_not);
};

PeerSegment::PeerSegment(const SegmentName& peer, std::string& why_not)
    : file(open_file(peer, why_not)) {
  if (!file.is_open()) return;
  SegmentHead head;
  struct stat info;
  if (fstat(file.get(), &info) != 0 ||
      pread(file.get(), static_cast<void*>(&head), sizeof head, 0) != sizeof head) {
    why_not = with_errno("segment cannot be read");
    return;
  }
  if (head.cookie != peer.cookie) {
    why_not = "segment belongs to another process (cookie differs)";
    return;
  }
  // Sealed against shrinking: an access inside its size can never fault.
  const bool sealed = (fcntl(file.get(), F_GET_SEALS) & kSeals) == kSeals;
  std::string why_shape;
  if (!sealed || head.version != kSegmentVersion || head.places == 0 || head.places > kMaxPlaces ||
      !head.shape.valid(why_shape) ||
      static_cast<std::uint64_t>(info.st_size) != Layout(head.shape, head.places).bytes()) {
    why_not = "segment is malformed";
    return;
  }
  shape = head.shape;
  places = head.places;
  mapping = Mapping(file.get(), 0, Layout(shape, places).head);
  if (!mapping.is_open()) why_not = with_errno("segment cannot be mapped");
}

}  // namespace

Mapping::Mapping(int fd, std::size_t offset, std::size_t size) noexcept : size_(size) {
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                    static_cast<off_t>(offset));
  if (data != MAP_FAILED) data_ = static_cast<std::byte*>(data);
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

bool is_neighbour(const SegmentName& own, const SegmentName& peer, std::string& why_not) {
  if (peer.version != kSegmentVersion) {
    why_not = "speaks another version";
  } else if (peer.boot != own.boot) {
    why_not = "on another host";
  } else if (peer.pid_namespace != own.pid_namespace) {
    why_not = "in another pid namespace";
  } else if (peer.user != own.user) {
    why_not = "belongs to another user (" + std::to_string(peer.user) + ")";
  } else {
    return true;
  }
  return false;
}

bool is_present(const SegmentName& peer, std::string& why_not) {
  return PeerSegment(peer, why_not).mapping.is_open();
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
  const std::optional<std::uint64_t> name_space = pid_namespace(why_not);
  if (!name_space) return std::nullopt;
  own.name_.version = kSegmentVersion;
  own.name_.boot = boot_hash();
  own.name_.pid_namespace = *name_space;
  own.name_.user = geteuid();
  own.name_.pid = static_cast<std::uint32_t>(getpid());
  if (getrandom(own.name_.cookie.data(), sizeof own.name_.cookie, 0) != sizeof own.name_.cookie) {
    why_not = with_errno("getrandom");
    return std::nullopt;
  }
  own.probe_ = std::make_unique<std::uint64_t>(own.name_.cookie[0]);
  own.name_.probe = reinterpret_cast<std::uintptr_t>(own.probe_.get());

  own.fd_ = FileDescriptor(memfd_create(kMemoryName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::size_t size = Layout(shape, places).bytes();
  if (!own.fd_.is_open() || ftruncate(own.fd_.get(), static_cast<off_t>(size)) != 0 ||
      fcntl(own.fd_.get(), F_ADD_SEALS, kSeals) != 0) {
    why_not = with_errno("memfd of " + std::to_string(size) + " bytes");
    return std::nullopt;
  }
  own.name_.fd = static_cast<std::uint32_t>(own.fd_.get());
  own.mapping_ = Mapping(own.fd_.get(), 0, size);
  if (!own.mapping_.is_open()) {
    why_not = with_errno("memfd of " + std::to_string(size) + " bytes cannot be mapped");
    return std::nullopt;
  }
  auto* head = new (own.mapping_.data()) SegmentHead{};
  head->cookie = own.name_.cookie;
  head->version = kSegmentVersion;
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

std::size_t OwnSegment::memory() const noexcept {
  struct stat info {};
  constexpr std::size_t kStatBlock = 512;  // as stat(2) says, whatever the file system's block is
  return fstat(fd_.get(), &info) == 0 ? static_cast<std::size_t>(info.st_blocks) * kStatBlock : 0;
}

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
  if (fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(layout.offset(place)), static_cast<off_t>(layout.place)) != 0)
    std::memset(mapping_.data() + layout.offset(place), 0, layout.place);
  // Pairs with the acquire of the exchange in RemotePlace::claim: the place is erased.
  claim_of(mapping_, place).store(Claim{}.packed(), std::memory_order_release);
}

void OwnSegment::free_stillborn() noexcept {
  for (std::uint32_t place = 0; place < places_; ++place) {
    const Claim now = claim(place);
    if (now.state == PlaceState::claimed && kill(static_cast<pid_t>(now.pid), 0) != 0 &&
        errno == ESRCH)
      free(place);
  }
}

// --- The neighbour ---

std::optional<RemotePlace> RemotePlace::claim(const SegmentName& peer, std::size_t payload,
                                              std::span<const std::byte> own_address,
                                              std::string& why_not) {
  if (own_address.size() > kMaxAddress) {
    why_not = "own address is too long";
    return std::nullopt;
  }
  PeerSegment segment(peer, why_not);
  if (!segment.mapping.is_open()) return std::nullopt;
  if (segment.shape.max_payload < payload) {
    why_not =
        "peer takes frames of at most " + std::to_string(segment.shape.max_payload) + " bytes";
    return std::nullopt;
  }
  RemotePlace remote;
  remote.shape_ = segment.shape;
  remote.segment_ = std::move(segment.mapping);
  const Layout layout(segment.shape, segment.places);

  const auto pid = static_cast<std::uint32_t>(getpid());
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
  remote.place_ = Mapping(segment.file.get(), layout.offset(remote.index_), layout.place);
  if (!remote.place_.is_open()) {
    why_not = with_errno("ring place cannot be mapped");
    // Nothing was written to it: it is as free as before.
    claim_word.store(Claim{}.packed(), std::memory_order_release);
    return std::nullopt;
  }
  segment.file = FileDescriptor();  // it may be the last one there is
  BellState& bell = head_of(remote.segment_).bell;
  remote.cord_ = BellCord(bell, peer.pid);
  if (!remote.cord_ && bell.is_there()) {
    why_not = with_errno("the peer could not be woken: its pipe");
    claim_word.store(Claim{}.packed(), std::memory_order_release);  // likewise
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
  const Claim closing{PlaceState::closing, static_cast<std::uint32_t>(getpid())};
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
