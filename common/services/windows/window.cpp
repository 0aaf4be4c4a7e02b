#include "services/windows/window.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/build_stamp.hpp"
#include "base/bytes.hpp"
#include "services/windows/window_service.hpp"

namespace lfc {
namespace {

const BuildStamp stamp("window", {sizeof(WindowFacts), offsetof(WindowFacts, region),
                                  offsetof(WindowFacts, segment), sizeof(WindowControl),
                                  offsetof(WindowControl, elements),
                                  offsetof(WindowControl, singles), ExposedMemory::kFewElements});

constexpr std::size_t kAlign = 64;

// The segment has the control, which local peers map in any case, and behind it the memory that a window allocates.
void make_memory(WindowShape& shape, std::string& why_unshared) {
  if (shape.flavor == Flavor::shared) return;  // the shape contains it
  if (shape.ranks == 1 && !shape.allocates()) return;
  // Not at the beginning of a page, where buffers of the user often lie. If two addresses differ only in the page, a
  // processor takes the loads of a copy for loads of its latest stores.
  shape.memory_offset = round_up(sizeof(WindowControl), 4096) + 2048;
  shape.own.segment = SharedMemory::create(
      shape.memory_offset + (shape.allocates() ? shape.size : 0), why_unshared);
  // Without a segment local peers request this member's lock, and reach its memory, in frames.
  if (shape.own.segment || !shape.allocates()) return why_unshared.clear();
  shape.own.unshared.reset(
      static_cast<std::byte*>(std::aligned_alloc(kAlign, round_up(shape.size + 1, kAlign))));
  if (shape.own.unshared == nullptr) throw std::bad_alloc();
}

}  // namespace

// --- Life ---

std::unique_ptr<Window> WindowService::create(WindowShape shape, std::string* why_unshared) {
  std::string unread;
  make_memory(shape, why_unshared != nullptr ? *why_unshared : unread);
  std::byte* const segment = shape.own.segment ? shape.own.segment->data() : nullptr;
  Window::Placement placement{.flavor = shape.flavor,
                              .memory = static_cast<std::byte*>(shape.base),
                              .size = shape.size,
                              .control = nullptr,
                              .rank = shape.rank,
                              .ranks = shape.ranks,
                              .threads = engine_.has_threads()};
  if (segment != nullptr)
    placement.control = reinterpret_cast<WindowControl*>(segment + shape.control_offset);
  if (segment != nullptr && shape.allocates()) placement.memory = segment + shape.memory_offset;
  if (shape.own.unshared != nullptr) placement.memory = shape.own.unshared.get();
  std::unique_ptr<Window> window(new Window(*this, std::move(shape), placement));
  const bool registers = placement.flavor != Flavor::dynamic && placement.size != 0;
  if (registers && !memory_.register_memory(placement.memory, placement.size,
                                            kRemoteRead | kRemoteWrite, window->facts_.region))
    throw std::bad_alloc();
  enter(*window);
  return window;
}

Window::Window(WindowService& windows, Shape shape, const Placement& placement)
    : EpochCalls(windows, placement, carrier_),
      own_(std::move(shape.own)),
      carrier_(windows, *this, shape.rank, shape.ranks) {
  facts_.displacement_unit = shape.displacement_unit;
  facts_.process = static_cast<std::uint32_t>(::getpid());
  facts_.control_offset = shape.control_offset;
  facts_.memory_offset = shape.memory_offset;
  facts_.base = reinterpret_cast<std::uint64_t>(placement.memory);
  facts_.size = placement.size;
  if (own_.segment) facts_.segment = own_.segment->name();
}

Window::~Window() {
  if (facts_.id != 0) windows_.leave(*this);
}

bool Window::connect(std::span<const WindowFacts> facts, std::span<const PeerId> ids,
                     std::span<const bool> local_peers) {
  return windows_.locked([&] {
    carrier_.regions().set(
        ranks(), [&](std::uint32_t rank) -> const RegionHandle& { return facts[rank].region; });
    const bool dynamic = protocol_.memory.dynamic();  // displacements are addresses
    protocol_.origin.describe(
        !dynamic, [&](std::uint32_t rank) { return facts[rank].size; },
        [&](std::uint32_t rank) { return dynamic ? 1u : facts[rank].displacement_unit; });
    bool mapped = true;
    all_mapped_ = true;
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      const WindowFacts& its = facts[rank];
      carrier_.route(rank) = {ids[rank], its.id, its.base};
      if (!map(rank, its, local_peers[rank])) mapped = false;
      if (!peer(rank).reach.mapped) all_mapped_ = false;
    }
    return mapped;
  });
}

// Maps the control and memory of a member, if there are any. False: they cannot be mapped.
bool Window::map(std::uint32_t rank, const WindowFacts& its, bool local_peer) {
  ExposedMemory& memory = protocol_.memory;
  const bool self = rank == carrier_.self();
  if (!self && (!local_peer || its.segment.size == 0)) {
    // A local peer whose own memory is not shared maps that of others, and changes it in a way that is not seen here.
    if (local_peer && memory.allocated()) memory.share(nullptr);
    return true;
  }
  rma::OriginPeer& peer = protocol_.origin.use(rank);
  if (self) {
    peer.mapped = memory.base();
    peer.control = &memory.control();
    peer.reach.mapped = true;
    memory.share(peer.control);
    return true;
  }
  std::byte* segment = nullptr;
  if (memory.flavor() == Flavor::shared) {
    segment = own_.segment->data();  // all parts lie in one
  } else if (std::optional<SharedMemory> opened = SharedMemory::open(its.segment)) {
    segment = carrier_.keep(std::move(*opened));
  }
  if (segment != nullptr) {
    peer.control = reinterpret_cast<WindowControl*>(segment + its.control_offset);
    watch_local_peer(its.process);
  }
  if (memory.allocated()) {
    memory.share(peer.control);
    peer.reach.mapped = segment != nullptr;
    if (segment != nullptr) peer.mapped = segment + its.memory_offset;
  }
  return segment != nullptr;
}

void Window::close_segment() noexcept {
  if (own_.segment) own_.segment->close();
}

WindowStatus Window::attach(void* base, std::uint64_t size) {
  return windows_.locked([&] { return protocol_.memory.attach(base, size); });
}

WindowStatus Window::detach(const void* base) {
  return windows_.locked([&] { return protocol_.memory.detach(base); });
}

}  // namespace lfc
