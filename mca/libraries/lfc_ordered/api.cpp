// liblfc_ordered: the C functions of lfc_ordered.h over OrderedBroadcast, and their waits.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/lasting.hpp"
#include "base/limits.hpp"
#include "engine/host_call.hpp"
#include "engine/process_ni.hpp"
#include "lfc_ordered.h"
#include "services/ordered/ordered_broadcast.hpp"

namespace {

using lfc::OrderedBroadcast;

// How often a wait in vain lets MPI make progress of its own, and from when on it gives way.
constexpr unsigned kPassesPerMpi = 512;
constexpr unsigned kPassesUntilYield = 128;

constexpr unsigned kMaxWindow = 65536;
constexpr std::size_t kMinPacket = 64;

// The default place of the handler: one in which no other thread of the program is affected.
int usual_place() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided > MPI_THREAD_FUNNELED ? LFC_ORDERED_IN_CALLS : LFC_ORDERED_IN_MPI;
}

// One for all objects of the process, while there are any.
struct Service {
  explicit Service(lfc::Ni& own) : ni(own), multicast(ni.services(), {}, lfc::ServiceId::ordered) {}
  lfc::Ni& ni;
  lfc::Multicast multicast;
};

std::shared_ptr<Service> service() {
  static lfc::Lasting<lfc::PerProcess<Service>> shared;
  return shared->get([](lfc::Ni& ni) { return Service(ni); });
}

// The facts that each rank sends to the others at open().
struct Facts {
  std::uint64_t packet;
  std::uint32_t window;
  std::int32_t sequencer;
  std::uint32_t fan;
  std::uint32_t sound;  // the arguments
  lfc::ProcessName name;
  std::uint32_t address;  // bytes; 0: no engine
  std::uint32_t count;    // of objects opened by this process before
};

std::uint64_t key_of(const Facts& facts) {
  std::uint64_t key = facts.name.packed() * 0x9e3779b97f4a7c15u + facts.count;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  return key ^ (key >> 27);
}

// The facts of all ranks, by rank.
struct Members {
  std::vector<Facts> facts;
  std::vector<int> sizes, offsets;  // of addresses
  std::vector<std::byte> addresses;

  lfc::ProcessName name(int rank) const { return facts[static_cast<std::size_t>(rank)].name; }
  std::span<const std::byte> address(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return std::span(addresses).subspan(static_cast<std::size_t>(offsets[at]),
                                        static_cast<std::size_t>(sizes[at]));
  }
  int exchange(const Facts& own, std::span<const std::byte> address, std::size_t count,
               MPI_Comm comm);
};

int Members::exchange(const Facts& own, std::span<const std::byte> address, std::size_t count,
                      MPI_Comm comm) {
  facts.resize(count);
  if (MPI_Allgather(&own, sizeof own, MPI_BYTE, facts.data(), sizeof own, MPI_BYTE, comm) !=
      MPI_SUCCESS)
    return LFC_ORDERED_ERR_MPI;
  int total = 0;
  const Facts& first = facts[0];
  for (const Facts& each : facts) {
    if (each.sound == 0 || each.packet != first.packet || each.window != first.window ||
        each.sequencer != first.sequencer || each.fan != first.fan)
      return LFC_ORDERED_ERR_ARGUMENT;
    sizes.push_back(static_cast<int>(each.address));
    offsets.push_back(total);
    total += sizes.back();
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return LFC_ORDERED_ERR_UNAVAILABLE;
  addresses.resize(static_cast<std::size_t>(total));
  const int result = MPI_Allgatherv(address.data(), static_cast<int>(address.size()), MPI_BYTE,
                                    addresses.data(), sizes.data(), offsets.data(), MPI_BYTE, comm);
  return result == MPI_SUCCESS ? LFC_ORDERED_OK : LFC_ORDERED_ERR_MPI;
}

}  // namespace

struct lfc_ordered {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int sequencer = 0;
  std::shared_ptr<Service> service;  // outlives `all`
  std::unique_ptr<OrderedBroadcast> all;
  std::unique_ptr<lfc::HostCall> call;  // null: messages are handled in the functions below only
  lfc_ordered_handler* handler = nullptr;
  void* context = nullptr;
  std::vector<int> ranks;  // by member
  // Calls of deliver() since no thread was inside; 0: none is. 1 until the object is open: no message is handled
  // before.
  std::atomic<std::uint64_t> wanted = 1;
  std::atomic<std::thread::id> handling;    // the thread inside the handler
  std::atomic<std::uint64_t> messages = 0;  // handled
  bool joined = false;
  unsigned idle = 0;  // passes in vain

  ~lfc_ordered() {
    if (call != nullptr) call->end();
    if (joined) all->leave();
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }

  int fault() const noexcept {
    switch (all->fault()) {
      case OrderedBroadcast::Fault::none: return LFC_ORDERED_OK;
      case OrderedBroadcast::Fault::lost: return LFC_ORDERED_ERR_LOST;
      case OrderedBroadcast::Fault::protocol: return LFC_ORDERED_ERR_PROTOCOL;
    }
    return LFC_ORDERED_ERR_PROTOCOL;
  }

  bool is_inside_handler() const noexcept { return handling.load() == std::this_thread::get_id(); }

  // Handles the messages that are ready. One thread at a time: a call meanwhile, also from inside the handler, leaves
  // its work to that thread, which checks once more.
  void deliver() {
    if (wanted.fetch_add(1) != 0) return;
    std::uint64_t seen = 0;
    do {
      seen = wanted.load();
      handling = std::this_thread::get_id();
      while (all->deliver(
          [&](std::uint32_t member, std::uint64_t number, std::span<const std::byte> bytes) {
            handler(context, ranks[member], number, bytes.data(), bytes.size());
            messages.fetch_add(1, std::memory_order_relaxed);
          }))
        continue;
      handling = std::thread::id();
    } while (!wanted.compare_exchange_strong(seen, 0));
  }

  // Makes one pass of the engine and handles its messages; returns how many messages have been handled.
  int pass() {
    const std::uint64_t before = messages.load(std::memory_order_relaxed);
    const auto count = [&] {
      return static_cast<int>(messages.load(std::memory_order_relaxed) - before);
    };
    int events = service->ni.turn().pass();
    deliver();
    // Open MPI ends the job when it is notified of a lost rank, so the caller gets the error first.
    if (all->fault() != OrderedBroadcast::Fault::none) return count();
    events += service->ni.turn().serve_host();
    if (events + count() > 0) {
      idle = 0;
      return count();
    }
    if (++idle % kPassesPerMpi == 0) {
      int there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, MPI_STATUS_IGNORE);
    }
    // With more ranks than cores another rank may need this core.
    if (idle > kPassesUntilYield) std::this_thread::yield();
    return count();
  }
  template <class Condition>
  int wait(Condition condition) {
    while (!condition()) {
      const int handled = pass();
      if (handled == 0 && fault() != LFC_ORDERED_OK && !condition()) return fault();
    }
    return LFC_ORDERED_OK;
  }
  // A request of a collective; left alone after a fault.
  int finish(MPI_Request& request) {
    int result = MPI_SUCCESS;
    const int error = wait([&] {
      int done = 0;
      result = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      return done != 0 || result != MPI_SUCCESS;
    });
    return error == LFC_ORDERED_OK && result != MPI_SUCCESS ? LFC_ORDERED_ERR_MPI : error;
  }

  int open(const lfc_ordered_options& options, bool sound);
  void call_in(int place);
  bool find_peers(const Members& members, std::vector<lfc::PeerId>& peers);
  int close();
};

// Where the handler is called besides the functions of the object.
void lfc_ordered::call_in(int place) {
  if (place == LFC_ORDERED_IN_CALLS) return;
  const auto by =
      place == LFC_ORDERED_BY_THREAD ? lfc::HostCall::By::thread : lfc::HostCall::By::host;
  call = std::make_unique<lfc::HostCall>(
      service->ni.services(), [](void* order) { static_cast<lfc_ordered*>(order)->deliver(); },
      this, by);
  all->set_call(*call);
}

// Finds the members in the order of their names, and their peers. False: some cannot be reached from here.
bool lfc_ordered::find_peers(const Members& members, std::vector<lfc::PeerId>& peers) {
  ranks.resize(members.facts.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::sort(ranks.begin(), ranks.end(),
            [&](int a, int b) { return members.name(a).packed() < members.name(b).packed(); });
  bool reachable = true;
  for (const int each : ranks) {
    lfc::PeerId peer = lfc::kNoPeer;
    std::string why_not;
    const auto parsed = lfc::Address::parse(members.address(each));
    if (each != rank && parsed) peer = service->ni.add_peer(*parsed, why_not);
    if (each != rank && peer == lfc::kNoPeer) reachable = false;
    peers.push_back(peer);
  }
  return reachable;
}

// All ranks see the same facts, so all come to the same end.
int lfc_ordered::open(const lfc_ordered_options& options, bool sound) {
  static std::atomic<std::uint32_t> opened = 0;
  service = ::service();
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const std::span<const std::byte> address =
      service == nullptr ? std::span<const std::byte>() : service->ni.address();
  Members members;
  const int unequal = members.exchange(
      {.packet = options.packet,
       .window = options.window,
       .sequencer = options.sequencer,
       .fan = options.fan,
       .sound = sound && options.sequencer < size ? 1u : 0u,
       .name = service == nullptr ? lfc::ProcessName{} : service->ni.identity().name,
       .address = static_cast<std::uint32_t>(address.size()),
       .count = opened++},
      address, static_cast<std::size_t>(size), comm);
  if (unequal != LFC_ORDERED_OK) return unequal;

  std::vector<lfc::PeerId> peers;
  const bool reachable = find_peers(members, peers);
  // The smallest packet of all ranks, which the links of each can carry.
  std::uint64_t agreed[2] = {
      std::min<std::uint64_t>(options.packet, service->multicast.max_packet()),
      reachable ? 1u : 0u};
  if (MPI_Allreduce(MPI_IN_PLACE, agreed, 2, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS)
    return LFC_ORDERED_ERR_MPI;
  if (agreed[1] == 0) return LFC_ORDERED_ERR_UNAVAILABLE;
  const auto member_of = [this](int each) {
    return static_cast<std::uint32_t>(std::find(ranks.begin(), ranks.end(), each) - ranks.begin());
  };
  sequencer = options.sequencer;
  all = std::make_unique<OrderedBroadcast>(
      service->multicast, OrderedBroadcast::Options{.window = options.window,
                                                    .packet = agreed[0],
                                                    .sequencer = member_of(options.sequencer),
                                                    .fan = options.fan});
  call_in(options.handle == LFC_ORDERED_USUAL ? usual_place() : options.handle);
  std::vector<lfc::ProcessName> names;
  for (const int each : ranks) names.push_back(members.name(each));
  all->join(key_of(members.facts[0]), std::move(names), member_of(rank), std::move(peers));
  joined = true;
  if (MPI_Barrier(comm) != MPI_SUCCESS) return LFC_ORDERED_ERR_MPI;
  wanted = 0;
  if (call == nullptr) return LFC_ORDERED_OK;
  const lfc::Ni::Access access(service->ni);  // for messages that have arrived meanwhile
  call->request();
  return LFC_ORDERED_OK;
}

// No rank leaves before all ranks have handled all messages and have reported that to the sequencer. Then nothing is
// under way any more.
int lfc_ordered::close() {
  MPI_Request request = MPI_REQUEST_NULL;
  if (fault() != LFC_ORDERED_OK) return fault();
  if (MPI_Ibarrier(comm, &request) != MPI_SUCCESS) return LFC_ORDERED_ERR_MPI;
  if (const int error = finish(request)) return error;
  std::uint64_t end = rank == sequencer ? all->handed_out() : 0;
  if (MPI_Ibcast(&end, 1, MPI_UINT64_T, sequencer, comm, &request) != MPI_SUCCESS)
    return LFC_ORDERED_ERR_MPI;
  if (const int error = finish(request)) return error;
  if (const int error = wait([&] { return all->delivered() >= end; })) return error;
  all->report();
  if (rank == sequencer)
    if (const int error = wait([&] { return all->all_taken(); })) return error;
  if (MPI_Ibarrier(comm, &request) != MPI_SUCCESS) return LFC_ORDERED_ERR_MPI;
  return finish(request);
}

extern "C" {

int lfc_ordered_open(MPI_Comm comm, lfc_ordered_handler* handler, void* context,
                     const struct lfc_ordered_options* options, lfc_ordered** out) try {
  if (out == nullptr) return LFC_ORDERED_ERR_ARGUMENT;
  *out = nullptr;
  int inter = 0;
  if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0)
    return LFC_ORDERED_ERR_ARGUMENT;
  lfc_ordered_options made = options == nullptr ? lfc_ordered_options{} : *options;
  if (made.packet == 0) made.packet = lfc::limits::kOrderedPacket;
  if (made.window == 0) made.window = lfc::limits::kOrderedWindow;
  if (made.fan == 0) made.fan = 2;
  const bool sound = handler != nullptr && made.packet >= kMinPacket && made.window >= 4 &&
                     made.window <= kMaxWindow && made.sequencer >= 0 && made.fan <= lfc::kMaxFan &&
                     made.handle >= LFC_ORDERED_USUAL && made.handle <= LFC_ORDERED_BY_THREAD;
  auto order = std::make_unique<lfc_ordered>();
  order->handler = handler;
  order->context = context;
  if (MPI_Comm_dup(comm, &order->comm) != MPI_SUCCESS) {
    order->comm = MPI_COMM_NULL;
    return LFC_ORDERED_ERR_MPI;
  }
  MPI_Comm_set_errhandler(order->comm, MPI_ERRORS_RETURN);
  const int error = order->open(made, sound);
  if (error == LFC_ORDERED_OK) *out = order.release();
  return error;
} catch (const std::bad_alloc&) {
  return LFC_ORDERED_ERR_MEMORY;
}

size_t lfc_ordered_max(const lfc_ordered* order) {
  return order == nullptr ? 0 : order->all->max_message();
}

int lfc_ordered_bcast(lfc_ordered* order, const void* data, size_t size, uint64_t* number) {
  if (order == nullptr || (data == nullptr && size != 0)) return LFC_ORDERED_ERR_ARGUMENT;
  if (order->is_inside_handler()) return LFC_ORDERED_ERR_NESTED;
  if (size > order->all->max_message()) return LFC_ORDERED_ERR_SIZE;
  if (const int fault = order->fault()) return fault;
  OrderedBroadcast& all = *order->all;
  all.start({static_cast<const std::byte*>(data), size});
  const int error = order->wait([&] { return !all.busy(); });
  if (error != LFC_ORDERED_OK) {
    all.give_up();
    while (all.busy()) order->pass();  // packets that go to others yet are the caller's memory
    return error;
  }
  if (number != nullptr) *number = all.number();
  return LFC_ORDERED_OK;
}

int lfc_ordered_poll(lfc_ordered* order, int* handled) {
  if (order == nullptr) return LFC_ORDERED_ERR_ARGUMENT;
  if (order->is_inside_handler()) return LFC_ORDERED_ERR_NESTED;
  const int count = order->pass();
  if (handled != nullptr) *handled = count;
  return count == 0 ? order->fault() : LFC_ORDERED_OK;
}

int lfc_ordered_wait(lfc_ordered* order, uint64_t number) {
  if (order == nullptr) return LFC_ORDERED_ERR_ARGUMENT;
  if (order->is_inside_handler()) return LFC_ORDERED_ERR_NESTED;
  return order->wait([&] { return order->all->delivered() > number; });
}

int lfc_ordered_close(lfc_ordered** order) {
  if (order == nullptr || *order == nullptr) return LFC_ORDERED_ERR_ARGUMENT;
  if ((*order)->is_inside_handler()) return LFC_ORDERED_ERR_NESTED;
  const std::unique_ptr<lfc_ordered> closed(std::exchange(*order, nullptr));
  return closed->close();
}

const char* lfc_ordered_error(int error) {
  switch (error) {
    case LFC_ORDERED_OK: return "no error";
    case LFC_ORDERED_ERR_ARGUMENT:
      return "an argument is null, out of range, or not the same on all ranks";
    case LFC_ORDERED_ERR_UNAVAILABLE:
      return "a rank has no LFC engine, or cannot reach another (--mca btl lfc?)";
    case LFC_ORDERED_ERR_SIZE: return "the message is larger than half a window";
    case LFC_ORDERED_ERR_NESTED: return "called by the handler of the same object";
    case LFC_ORDERED_ERR_LOST:
      return "a rank is lost: its messages are missing in the order, nothing comes after them";
    case LFC_ORDERED_ERR_PROTOCOL: return "a rank has broken the protocol";
    case LFC_ORDERED_ERR_MPI: return "an MPI call has failed";
    case LFC_ORDERED_ERR_MEMORY: return "out of memory";
    default: return "unknown error";
  }
}

}  // extern "C"
