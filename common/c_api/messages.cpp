#include "lfc/messages.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "c_api/process_state.hpp"
#include "engine/ni.hpp"
#include "engine/ni_thread.hpp"
#include "engine/open.hpp"
#include "engine/process_ni.hpp"
#include "link/far.hpp"
#include "machine/first_of_node.hpp"
#include "services/push/push.hpp"

struct lfc_adapter {
  std::shared_ptr<lfc::Ni> ni;  // the process's
  std::vector<std::byte> address;
  std::unique_ptr<lfc::Push> push;
  std::atomic<std::size_t> outstanding{0};  // operations whose `done` was not called yet
  enum class Distance : std::uint8_t { unknown, near, far };
  std::vector<Distance> distances;  // by PeerId; each is set by the first query
  struct Cache final : lfc::RegistrationCache {
    const lfc::RegionHandle* take(void* data, std::size_t size,
                                  std::uint32_t access) noexcept override {
      return reinterpret_cast<const lfc::RegionHandle*>(functions->take(data, size, access));
    }
    void give_back(const lfc::RegionHandle& taken) noexcept override {
      functions->give_back(reinterpret_cast<const lfc_region*>(&taken));
    }
    const lfc_registration_cache* functions = nullptr;
  } cache;
};

namespace {

using lfc::PeerId;
using lfc::Result;

// How long the end of a connection waits for messages that were posted before.
constexpr std::chrono::seconds kLongestWait{5};

static_assert(sizeof(lfc::Message) <= sizeof(lfc_message));
static_assert(alignof(lfc::Message) <= alignof(lfc_message));

struct HeldOperation : lfc::Operation {
  lfc_operation* owner;
  lfc_adapter* adapter;
};
static_assert(sizeof(HeldOperation) <= sizeof(lfc_operation::room));
static_assert(sizeof(lfc::RegionHandle) == sizeof(lfc_region));
static_assert(sizeof(lfc_slice) == sizeof(lfc::Slice) &&
              offsetof(lfc_slice, size) == offsetof(lfc::Slice, size));

lfc_result to_c(Result result) noexcept { return static_cast<lfc_result>(result); }

void copy_text(const std::string& from, char* to, std::size_t size) noexcept {
  std::snprintf(to, size, "%s", from.c_str());
}

lfc::ProcessState::Messages& state() noexcept { return lfc::process_state().messages; }

void deliver(void* endpoint, std::uint8_t tag, const std::byte* bytes, std::size_t size,
             PeerId peer, void* context) {
  static_cast<const lfc::MessageRoutes*>(context)->pass(endpoint, peer, tag, bytes, size);
}

void remark(std::string_view line) {
  const std::string text(line);
  if (!lfc::NiThread::is_current()) return state().host.notice(text.c_str());
  // Other threads must not call the host's own notice function.
  std::fprintf(stderr, "btl lfc: %s\n", text.c_str());
}

void notice(std::string_view line) {
  if (lfc::first_of_node(state().job, line.substr(0, line.find(": ")))) remark(line);
}

void detour(std::string_view link, std::string_view why) {
  if (!lfc::NiThread::is_current())
    state().host.detour(std::string(link).c_str(), std::string(why).c_str());
}

// Extracts the reason of the link `shm` from the reasons of all links.
std::string why_not_shared(const std::string& reasons) {
  constexpr std::string_view kLink = "shm: ";
  const std::size_t at = reasons.find(kLink);
  return at == std::string::npos ? std::string() : reasons.substr(at + kLink.size());
}

void peer_broken(void* context, PeerId peer, std::string_view why) {
  auto* adapter = static_cast<lfc_adapter*>(context);
  void* endpoint = nullptr;
  {
    const lfc::Ni::Access access(*adapter->ni);
    endpoint = adapter->ni->peers().at(peer).context;
  }
  state().host.broken(endpoint, std::string(why).c_str());
}

void message_done(lfc::Message* message, Result result) {
  state().host.sent(reinterpret_cast<lfc_message*>(message), to_c(result));
}

void operation_done(lfc::Operation* operation, Result result) {
  auto* held = static_cast<HeldOperation*>(operation);
  held->adapter->outstanding.fetch_sub(1, std::memory_order_relaxed);
  held->owner->done(held->owner, to_c(result));
}

lfc::Operation* hold(lfc_adapter* adapter, lfc_operation* owner) noexcept {
  auto* held = new (owner->room) HeldOperation{};
  held->done = operation_done;
  held->owner = owner;
  held->adapter = adapter;
  adapter->outstanding.fetch_add(1, std::memory_order_relaxed);
  return held;
}

const lfc::RegionHandle* handle_of(const lfc_region* region) noexcept {
  return reinterpret_cast<const lfc::RegionHandle*>(region);
}

// A handle from a received message, which is unaligned.
lfc::RegionHandle received_handle(const void* bytes) noexcept {
  lfc::RegionHandle handle;
  std::memcpy(&handle, bytes, sizeof handle);
  return handle;
}

lfc::NiOptions to_ni_options(const lfc_options& from) {
  lfc::NiOptions to;
  static_cast<lfc_btl_parameters&>(to) = from.parameters;
  to.name = {from.job, from.rank};
  to.threads = from.threads;
  to.local_processes = from.local_processes;
  to.local_rank = from.local_rank;
  to.other_nodes = from.other_nodes;
  to.notice = notice;
  to.remark = remark;
  to.detour = detour;
  return to;
}

// Drives the NI until `finished()` is true, for kLongestWait at most.
template <class Finished>
void progress_until(lfc::Ni& ni, Finished finished) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
  while (!finished() && std::chrono::steady_clock::now() < deadline) ni.progress();
}

}  // namespace

extern "C" {

lfc_adapter* lfc_adapter_open(const lfc_options* options, const lfc_host* host, char* text,
                              size_t text_size) try {
  auto adapter = std::make_unique<lfc_adapter>();
  std::string error;
  std::string notes;
  state().host = *host;  // which is notified before the adapter exists
  state().job = options->job;
  state().routes.set_host(host->receive);
  adapter->ni = lfc::open_ni(to_ni_options(*options), error, notes);
  if (adapter->ni == nullptr) {
    copy_text(error, text, text_size);
    return nullptr;
  }
  adapter->ni->set_message_handler({deliver, &state().routes});
  adapter->ni->set_broken_handler(peer_broken, adapter.get());
  adapter->address = adapter->ni->open();
  // Also if this process pushes nothing, because peers with another limit push to it.
  adapter->push = std::make_unique<lfc::Push>(adapter->ni->services(), adapter->ni->host(),
                                              options->parameters.push_limit);
  lfc::set_process_ni(adapter->ni);
  copy_text(notes, text, text_size);
  return state().adapter = adapter.release();
} catch (const std::exception& failure) {
  copy_text(failure.what(), text, text_size);
  return nullptr;
}

void lfc_adapter_close(lfc_adapter* adapter) {
  progress_until(*adapter->ni, [&] { return adapter->ni->drained(); });
  lfc::set_process_ni(nullptr);
  adapter->push.reset();
  adapter->ni->set_message_handler({});
  adapter->ni->set_broken_handler(nullptr, nullptr);
  state().adapter = nullptr;
  delete adapter;
}

const void* lfc_adapter_address(const lfc_adapter* adapter, size_t* size) {
  *size = adapter->address.size();
  return adapter->address.data();
}

size_t lfc_adapter_max_message(const lfc_adapter* adapter) {
  return adapter->ni->peers().max_payload();
}

size_t lfc_adapter_max_far_message(const lfc_adapter* adapter) {
  return adapter->ni->peers().max_far_message();
}

uint32_t lfc_adapter_known_peer(lfc_adapter* adapter, uint32_t job, uint32_t rank) {
  const lfc::Ni::Access access(*adapter->ni);
  const PeerId peer = adapter->ni->peers().find({job, rank});
  return peer != lfc::kNoPeer && adapter->ni->peers().at(peer).address.has_key() ? peer
                                                                                 : LFC_NO_PEER;
}

uint32_t lfc_adapter_add_peer(lfc_adapter* adapter, const void* address, size_t size, char* why,
                              size_t why_size) try {
  const auto parsed = lfc::Address::parse({static_cast<const std::byte*>(address), size});
  if (!parsed) {
    copy_text(lfc::Address::fault_of({static_cast<const std::byte*>(address), size}), why,
              why_size);
    return LFC_NO_PEER;
  }
  std::string why_not;
  const PeerId peer = adapter->ni->add_peer(*parsed, why_not);
  if (peer == lfc::kNoPeer) {
    copy_text(why_not, why, why_size);
    return LFC_NO_PEER;
  }
  copy_text(why_not_shared(why_not), why, why_size);
  return peer;
} catch (const std::exception& failure) {
  copy_text(failure.what(), why, why_size);
  return LFC_NO_PEER;
}

bool lfc_adapter_set_endpoint(lfc_adapter* adapter, uint32_t peer, void* endpoint) {
  {
    const lfc::Ni::Access access(*adapter->ni);
    if (adapter->ni->peers().at(peer).context != nullptr) return false;
  }
  adapter->ni->set_peer_context(peer, endpoint);
  return true;
}

bool lfc_adapter_is_far(lfc_adapter* adapter, uint32_t peer) try {
  const lfc::LinkTraits& link = adapter->ni->link_traits(peer);
  const lfc::Ni::Access access(*adapter->ni);
  std::vector<lfc_adapter::Distance>& known = adapter->distances;
  if (peer >= known.size()) known.resize(peer + 1, lfc_adapter::Distance::unknown);
  if (known[peer] == lfc_adapter::Distance::unknown)
    known[peer] = lfc::is_far(link) ? lfc_adapter::Distance::far : lfc_adapter::Distance::near;
  return known[peer] == lfc_adapter::Distance::far;
} catch (const std::bad_alloc&) {
  return false;
}

void lfc_adapter_remove_peer(lfc_adapter* adapter, uint32_t peer) {
  progress_until(*adapter->ni, [&] { return adapter->ni->idle(peer); });
  adapter->ni->set_peer_context(peer, nullptr);
  adapter->ni->remove_peer(peer);
}

bool lfc_adapter_try_send(lfc_adapter* adapter, uint32_t peer, uint8_t tag, const lfc_slice* slices,
                          int count) {
  return adapter->ni->try_send(peer, tag, reinterpret_cast<const lfc::Slice*>(slices), count);
}

bool lfc_adapter_try_rts(lfc_adapter* adapter, uint32_t peer, uint8_t tag, const lfc_slice* slices,
                         int count) {
  return adapter->push->send_rts(peer, tag, reinterpret_cast<const lfc::Slice*>(slices), count);
}

void lfc_adapter_post(lfc_adapter* adapter, uint32_t peer, uint8_t tag, const lfc_slice* slices,
                      int count, lfc_message* message) {
  auto* held = new (message) lfc::Message{};
  held->done = message_done;
  held->tag = tag;
  held->slice_count = static_cast<std::uint8_t>(count);
  for (int i = 0; i < count; ++i)
    held->slices[static_cast<std::size_t>(i)] = {slices[i].data, slices[i].size};
  adapter->ni->post(peer, *held);
}

bool lfc_adapter_fetch_is_faster(lfc_adapter* adapter, uint32_t peer, size_t size) {
  return adapter->ni->remote().fetch_is_faster(peer, size);
}

bool lfc_adapter_register(lfc_adapter* adapter, void* data, size_t size, unsigned access,
                          lfc_region* region) {
  auto* handle = new (region) lfc::RegionHandle{};
  return adapter->ni->remote().register_memory(data, size, access, *handle);
}

void lfc_adapter_deregister(lfc_adapter* adapter, lfc_region* region) {
  adapter->ni->remote().deregister_memory(*reinterpret_cast<lfc::RegionHandle*>(region));
}

void lfc_adapter_use_cache(lfc_adapter* adapter, const lfc_registration_cache* cache) {
  if (cache != nullptr) adapter->cache.functions = cache;
  adapter->ni->remote().use_cache(cache != nullptr ? &adapter->cache : nullptr);
}

bool lfc_adapter_registration_costs(const lfc_adapter* adapter) {
  return adapter->ni->remote().registration_costs();
}

void lfc_adapter_put(lfc_adapter* adapter, uint32_t peer, const void* source,
                     const lfc_region* local, uint64_t address, const void* remote, size_t size,
                     lfc_operation* operation) {
  const lfc::ServicePort::Visit visit(adapter->ni->services());
  adapter->ni->remote().put(peer, source, handle_of(local), address, received_handle(remote), size,
                            hold(adapter, operation));
}

void lfc_adapter_get(lfc_adapter* adapter, uint32_t peer, void* destination,
                     const lfc_region* local, uint64_t address, const void* remote, size_t size,
                     bool by_rts, lfc_operation* operation) {
  const lfc::ServicePort::Visit visit(adapter->ni->services());
  lfc::RemoteOrigin& origin = adapter->ni->remote();
  (origin.*(by_rts ? &lfc::RemoteOrigin::fetch : &lfc::RemoteOrigin::get))(
      peer, destination, handle_of(local), address, received_handle(remote), size,
      hold(adapter, operation));
}

uint64_t lfc_adapter_offer(lfc_adapter* adapter, uint32_t peer, const lfc_region* region) {
  return adapter->push->offer(peer, handle_of(region)->size);
}

void lfc_adapter_push(lfc_adapter* adapter, uint32_t peer, uint64_t number,
                      const lfc_region* region) {
  const lfc::RegionHandle& from = *handle_of(region);
  adapter->push->push(peer, number, reinterpret_cast<const void*>(from.address), from.size);
}

void lfc_adapter_release(lfc_adapter* adapter, uint32_t peer, uint64_t number) {
  adapter->push->release(peer, number);
}

bool lfc_adapter_fetch(lfc_adapter* adapter, uint32_t peer, uint64_t number, void* destination,
                       const void* remote, size_t size, lfc_operation* operation) {
  if (received_handle(remote).size != size) return false;
  lfc::Operation* held = hold(adapter, operation);
  if (adapter->push->fetch(peer, number, destination, size, held)) return true;
  adapter->outstanding.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void lfc_adapter_atomic(lfc_adapter* adapter, uint32_t peer, lfc_atomic op, int width,
                        uint64_t operand, uint64_t compare, uint64_t address, const void* remote,
                        void* result, lfc_operation* operation) {
  const lfc::AtomicRequest request{static_cast<lfc::AtomicOp>(op), static_cast<std::uint8_t>(width),
                                   operand, compare};
  const lfc::ServicePort::Visit visit(adapter->ni->services());
  adapter->ni->remote().atomic(peer, request, address, received_handle(remote), result,
                               hold(adapter, operation));
}

uint64_t lfc_adapter_atomic_here(lfc_atomic op, int width, uint64_t operand, uint64_t compare,
                                 void* target) {
  return lfc::apply_atomic(
      {static_cast<lfc::AtomicOp>(op), static_cast<std::uint8_t>(width), operand, compare}, target);
}

size_t lfc_adapter_outstanding(lfc_adapter* adapter, uint32_t peer) {
  return peer == LFC_NO_PEER ? adapter->outstanding.load(std::memory_order_relaxed)
                             : adapter->ni->remote().outstanding(peer);
}

int lfc_adapter_progress(lfc_adapter* adapter) { return adapter->ni->progress(); }

void lfc_messages_hand_over(uint32_t peer, uint8_t tag, const void* data, size_t size) {
  void* endpoint = nullptr;
  {
    lfc::Ni& ni = *state().adapter->ni;
    const lfc::Ni::Access access(ni);
    endpoint = ni.peers().at(peer).context;
  }
  state().host.receive(endpoint, peer, tag, data, size);
}

void lfc_adapter_dropped(lfc_adapter* adapter) {
  adapter->ni->counters().add(lfc::Counter::frames_dropped);
}

size_t lfc_adapter_memory(const lfc_adapter* adapter) { return adapter->ni->memory(); }

size_t lfc_adapter_counter_count(void) { return lfc::kCounters; }
const char* lfc_adapter_counter_name(size_t which) { return lfc::counter_info()[which].name; }
const char* lfc_adapter_counter_help(size_t which) { return lfc::counter_info()[which].help; }
uint64_t lfc_adapter_counter(const lfc_adapter* adapter, size_t which) {
  return adapter == nullptr ? 0 : adapter->ni->counters().get(static_cast<lfc::Counter>(which));
}

void lfc_adapter_link(const lfc_adapter* adapter, uint32_t peer, char* text, size_t text_size) {
  copy_text(adapter->ni->link_traits(peer).name, text, text_size);
}

void lfc_adapter_links(const lfc_adapter* adapter, char* text, size_t text_size) try {
  std::map<std::string, int> peers;
  {
    const lfc::Ni::Access access(*adapter->ni);
    const lfc::PeerTable& all = adapter->ni->peers();
    for (PeerId id = 0; id < all.size(); ++id)
      if (all.at(id).admitted) ++peers[all.at(id).link->traits().name];
  }
  std::string list;
  for (const auto& [link, count] : peers)
    list += (list.empty() ? "" : ",") + link + ":" + std::to_string(count);
  copy_text(list.empty() ? "none" : list, text, text_size);
} catch (const std::exception&) {
  copy_text("?", text, text_size);
}

void lfc_adapter_describe(const lfc_adapter* adapter, char* text, size_t text_size) try {
  std::string lines;
  adapter->ni->describe(lines);
  copy_text(lines, text, text_size);
} catch (const std::exception&) {
  copy_text("(no memory left to describe the peers)", text, text_size);
}

}  // extern "C"
