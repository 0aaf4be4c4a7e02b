// Native endpoint: the component's side of native.hpp, on LFC's network interface.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/stored_words.hpp"
#include "drain.hpp"
#include "endpoint.hpp"
#include "machine/process_watch.hpp"
#include "machine/shared_memory.hpp"
#include "mpix_neon.h"
#include "native.hpp"
#include "native_glue.h"
#include "native_service.h"
#include "services/neon/neon_service.hpp"

namespace lfc::neon {
namespace {

// The properties of a window that are the same at all its ranks.
struct Agreed {
  Limits limits;
  int level = MPIX_NEON_NATIVE;
};

class NativeEndpoint final : public Endpoint {
 public:
  NativeEndpoint(std::shared_ptr<NeonService> service, MPI_Win win, MPI_Comm comm,
                 const Agreed& agreed, const Exposure& memory, std::uint32_t rank,
                 std::uint32_t ranks)
      : win_(win),
        comm_(comm),
        rank_(rank),
        ranks_(ranks),
        memory_(memory),
        level_(agreed.level),
        window_(std::move(service), rank, agreed.limits, memory, ranks),
        target_(window_.neon().target()) {
    lfc_native_before_free(
        win_, [](void* self) { static_cast<NativeEndpoint*>(self)->close(); }, this);
    lfc_native_count_notifications(
        win_,
        [](void* self, std::uint64_t counter, std::uint64_t by) {
          return static_cast<NativeEndpoint*>(self)->count(counter, by);
        },
        this);
  }
  ~NativeEndpoint() override {
    lfc_native_count_notifications(win_, nullptr, nullptr);
    lfc_native_before_free(win_, nullptr, nullptr);
  }

  NeonWindow& window() { return window_; }

  void lock() override { entry_ = window_.port().begin_visit(); }
  bool try_lock() override {
    lock();
    return true;
  }
  void unlock() override { window_.port().end_visit(entry_); }

  Neon& neon() override { return window_.neon(); }
  int level() const override { return level_; }
  // btl lfc moves frames. Announcements that are completed through mapped memory are found here.
  bool is_due() override;
  int poll() override;
  Status announce(Announcement& buffer) override {
    const ServicePort::Access access(window_.port());
    return target_.announce(buffer);
  }
  bool put_announced(Rank target, std::uint32_t tag, std::uint64_t offset, const void* data,
                     std::uint64_t size, bool final, bool strong) override {
    const ServicePort::Access access(window_.port());
    return window_.neon().origin().put_mapped(target, tag, offset, data, size, final, strong);
  }
  void prepare(Rank target, std::uint64_t size) override {
    if (size > window_.neon().limits().eager) window_.writes().prepare(target);
  }
  void prepare_for_window(Rank target, std::uint64_t size) override {
    NeonWrites& writes = window_.writes();
    if (size < limits::kNeonWritten || writes.is_prepared_for_window(target)) return;
    RegionHandle region;
    if (lfc_native_region(win_, static_cast<int>(target), &region))
      writes.prepare_for_window(target, region);
  }
  void expose(Announcement& buffer) override { window_.publish(buffer); }
  void conceal(Announcement& buffer) override { window_.withdraw(buffer); }
  Slot* make_slots(std::uint32_t count) override;
  bool has_local_peers() const override { return !local_peers_.empty(); }
  bool put_mapped(Rank target, std::uint64_t offset, const void* data, std::uint64_t size,
                  std::uint32_t index) override {
    std::byte* const place = mapped(target, offset);
    if (place == nullptr) return false;
    store_words(place, static_cast<const std::byte*>(data), size);
    count_mapped(target, index);
    return true;
  }
  std::byte* mapped(Rank target, std::uint64_t offset) override {
    const bool known = target < local_peers_.size() && local_peers_[target].slots != nullptr;
    return known ? local_peers_[target].base + offset : nullptr;
  }
  void count_mapped(Rank target, std::uint32_t index) override {
    local_peers_[target].slots[index].add(1);
  }
  bool combine_notified(const lfc_neon_combination& call, std::uint32_t index,
                        int& error) override {
    return lfc_native_combine_notified(win_, &call, index, &error);
  }
  bool member_lost() override {
    {
      const ServicePort::Access access(window_.port());
      if (window_.has_lost()) return true;
    }
    // No link watches a peer that is reached by loads and stores alone.
    return std::any_of(local_peers_.begin(), local_peers_.end(), [](const LocalPeer& each) {
      return each.memory && ProcessWatch(each.memory->name().pid).dead();
    });
  }
  void close() override {
    if (closed_) return;
    closed_ = true;
    drain(
        comm_, window_.traffic().sent,
        [&] {
          const ServicePort::Access access(window_.port());
          return window_.quiet();
        },
        [&] {
          const ServicePort::Access access(window_.port());
          return window_.traffic().received;
        },
        lfc_native_progress);
    window_.writes().conceal_all();  // a registration may not outlive its memory
  }

 private:
  // A rank whose window and counters are mapped here; this one too.
  struct LocalPeer {
    std::byte* base = nullptr;
    Slot* slots = nullptr;  // null: not mapped
    std::optional<SharedMemory> memory;
  };

  bool count(std::uint64_t counter, std::uint64_t by) const {
    Slot* const slot =
        counter > UINT32_MAX ? nullptr : memory_.slot(static_cast<std::uint32_t>(counter));
    if (slot != nullptr && by != 0) slot->add(by);
    return slot != nullptr;
  }

  const MPI_Win win_;
  const MPI_Comm comm_;  // the window's
  const std::uint32_t rank_, ranks_;
  const Exposure& memory_;
  const int level_;
  NeonWindow window_;
  Target& target_;
  unsigned idle_polls_ = 0;  // calls of is_due() since the last event
  bool closed_ = false;
  SendLock::Entry entry_ = SendLock::kRefused;  // of the thread that holds the lock
  std::optional<SharedMemory> own_;             // our counters, for local peers to map
  std::vector<LocalPeer> local_peers_;          // by rank; empty: none
};

constexpr unsigned kWatchPolls = 1 << 13;  // some milliseconds

bool NativeEndpoint::is_due() {
  if (!target_.is_open()) return false;
  ++idle_polls_;
  return target_.is_due() || idle_polls_ >= kWatchPolls;
}

int NativeEndpoint::poll() {
  const int events = target_.look();
  if (events > 0) idle_polls_ = 0;
  if (idle_polls_ < kWatchPolls) return events;
  idle_polls_ = 0;
  for (const Rank origin : target_.open_origins())
    if (window_.has_ended(origin)) neon().on_lost(origin);
  return events;
}

Slot* NativeEndpoint::make_slots(std::uint32_t count) {
  std::vector<LocalPeer> local_peers(ranks_);
  std::optional<SharedMemory> own =
      SharedMemory::create(sizeof(Slot) * std::max<std::size_t>(count, 1));
  const SharedMemoryName mine = own ? own->name() : SharedMemoryName{};
  std::vector<SharedMemoryName> names(ranks_);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, names.data(), sizeof mine, MPI_BYTE, comm_);
  Slot* slots = nullptr;
  if (own) {
    slots = reinterpret_cast<Slot*>(own->data());
    std::uninitialized_default_construct_n(slots, count);
  } else {
    slots = Endpoint::make_slots(count);
  }
  bool any = false;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    LocalPeer& each = local_peers[rank];
    lfc_native_memory memory;
    if (!lfc_native_mapped(win_, static_cast<int>(rank), &memory)) continue;
    each.base = static_cast<std::byte*>(memory.here);
    if (rank == rank_) {
      each.slots = slots;
    } else if (names[rank].size >= sizeof(Slot) * count &&
               (each.memory = SharedMemory::open(names[rank]))) {
      each.slots = reinterpret_cast<Slot*>(each.memory->data());
      any = true;
    }
  }
  MPI_Barrier(comm_);  // all are mapped, and constructed
  if (own) own->close();
  own_ = std::move(own);
  if (any) {
    local_peers_ = std::move(local_peers);
  } else {
    local_peers_.clear();
  }
  return slots;
}

bool serves(MPI_Win win) { return lfc_native_serves(win) && native_service() != nullptr; }

// Collective. Returns the smallest value of any rank for each property: all can send and receive such frames, no rank
// keeps more early data than its user permits, and all make progress in this way.
Agreed agree(const NeonService& service, MPI_Comm comm) {
  const lfc_native_limits own = lfc_native_own_limits();
  const std::uint32_t level = service.serves_alone() ? MPIX_NEON_ASYNC : MPIX_NEON_NATIVE;
  std::uint32_t least[4] = {service.frame_bytes(), own.eager, own.budget, level};
  MPI_Allreduce(MPI_IN_PLACE, least, 4, MPI_UINT32_T, MPI_MIN, comm);
  return {{.frame = least[0], .eager = least[1], .budget = least[2]}, static_cast<int>(least[3])};
}

// Maps the announcements of the ranks whose window memory is mapped here. Collective.
void map_peers(MPI_Win win, MPI_Comm comm, std::uint32_t ranks, NeonWindow& window) {
  std::vector<lfc_native_memory> memories(ranks);
  std::uint32_t mapped = 0;
  for (std::uint32_t each = 0; each < ranks; ++each) {
    lfc_native_memory& memory = memories[each];
    if (lfc_native_mapped(win, static_cast<int>(each), &memory) && memory.size > 0) {
      window.writes().map(each, memory.address, memory.size, static_cast<std::byte*>(memory.here));
      ++mapped;
    } else {
      memory = {};
    }
  }
  const SharedMemoryName own = mapped > 1 ? window.create_entries() : SharedMemoryName{};
  std::vector<SharedMemoryName> names(ranks);
  MPI_Allgather(&own, sizeof own, MPI_BYTE, names.data(), sizeof own, MPI_BYTE, comm);
  for (std::uint32_t each = 0; each < ranks; ++each)
    if (memories[each].here != nullptr)
      window.map_peer(each, {static_cast<std::byte*>(memories[each].here), memories[each].size},
                      names[each]);
  MPI_Barrier(comm);  // all have opened them
  window.close_entries();
}

Endpoint* open(MPI_Win win, MPI_Comm comm, const Exposure& memory) {
  std::shared_ptr<NeonService> service = native_service();
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const auto ranks = static_cast<std::uint32_t>(size);
  std::vector<PeerId> peers(ranks, kNoPeer);
  int reachable = service != nullptr ? 1 : 0;
  for (int each = 0; each < size && reachable != 0; ++each) {
    if (each == rank) continue;
    peers[static_cast<std::size_t>(each)] = lfc_native_peer(comm, each);
    if (peers[static_cast<std::size_t>(each)] == kNoPeer) reachable = 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &reachable, 1, MPI_INT, MPI_MIN, comm);
  if (reachable == 0) return nullptr;
  const Agreed agreed = agree(*service, comm);
  auto* made = new NativeEndpoint(std::move(service), win, comm, agreed, memory,
                                  static_cast<std::uint32_t>(rank), ranks);
  const std::uint32_t id = made->window().id();
  std::vector<std::uint32_t> ids(ranks);
  MPI_Allgather(&id, 1, MPI_UINT32_T, ids.data(), 1, MPI_UINT32_T, comm);
  map_peers(win, comm, ranks, made->window());
  made->window().connect(peers, ids);
  return made;
}

}  // namespace
}  // namespace lfc::neon

extern "C" __attribute__((visibility("default"))) const lfc::neon::Native lfc_neon_native_5 = {
    lfc::neon::serves, lfc_native_communicator, lfc::neon::open};
