#include "lfc/windows.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "c_api/process_state.hpp"
#include "engine/ni.hpp"
#include "services/windows/notified_access.hpp"
#include "services/windows/window_service.hpp"

// Only a name: the pointer is one to an lfc::Window.
struct lfc_rma_window;
struct lfc_rma_segment {
  lfc::SharedMemory memory;
};
struct lfc_rma_runs {
  std::vector<lfc::Run> runs;
};

namespace {

using lfc::View;
using lfc::Window;
using lfc::WindowFacts;
using lfc::WindowStatus;

static_assert(sizeof(lfc_rma_run) == sizeof(lfc::Run) &&
              offsetof(lfc_rma_run, repeat) == offsetof(lfc::Run, repeat));

lfc::ProcessState::Windows& state() noexcept { return lfc::process_state().windows; }

lfc_rma_status to_c(WindowStatus status) noexcept { return static_cast<lfc_rma_status>(status); }

View to_view(const lfc_rma_view& from) noexcept {
  return {static_cast<std::byte*>(from.base),
          from.offset,
          {reinterpret_cast<const lfc::Run*>(from.runs), from.run_count},
          from.extent,
          from.count,
          from.size};
}

lfc::Accumulation to_what(lfc_op op, lfc_element element) noexcept {
  return {static_cast<lfc::Accumulate>(op), static_cast<lfc::Element>(element)};
}

bool possible(lfc_op op, lfc_element element) noexcept {
  return lfc::is_valid(static_cast<lfc::Accumulate>(op), static_cast<lfc::Element>(element));
}

Window& of(lfc_rma_window* window) noexcept { return *reinterpret_cast<Window*>(window); }

// Calls an operation or an epoch of a window, which throws only if memory is short.
template <class Call>
lfc_rma_status guarded(lfc_rma_window* window, Call call) noexcept try {
  return to_c(call(of(window)));
} catch (const std::exception&) {
  return LFC_RMA_NO_MEMORY;
}

// Returns the segment that `make` returns; null: the reason is in `why`.
template <class Make>
lfc_rma_segment* segment_of(Make make, char* why, std::size_t why_size) noexcept try {
  std::string why_not;
  std::optional<lfc::SharedMemory> memory = make(why_not);
  if (memory) return new lfc_rma_segment{std::move(*memory)};
  std::snprintf(why, why_size, "%s", why_not.c_str());
  return nullptr;
} catch (const std::exception& failure) {
  std::snprintf(why, why_size, "%s", failure.what());
  return nullptr;
}

}  // namespace

extern "C" {

lfc_rma_runs* lfc_rma_runs_new(void) { return new (std::nothrow) lfc_rma_runs; }
void lfc_rma_runs_free(lfc_rma_runs* runs) { delete runs; }
bool lfc_rma_runs_add(lfc_rma_runs* runs, int64_t offset, uint64_t length) try {
  lfc::append_piece(runs->runs, {offset, length});
  return true;
} catch (const std::exception&) {
  return false;
}
const lfc_rma_run* lfc_rma_runs_data(const lfc_rma_runs* runs, size_t* count) {
  *count = runs->runs.size();
  return reinterpret_cast<const lfc_rma_run*>(runs->runs.data());
}

bool lfc_rma_open(const lfc_rma_host* from) try {
  const std::lock_guard guard(state().opening);
  return state().open([from](lfc::Ni& ni) {
    state().host = *from;
    const lfc::WindowHost callbacks{from->progress, [](void* request, WindowStatus status) {
                                      state().host.finished(request, to_c(status));
                                    }};
    return new lfc::WindowService(ni.services(), ni.remote(), ni.host(), callbacks);
  });
} catch (const std::exception&) {
  return false;
}

void lfc_rma_close(void) { state().close(); }

int lfc_rma_serve(void) {
  lfc::WindowService* const windows = state().service;
  return windows == nullptr ? 0 : windows->serve_host();
}

lfc_rma_segment* lfc_rma_segment_create(size_t size, char* why, size_t why_size) {
  return segment_of([&](std::string& why_not) { return lfc::SharedMemory::create(size, why_not); },
                    why, why_size);
}

lfc_rma_segment* lfc_rma_segment_open(const void* name, char* why, size_t why_size) {
  lfc::SharedMemoryName copy;
  std::memcpy(&copy, name, sizeof copy);
  return segment_of([&](std::string& why_not) { return lfc::SharedMemory::open(copy, why_not); },
                    why, why_size);
}

const void* lfc_rma_segment_name(const lfc_rma_segment* segment) { return &segment->memory.name(); }
size_t lfc_rma_segment_name_size(void) { return sizeof(lfc::SharedMemoryName); }
void lfc_rma_segment_free(lfc_rma_segment* segment) { delete segment; }
size_t lfc_rma_control_size(void) { return (sizeof(lfc::WindowControl) + 63) / 64 * 64; }

lfc_rma_window* lfc_rma_window_create(const lfc_rma_shape* from, char* why_unshared,
                                      size_t why_size) try {
  Window::Shape shape;
  shape.flavor = static_cast<lfc::Flavor>(from->flavor);
  shape.base = from->base;
  shape.size = from->size;
  shape.displacement_unit = from->displacement_unit;
  shape.rank = from->rank;
  shape.ranks = from->ranks;
  shape.control_offset = from->control_offset;
  shape.memory_offset = from->memory_offset;
  if (from->segment != nullptr) shape.own.segment = std::move(from->segment->memory);
  std::string why;
  std::unique_ptr<Window> window = state().service->create(std::move(shape), &why);
  std::snprintf(why_unshared, why_size, "%s", why.c_str());
  return reinterpret_cast<lfc_rma_window*>(window.release());
} catch (const std::exception&) {
  return nullptr;
}

void lfc_rma_window_free(lfc_rma_window* window) { delete &of(window); }
void* lfc_rma_window_memory(lfc_rma_window* window) { return of(window).memory(); }
size_t lfc_rma_facts_size(void) { return sizeof(WindowFacts); }
const void* lfc_rma_window_facts(lfc_rma_window* window) { return &of(window).facts(); }

lfc_rma_status lfc_rma_window_connect(lfc_rma_window* window, const void* facts,
                                      const uint32_t* peers, const bool* local_peers,
                                      bool* mapped) {
  return guarded(window, [&](Window& w) {
    const std::uint32_t ranks = w.ranks();
    *mapped = w.connect({static_cast<const WindowFacts*>(facts), ranks}, {peers, ranks},
                        {local_peers, ranks});
    return WindowStatus::ok;
  });
}

void lfc_rma_window_close_segment(lfc_rma_window* window) { of(window).close_segment(); }
bool lfc_rma_window_all_mapped(lfc_rma_window* window) { return of(window).all_mapped(); }

bool lfc_rma_window_query(lfc_rma_window* window, uint32_t rank, uint64_t* size, uint32_t* unit,
                          void** base) {
  const lfc::rma::OriginPeer& peer = of(window).peer(rank);
  *size = of(window).size(rank);
  *unit = of(window).displacement_unit(rank);
  *base = peer.mapped;
  return peer.reach.mapped;
}

bool lfc_rma_window_offset(lfc_rma_window* window, uint32_t rank, int64_t displacement,
                           int64_t* offset) {
  return of(window).offset_of(rank, displacement, *offset);
}

uint64_t lfc_rma_window_address(lfc_rma_window* window, uint32_t rank) {
  return of(window).address(rank);
}

bool lfc_rma_window_region(lfc_rma_window* window, uint32_t rank, lfc_region* region) {
  const lfc::RegionHandle handle = lfc::NotifiedAccess::region(of(window), rank);
  static_assert(sizeof handle == sizeof *region);
  std::memcpy(region, &handle, sizeof handle);
  return handle.size != 0;
}

lfc_rma_status lfc_rma_drain(lfc_rma_window* window) {
  return guarded(window, [](Window& w) { return w.drain(); });
}
lfc_rma_status lfc_rma_attach(lfc_rma_window* window, void* base, uint64_t size) {
  return guarded(window, [&](Window& w) { return w.attach(base, size); });
}
lfc_rma_status lfc_rma_detach(lfc_rma_window* window, const void* base) {
  return guarded(window, [&](Window& w) { return w.detach(base); });
}

lfc_rma_status lfc_rma_put_plain(lfc_rma_window* window, uint32_t target, const void* origin,
                                 uint64_t bytes, int64_t displacement) {
  return guarded(window,
                 [&](Window& w) { return w.put_plain(target, origin, bytes, displacement); });
}

lfc_rma_status lfc_rma_get_plain(lfc_rma_window* window, uint32_t target, void* result,
                                 uint64_t bytes, int64_t displacement) {
  return guarded(window,
                 [&](Window& w) { return w.get_plain(target, result, bytes, displacement); });
}

lfc_rma_status lfc_rma_accumulate_plain(lfc_rma_window* window, uint32_t target, lfc_op op,
                                        lfc_element element, const void* origin, void* result,
                                        size_t size, uint64_t count, int64_t displacement) {
  if (!possible(op, element)) return LFC_RMA_INVALID;
  return guarded(window, [&](Window& w) {
    return w.accumulate_plain(target, to_what(op, element), origin, result, size * count, count,
                              displacement);
  });
}

bool lfc_rma_accumulate_pairs(lfc_rma_window* window, uint32_t target, lfc_op op,
                              lfc_element element, const void* origin, size_t extent,
                              uint64_t count, int64_t displacement) {
  return possible(op, element) &&
         of(window).pairs_plain(target, to_what(op, element), origin, extent, count, displacement);
}

lfc_rma_status lfc_rma_compare_and_swap(lfc_rma_window* window, uint32_t target,
                                        const void* compare, const void* value, void* result,
                                        size_t size, int64_t displacement) {
  return guarded(window, [&](Window& w) {
    return w.swap_plain(target, compare, value, result, size, displacement);
  });
}

lfc_rma_status lfc_rma_put(lfc_rma_window* window, uint32_t target, const lfc_rma_view* origin,
                           const lfc_rma_view* there, void* request) {
  return guarded(
      window, [&](Window& w) { return w.put(target, to_view(*origin), to_view(*there), request); });
}
lfc_rma_status lfc_rma_get(lfc_rma_window* window, uint32_t target, const lfc_rma_view* result,
                           const lfc_rma_view* there, void* request) {
  return guarded(
      window, [&](Window& w) { return w.get(target, to_view(*result), to_view(*there), request); });
}
lfc_rma_status lfc_rma_accumulate(lfc_rma_window* window, uint32_t target, lfc_op op,
                                  lfc_element element, const lfc_rma_view* origin,
                                  const lfc_rma_view* there, void* request) {
  if (!possible(op, element)) return LFC_RMA_INVALID;
  return guarded(window, [&](Window& w) {
    return w.accumulate(target, to_what(op, element), to_view(*origin), to_view(*there), request);
  });
}
lfc_rma_status lfc_rma_fetch(lfc_rma_window* window, uint32_t target, lfc_op op,
                             lfc_element element, const lfc_rma_view* origin,
                             const lfc_rma_view* result, const lfc_rma_view* there, void* request) {
  if (!possible(op, element)) return LFC_RMA_INVALID;
  return guarded(window, [&](Window& w) {
    return w.fetch(target, to_what(op, element), to_view(*origin), to_view(*result),
                   to_view(*there), request);
  });
}
bool lfc_rma_combine_notified(lfc_rma_window* window, uint32_t target, lfc_op op,
                              lfc_element element, const lfc_rma_view* origin,
                              const lfc_rma_view* result, const lfc_rma_view* there,
                              uint32_t counter, lfc_rma_status* status) {
  if (!possible(op, element)) return false;
  lfc::WindowCall call;
  call.kind = result != nullptr ? lfc::WindowCall::Kind::fetch : lfc::WindowCall::Kind::accumulate;
  call.what = to_what(op, element);
  call.target = target;
  if (op != LFC_OP_NO_OP) call.origin = to_view(*origin);
  if (result != nullptr) call.result = to_view(*result);
  call.there = to_view(*there);
  call.bytes = call.there.bytes();
  call.counter = counter;
  bool done = true;  // also if memory is short
  *status = guarded(window, [&](Window& w) {
    WindowStatus ended = WindowStatus::ok;
    done = lfc::NotifiedAccess::combine(w, call, ended);
    return ended;
  });
  return done;
}
void lfc_rma_count_notifications(lfc_rma_window* window,
                                 bool (*count)(void* context, uint64_t counter, uint64_t by),
                                 void* context) {
  lfc::NotifiedAccess::count_by(of(window), {count, context});
}

lfc_rma_status lfc_rma_fence_allowed(lfc_rma_window* window) {
  return guarded(window, [](Window& w) { return w.fence_allowed(); });
}
lfc_rma_status lfc_rma_fence_leave(lfc_rma_window* window, uint32_t* sent) {
  return guarded(window, [&](Window& w) { return w.fence_leave({sent, w.ranks()}); });
}
lfc_rma_status lfc_rma_fence_arrived(lfc_rma_window* window, uint32_t count) {
  return guarded(window, [&](Window& w) { return w.fence_arrived(count); });
}
void lfc_rma_fence_enter(lfc_rma_window* window, bool open) { of(window).fence_enter(open); }

lfc_rma_status lfc_rma_start(lfc_rma_window* window, const uint32_t* group, size_t count,
                             bool no_check) {
  return guarded(window, [&](Window& w) { return w.start({group, count}, no_check); });
}
lfc_rma_status lfc_rma_complete(lfc_rma_window* window) {
  return guarded(window, [](Window& w) { return w.complete(); });
}
lfc_rma_status lfc_rma_post(lfc_rma_window* window, const uint32_t* group, size_t count,
                            bool no_check) {
  return guarded(window, [&](Window& w) { return w.post({group, count}, no_check); });
}
lfc_rma_status lfc_rma_wait(lfc_rma_window* window) {
  return guarded(window, [](Window& w) { return w.wait(); });
}
lfc_rma_status lfc_rma_test(lfc_rma_window* window, bool* flag) {
  return guarded(window, [&](Window& w) { return w.test(*flag); });
}
lfc_rma_status lfc_rma_lock(lfc_rma_window* window, uint32_t target, bool exclusive,
                            bool no_check) {
  return guarded(window, [&](Window& w) { return w.lock(target, exclusive, no_check); });
}
lfc_rma_status lfc_rma_unlock(lfc_rma_window* window, uint32_t target) {
  return guarded(window, [&](Window& w) { return w.unlock(target); });
}
lfc_rma_status lfc_rma_lock_all(lfc_rma_window* window, bool no_check) {
  return guarded(window, [&](Window& w) { return w.lock_all(no_check); });
}
lfc_rma_status lfc_rma_unlock_all(lfc_rma_window* window) {
  return guarded(window, [](Window& w) { return w.unlock_all(); });
}
lfc_rma_status lfc_rma_flush(lfc_rma_window* window, uint32_t target) {
  if (of(window).flushed_at_once(target)) return LFC_RMA_OK;
  return guarded(window, [&](Window& w) { return w.flush(target); });
}
lfc_rma_status lfc_rma_flush_all(lfc_rma_window* window) {
  return guarded(window, [](Window& w) { return w.flush_all(); });
}
lfc_rma_status lfc_rma_flush_local(lfc_rma_window* window, uint32_t target) {
  if (of(window).flushed_at_once(target)) return LFC_RMA_OK;
  return guarded(window, [&](Window& w) { return w.flush_local(target); });
}
lfc_rma_status lfc_rma_flush_local_all(lfc_rma_window* window) {
  return guarded(window, [](Window& w) { return w.flush_local_all(); });
}

}  // extern "C"
