#include "engine.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "services/windows/windows.hpp"

// Only a name: what it points to is an lfc::Window.
struct neon_window;
struct neon_segment {
  lfc::SharedMemory memory;
};
struct neon_runs {
  std::vector<lfc::Run> runs;
};

namespace {

using lfc::View;
using lfc::Window;
using lfc::WindowFacts;
using lfc::WindowStatus;

static_assert(NEON_NO_MEMORY == static_cast<int>(WindowStatus::memory));
static_assert(NEON_LOST == static_cast<int>(WindowStatus::lost));
static_assert(NEON_DYNAMIC == static_cast<int>(lfc::Flavor::dynamic));
static_assert(NEON_NO_OP == static_cast<int>(lfc::Accumulate::no_op));
static_assert(NEON_MAXLOC == static_cast<int>(lfc::Accumulate::max_location));
static_assert(NEON_NO_ELEMENT == static_cast<int>(lfc::Element::count_));
static_assert(NEON_F80 == static_cast<int>(lfc::Element::f80));
static_assert(NEON_I16_I32 == static_cast<int>(lfc::Element::pair_i16_i32));
static_assert(NEON_NO_PEER == lfc::kNoPeer);
static_assert(sizeof(neon_run) == sizeof(lfc::Run) &&
              offsetof(neon_run, repeat) == offsetof(lfc::Run, repeat));

// Held as long as the component is open.
std::shared_ptr<lfc::Windows> windows;
neon_host host{};

neon_status to_c(WindowStatus status) noexcept { return static_cast<neon_status>(status); }

View to_view(const neon_view& from) noexcept {
  return {static_cast<std::byte*>(from.base),
          from.offset,
          {reinterpret_cast<const lfc::Run*>(from.runs), from.run_count},
          from.extent,
          from.count,
          from.size};
}

lfc::Accumulation to_what(neon_op op, neon_element element) noexcept {
  return {static_cast<lfc::Accumulate>(op), static_cast<lfc::Element>(element)};
}

bool possible(neon_op op, neon_element element) noexcept {
  return lfc::is_valid(static_cast<lfc::Accumulate>(op), static_cast<lfc::Element>(element));
}

// A word in one instruction, whatever the compiler knows of the size.
void copy_bytes(void* to, const void* from, std::uint64_t bytes) noexcept {
  if (bytes == sizeof(std::uint64_t)) {
    std::memcpy(to, from, sizeof(std::uint64_t));
  } else {
    std::memcpy(to, from, bytes);
  }
}

Window& of(neon_window* window) noexcept { return *reinterpret_cast<Window*>(window); }

// An operation or an epoch of a window; it throws only when memory is short.
template <class Call>
neon_status guarded(neon_window* window, Call call) noexcept try {
  return to_c(call(of(window)));
} catch (const std::exception&) {
  return NEON_NO_MEMORY;
}

}  // namespace

extern "C" {

neon_runs* neon_runs_new(void) { return new (std::nothrow) neon_runs; }
void neon_runs_free(neon_runs* runs) { delete runs; }
bool neon_runs_add(neon_runs* runs, int64_t offset, uint64_t length) try {
  lfc::append_piece(runs->runs, {offset, length});
  return true;
} catch (const std::exception&) {
  return false;
}
const neon_run* neon_runs_data(const neon_runs* runs, size_t* count) {
  *count = runs->runs.size();
  return reinterpret_cast<const neon_run*>(runs->runs.data());
}

bool neon_open(const neon_host* from) try {
  if (windows != nullptr) return true;
  host = *from;
  windows = lfc::Windows::of_process({host.progress, [](void* request, WindowStatus status) {
                                        host.finished(request, to_c(status));
                                      }});
  return windows != nullptr;
} catch (const std::exception&) {
  return false;
}

void neon_close(void) { windows.reset(); }

int neon_serve(void) { return windows == nullptr ? 0 : windows->serve_host(); }

uint32_t neon_find_peer(uint32_t job, uint32_t rank) {
  const lfc::Ni::Access access(windows->ni());
  return windows->ni().find_peer({job, rank});
}

uint32_t neon_add_peer(const void* address, size_t size, char* why, size_t why_size) try {
  const auto parsed = lfc::Address::parse({static_cast<const std::byte*>(address), size});
  std::string why_not = "its address is malformed";
  if (parsed) {
    why_not.clear();
    const lfc::PeerId peer = windows->ni().add_peer(*parsed, why_not);
    if (peer != lfc::kNoPeer) return peer;
  }
  std::snprintf(why, why_size, "%s", why_not.c_str());
  return NEON_NO_PEER;
} catch (const std::exception& failure) {
  std::snprintf(why, why_size, "%s", failure.what());
  return NEON_NO_PEER;
}

neon_segment* neon_segment_create(size_t size) try {
  auto memory = lfc::SharedMemory::create(size);
  return memory ? new neon_segment{std::move(*memory)} : nullptr;
} catch (const std::exception&) {
  return nullptr;
}

neon_segment* neon_segment_open(const void* name) try {
  lfc::SharedMemoryName copy;
  std::memcpy(&copy, name, sizeof copy);
  auto memory = lfc::SharedMemory::open(copy);
  return memory ? new neon_segment{std::move(*memory)} : nullptr;
} catch (const std::exception&) {
  return nullptr;
}

const void* neon_segment_name(const neon_segment* segment) { return &segment->memory.name(); }
size_t neon_segment_name_size(void) { return sizeof(lfc::SharedMemoryName); }
void neon_segment_free(neon_segment* segment) { delete segment; }
size_t neon_control_size(void) { return (sizeof(lfc::WindowControl) + 63) / 64 * 64; }

neon_window* neon_window_create(const neon_shape* from) try {
  Window::Shape shape;
  shape.flavor = static_cast<lfc::Flavor>(from->flavor);
  shape.base = from->base;
  shape.size = from->size;
  shape.displacement_unit = from->displacement_unit;
  shape.rank = from->rank;
  shape.ranks = from->ranks;
  shape.control_offset = from->control_offset;
  shape.memory_offset = from->memory_offset;
  if (from->segment != nullptr) shape.segment = std::move(from->segment->memory);
  return reinterpret_cast<neon_window*>(windows->create(std::move(shape)).release());
} catch (const std::exception&) {
  return nullptr;
}

void neon_window_free(neon_window* window) { delete &of(window); }
void* neon_window_memory(neon_window* window) { return of(window).memory(); }
size_t neon_facts_size(void) { return sizeof(WindowFacts); }
const void* neon_window_facts(neon_window* window) { return &of(window).facts(); }

bool neon_window_connect(neon_window* window, const void* facts, const uint32_t* peers,
                         const bool* neighbours) {
  const std::uint32_t ranks = of(window).ranks();
  return of(window).connect({static_cast<const WindowFacts*>(facts), ranks}, {peers, ranks},
                            {neighbours, ranks});
}

void neon_window_close_segment(neon_window* window) { of(window).close_segment(); }
bool neon_window_all_mapped(neon_window* window) { return of(window).all_mapped(); }

bool neon_window_query(neon_window* window, uint32_t rank, uint64_t* size, uint32_t* unit,
                       void** base) {
  const lfc::WindowPeer& peer = of(window).peer(rank);
  *size = peer.size;
  *unit = peer.displacement_unit;
  *base = peer.mapped;
  return peer.is_mapped();
}

uint32_t neon_window_unit(neon_window* window, uint32_t rank) {
  return of(window).peer(rank).displacement_unit;
}

uint64_t neon_window_address(neon_window* window, uint32_t rank) {
  return of(window).peer(rank).base;
}

neon_status neon_drain(neon_window* window) {
  return guarded(window, [](Window& w) { return w.drain(); });
}
neon_status neon_attach(neon_window* window, void* base, uint64_t size) {
  return guarded(window, [&](Window& w) { return w.attach(base, size); });
}
neon_status neon_detach(neon_window* window, const void* base) {
  return guarded(window, [&](Window& w) { return w.detach(base); });
}

bool neon_put_direct(neon_window* window, uint32_t target, const void* origin, uint64_t bytes,
                     int64_t displacement) {
  std::byte* const there = of(window).direct(target, displacement, bytes);
  if (there == nullptr) return of(window).put_at_once(target, origin, displacement, bytes);
  of(window).note_stores();
  copy_bytes(there, origin, bytes);
  return true;
}

bool neon_get_direct(neon_window* window, uint32_t target, void* result, uint64_t bytes,
                     int64_t displacement) {
  const std::byte* const there = of(window).direct(target, displacement, bytes);
  if (there == nullptr) return of(window).get_at_once(target, result, displacement, bytes);
  of(window).order_loads();
  copy_bytes(result, there, bytes);
  return true;
}

bool neon_fetch_direct(neon_window* window, uint32_t target, neon_op op, neon_element element,
                       const void* origin, void* result, size_t size, uint64_t count,
                       int64_t displacement) {
  if (element >= NEON_I16_I32 || !possible(op, element)) return false;
  std::byte* const there = of(window).direct(target, displacement, size * count);
  if (there == nullptr) return false;
  of(window).order_loads();
  lfc::accumulate(to_what(op, element), there, static_cast<const std::byte*>(origin),
                  static_cast<std::byte*>(result), count, of(window).elements(target, count));
  return true;
}

bool neon_compare_and_swap_direct(neon_window* window, uint32_t target, const void* compare,
                                  const void* value, void* result, size_t size,
                                  int64_t displacement) {
  std::byte* const there = of(window).direct(target, displacement, size);
  if (there == nullptr) return false;
  lfc::compare_and_swap(there, static_cast<const std::byte*>(compare),
                        static_cast<const std::byte*>(value), static_cast<std::byte*>(result), size,
                        of(window).elements(target, 1));
  return true;
}

neon_status neon_put(neon_window* window, uint32_t target, const neon_view* origin,
                     const neon_view* there, void* request) {
  return guarded(
      window, [&](Window& w) { return w.put(target, to_view(*origin), to_view(*there), request); });
}
neon_status neon_get(neon_window* window, uint32_t target, const neon_view* result,
                     const neon_view* there, void* request) {
  return guarded(
      window, [&](Window& w) { return w.get(target, to_view(*result), to_view(*there), request); });
}
neon_status neon_accumulate(neon_window* window, uint32_t target, neon_op op, neon_element element,
                            const neon_view* origin, const neon_view* there, void* request) {
  if (!possible(op, element)) return NEON_INVALID;
  return guarded(window, [&](Window& w) {
    return w.accumulate(target, to_what(op, element), to_view(*origin), to_view(*there), request);
  });
}
neon_status neon_fetch(neon_window* window, uint32_t target, neon_op op, neon_element element,
                       const neon_view* origin, const neon_view* result, const neon_view* there,
                       void* request) {
  if (!possible(op, element)) return NEON_INVALID;
  return guarded(window, [&](Window& w) {
    return w.fetch(target, to_what(op, element), to_view(*origin), to_view(*result),
                   to_view(*there), request);
  });
}
neon_status neon_compare_and_swap(neon_window* window, uint32_t target, const void* compare,
                                  const void* value, void* result, size_t size, int64_t offset) {
  return guarded(window, [&](Window& w) {
    return w.compare_and_swap(target, compare, value, result, size, offset);
  });
}

neon_status neon_fence_allowed(neon_window* window) {
  return guarded(window, [](Window& w) { return w.fence_allowed(); });
}
neon_status neon_fence_leave(neon_window* window, uint32_t* sent) {
  return guarded(window, [&](Window& w) { return w.fence_leave({sent, w.ranks()}); });
}
neon_status neon_fence_arrived(neon_window* window, uint32_t count) {
  return guarded(window, [&](Window& w) { return w.fence_arrived(count); });
}
void neon_fence_enter(neon_window* window, bool open) { of(window).fence_enter(open); }

neon_status neon_start(neon_window* window, const uint32_t* group, size_t count, bool no_check) {
  return guarded(window, [&](Window& w) { return w.start({group, count}, no_check); });
}
neon_status neon_complete(neon_window* window) {
  return guarded(window, [](Window& w) { return w.complete(); });
}
neon_status neon_post(neon_window* window, const uint32_t* group, size_t count, bool no_check) {
  return guarded(window, [&](Window& w) { return w.post({group, count}, no_check); });
}
neon_status neon_wait(neon_window* window) {
  return guarded(window, [](Window& w) { return w.wait(); });
}
neon_status neon_test(neon_window* window, bool* flag) {
  return guarded(window, [&](Window& w) { return w.test(*flag); });
}
neon_status neon_lock(neon_window* window, uint32_t target, bool exclusive, bool no_check) {
  return guarded(window, [&](Window& w) { return w.lock(target, exclusive, no_check); });
}
neon_status neon_unlock(neon_window* window, uint32_t target) {
  return guarded(window, [&](Window& w) { return w.unlock(target); });
}
neon_status neon_lock_all(neon_window* window, bool no_check) {
  return guarded(window, [&](Window& w) { return w.lock_all(no_check); });
}
neon_status neon_unlock_all(neon_window* window) {
  return guarded(window, [](Window& w) { return w.unlock_all(); });
}
neon_status neon_flush(neon_window* window, uint32_t target) {
  if (of(window).flushed_at_once(target)) return NEON_OK;
  return guarded(window, [&](Window& w) { return w.flush(target); });
}
neon_status neon_flush_all(neon_window* window) {
  return guarded(window, [](Window& w) { return w.flush_all(); });
}
neon_status neon_flush_local(neon_window* window, uint32_t target) {
  if (of(window).flushed_at_once(target)) return NEON_OK;
  return guarded(window, [&](Window& w) { return w.flush_local(target); });
}
neon_status neon_flush_local_all(neon_window* window) {
  return guarded(window, [](Window& w) { return w.flush_local_all(); });
}

}  // extern "C"
