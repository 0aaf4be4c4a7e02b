// MPIX_*_notify: operations on the window at large that increment a counter at the target, and the counters.
#include <mutex>
#include <utility>
#include <vector>

#include "base/every_moment.hpp"
#include "calls.hpp"
#include "mpix_neon.h"

namespace lfc::neon {
namespace {

// Arguments of an operation, checked.
struct Access {
  Window* window = nullptr;
  DatatypePieces here, there;
  std::uint64_t offset = 0;  // of displacement `disp` in the target's window, bytes
};

int prepare(Access& access, const void* data, int count, MPI_Datatype type, int target,
            MPI_Aint disp, int target_count, MPI_Datatype target_type, int idx, MPI_Win win) {
  access.window = Window::find(win);
  if (access.window == nullptr) return MPI_ERR_WIN;
  // A name of memory that its owner does not check is not written to.
  if (access.window->extents().dynamic()) return MPI_ERR_UNSUPPORTED_OPERATION;
  const int error = check(*access.window, data, count, type, target, target_count, target_type);
  if (error != MPI_SUCCESS) return error;
  if (idx < 0 || static_cast<std::uint32_t>(idx) >= access.window->extents().own().slot_count)
    return MPI_ERR_ARG;
  access.here = DatatypePieces(type, count);
  access.there = DatatypePieces(target_type, target_count);
  if (access.here.bytes() != access.there.bytes()) return MPI_ERR_ARG;
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  const bool inside = access.window->extents().holds(
      static_cast<Rank>(target), disp, access.there.begin(), access.there.end(), access.offset);
  return inside ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}

// The short way, to memory that is mapped here. False: nothing was done, and the long way reports the error, if any.
bool put_mapped(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                int target_count, MPI_Datatype target_type, int idx, MPI_Win win) {
  Window* const window = Window::find(win);
  if (window == nullptr || window->extents().dynamic() || type == MPI_DATATYPE_NULL ||
      target_type == MPI_DATATYPE_NULL || count < 0 || target_count < 0 ||
      (origin == nullptr && count != 0) || !window->extents().has(target) || idx < 0 ||
      static_cast<std::uint32_t>(idx) >= window->extents().own().slot_count)
    return false;
  const std::int64_t bytes = lfc_contiguous_bytes(type, count);
  const bool alike = type == target_type && count == target_count;
  const auto rank = static_cast<Rank>(target);
  std::uint64_t offset = 0;
  if (bytes < 0 || (!alike && lfc_contiguous_bytes(target_type, target_count) != bytes) ||
      !window->extents().holds(rank, disp, 0, bytes, offset))
    return false;
  return window->endpoint().put_mapped(rank, offset, origin, static_cast<std::uint64_t>(bytes),
                                       static_cast<std::uint32_t>(idx));
}

// Copies a put of several pieces to memory that is mapped here. False: it is not mapped, and nothing was done.
bool put_mapped_pieces(const Access& access, const void* origin, int target, int idx) {
  Endpoint& endpoint = access.window->endpoint();
  std::byte* const place = endpoint.mapped(static_cast<Rank>(target), access.offset);
  if (place == nullptr) return false;
  const auto* data = static_cast<const std::byte*>(origin);
  std::vector<std::byte> packed;
  if (!access.here.contiguous()) {
    packed.resize(access.here.bytes());
    access.here.gather(packed.data(), data);
    data = packed.data();
  }
  access.there.scatter(place, data);
  endpoint.count_mapped(static_cast<Rank>(target), static_cast<std::uint32_t>(idx));
  return true;
}

int start_put(Access& access, const void* origin, int target, int idx, MPI_Request* request) {
  Window& window = *access.window;
  const std::ptrdiff_t begin = access.there.begin();
  std::vector<Run> runs;  // made before the lock, which stops the engine
  runs.reserve(access.there.pieces().size());
  for (const DatatypePieces::Piece& each : access.there.pieces())
    runs.push_back({static_cast<std::uint64_t>(each.offset - begin), each.size});
  if (runs.size() <= 1)
    window.endpoint().prepare_for_window(static_cast<Rank>(target), access.here.bytes());
  window.endpoint().lock();
  Job& job = *window.jobs().take(window);
  job.runs = std::move(runs);
  const Status status = window.endpoint().neon().origin().put_notify(
      job.add(), static_cast<Rank>(target), access.offset + static_cast<std::uint64_t>(begin),
      gathered(job, origin, access.here), access.here.bytes(), job.runs,
      static_cast<std::uint32_t>(idx), false);
  return job.begun(status, target, request);
}

int start_get(Access& access, void* origin, int target, int idx, MPI_Request* request) {
  Window& window = *access.window;
  const std::ptrdiff_t begin = access.there.begin();
  window.endpoint().lock();
  Job& job = *window.jobs().take(window);
  void* place = place_for(job, origin, access.here, access.there);
  const Status status = window.endpoint().neon().origin().get_notify(
      job.add(), static_cast<Rank>(target), access.offset + static_cast<std::uint64_t>(begin),
      place, static_cast<std::uint64_t>(access.there.end() - begin),
      static_cast<std::uint32_t>(idx));
  return job.begun(status, target, request);
}

int wait_for(MPI_Request request) {
  const bool done = request == MPI_REQUEST_NULL || request == lfc_request_finished();
  return done ? MPI_SUCCESS : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// A local peer's store is visible without progress, but other ranks may need progress.
void serve_others() {
  static EveryMoment moment;
  if (moment.has_passed()) lfc_progress();
}

// Progress now and then. An MPI error code, which has been reported.
template <class Condition>
int wait_for_slots(Window& window, Condition condition) {
  constexpr int kLooks = 100;
  constexpr unsigned kWatchPasses = 1 << 13;  // some milliseconds
  const int looks = window.endpoint().has_local_peers() ? kLooks : 1;
  serve_others();
  for (unsigned pass = 1;; ++pass) {
    for (int i = 0; i < looks; ++i)
      if (condition()) return MPI_SUCCESS;
    lfc_progress();
    if (pass % kWatchPasses == 0 && window.endpoint().member_lost())
      return condition() ? MPI_SUCCESS : window.fail(MPI_ERR_OTHER);
  }
}

// The caller's own counter; null: `error` has been reported.
Slot* own_slot(MPI_Win win, int idx, int& error) {
  Window* window = attached(win, error);
  if (window == nullptr) return nullptr;
  Slot* slot = idx < 0 ? nullptr : window->extents().own().slot(static_cast<std::uint32_t>(idx));
  if (slot == nullptr) error = window->fail(MPI_ERR_ARG);
  return slot;
}

int fail(MPI_Win win, int error) {
  if (error != MPI_SUCCESS) MPI_Win_call_errhandler(win, error);
  return error;
}

// Whether the arguments that prepare() has not checked are none that MPI reports.
bool is_usual(const lfc_neon_combination& call) {
  const bool reads_only = call.fetches && call.op == MPI_NO_OP;
  return call.op != MPI_OP_NULL && !(call.op == MPI_NO_OP && !call.fetches) &&
         (reads_only || (call.type != MPI_DATATYPE_NULL && call.count >= 0));
}

// An accumulate with its notification: in one frame if possible. Else the window's own accumulate, which has been done
// when the flush returns, and then the notification. An MPI error code, which has been reported.
int combine(Window& window, const lfc_neon_combination& call, int idx, MPI_Win win) {
  if (call.target == MPI_PROC_NULL) return MPI_SUCCESS;
  int error = MPI_SUCCESS;
  if (is_usual(call) &&
      window.endpoint().combine_notified(call, static_cast<std::uint32_t>(idx), error))
    return fail(win, error);
  error = call.fetches
              ? MPI_Get_accumulate(call.origin, call.count, call.type, call.result,
                                   call.result_count, call.result_type, call.target, call.disp,
                                   call.there_count, call.there_type, call.op, win)
              : MPI_Accumulate(call.origin, call.count, call.type, call.target, call.disp,
                               call.there_count, call.there_type, call.op, win);
  if (error == MPI_SUCCESS) error = MPI_Win_flush(call.target, win);
  if (error != MPI_SUCCESS) return error;
  return MPIX_Put_notify(nullptr, 0, MPI_BYTE, call.target, 0, 0, MPI_BYTE, idx, win);
}

// The long way of a put; an MPI error code, which has been reported.
int put_checked(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                int target_count, MPI_Datatype target_type, int idx, MPI_Win win,
                MPI_Request* request) {
  Access access;
  int error =
      prepare(access, origin, count, type, target, disp, target_count, target_type, idx, win);
  if (error == MPI_SUCCESS &&
      (target == MPI_PROC_NULL || put_mapped_pieces(access, origin, target, idx))) {
    *request = lfc_request_finished();
  } else if (error == MPI_SUCCESS) {
    error = start_put(access, origin, target, idx, request);
  }
  return fail(win, error);
}

}  // namespace
}  // namespace lfc::neon

using lfc::neon::Access;
using lfc::neon::combine;
using lfc::neon::fail;
using lfc::neon::own_slot;
using lfc::neon::prepare;
using lfc::neon::put_checked;
using lfc::neon::put_mapped;
using lfc::neon::Slot;
using lfc::neon::start_get;
using lfc::neon::Window;

int MPIX_Win_set_num_notify(MPI_Win win, MPI_Info, int count) {
  Window* window = nullptr;
  int error = Window::attach(win, window);
  if (error != MPI_SUCCESS) return fail(win, error);
  // Origins check indices against their own number, so all must have the same.
  int range[2] = {count, -count};
  MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, window->control());
  if (range[0] != -range[1] || count < 0) return fail(win, MPI_ERR_ARG);
  {
    const std::lock_guard guard(window->endpoint());
    window->extents().own().slot_count = 0;
  }
  Slot* slots = window->endpoint().make_slots(static_cast<std::uint32_t>(count));
  {
    const std::lock_guard guard(window->endpoint());
    window->extents().own().slots = slots;
    window->extents().own().slot_count = static_cast<std::uint32_t>(count);
  }
  MPI_Barrier(window->control());  // no rank notifies one that has no counters yet
  return MPI_SUCCESS;
}

int MPIX_Win_get_num_notify(MPI_Win win, int* count) {
  int error = MPI_SUCCESS;
  Window* window = lfc::neon::attached(win, error);
  if (window == nullptr) return error;
  *count = static_cast<int>(window->extents().own().slot_count);
  return MPI_SUCCESS;
}

int MPIX_Rput_notify(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                     int target_count, MPI_Datatype target_type, int idx, MPI_Win win,
                     MPI_Request* req) {
  if (put_mapped(origin, count, type, target, disp, target_count, target_type, idx, win)) {
    *req = lfc_request_finished();
    return MPI_SUCCESS;
  }
  return put_checked(origin, count, type, target, disp, target_count, target_type, idx, win, req);
}

int MPIX_Rget_notify(void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                     int target_count, MPI_Datatype target_type, int idx, MPI_Win win,
                     MPI_Request* req) {
  Access access;
  int error =
      prepare(access, origin, count, type, target, disp, target_count, target_type, idx, win);
  if (error == MPI_SUCCESS && target == MPI_PROC_NULL) {
    *req = lfc_request_finished();
  } else if (error == MPI_SUCCESS) {
    error = start_get(access, origin, target, idx, req);
  }
  return fail(win, error);
}

int MPIX_Put_notify(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                    int target_count, MPI_Datatype target_type, int idx, MPI_Win win) {
  if (put_mapped(origin, count, type, target, disp, target_count, target_type, idx, win))
    return MPI_SUCCESS;
  MPI_Request request = MPI_REQUEST_NULL;
  const int error =
      put_checked(origin, count, type, target, disp, target_count, target_type, idx, win, &request);
  return error != MPI_SUCCESS ? error : lfc::neon::wait_for(request);
}

int MPIX_Get_notify(void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                    int target_count, MPI_Datatype target_type, int idx, MPI_Win win) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = MPIX_Rget_notify(origin, count, type, target, disp, target_count, target_type,
                                     idx, win, &request);
  return error != MPI_SUCCESS ? error : lfc::neon::wait_for(request);
}

int MPIX_Accumulate_notify(const void* origin, int count, MPI_Datatype type, int target,
                           MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                           int idx, MPI_Win win) {
  Access access;
  const int error =
      prepare(access, origin, count, type, target, disp, target_count, target_type, idx, win);
  if (error != MPI_SUCCESS) return fail(win, error);
  return combine(*access.window,
                 {origin, count, type, false, nullptr, 0, MPI_BYTE, target, disp, target_count,
                  target_type, op},
                 idx, win);
}

int MPIX_Get_accumulate_notify(const void* origin, int count, MPI_Datatype type, void* result,
                               int result_count, MPI_Datatype result_type, int target,
                               MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                               int idx, MPI_Win win) {
  Access access;
  const int error = prepare(access, result, result_count, result_type, target, disp, target_count,
                            target_type, idx, win);
  if (error != MPI_SUCCESS) return fail(win, error);
  return combine(*access.window,
                 {origin, count, type, true, result, result_count, result_type, target, disp,
                  target_count, target_type, op},
                 idx, win);
}

int MPIX_Win_get_notify_value(MPI_Win win, int idx, uint64_t* value) {
  int error = MPI_SUCCESS;
  const Slot* slot = own_slot(win, idx, error);
  if (slot == nullptr) return error;
  lfc_progress();
  *value = slot->value();
  return MPI_SUCCESS;
}

int MPIX_Win_set_notify_value(MPI_Win win, int idx, uint64_t value) {
  int error = MPI_SUCCESS;
  Slot* slot = own_slot(win, idx, error);
  if (slot != nullptr) slot->exchange(value);
  return error;
}

int MPIX_Win_reset_notify_value(MPI_Win win, int idx, uint64_t* value) {
  int error = MPI_SUCCESS;
  Slot* slot = own_slot(win, idx, error);
  if (slot == nullptr) return error;
  lfc_progress();
  const std::uint64_t old = slot->exchange(0);
  if (value != nullptr) *value = old;
  return MPI_SUCCESS;
}

int MPIX_Win_test_notify(MPI_Win win, int idx, uint64_t expected, int* flag) {
  int error = MPI_SUCCESS;
  const Slot* slot = own_slot(win, idx, error);
  if (slot == nullptr) return error;
  if (slot->value() < expected) {
    lfc_progress();
  } else {
    lfc::neon::serve_others();
  }
  *flag = slot->value() >= expected ? 1 : 0;
  return MPI_SUCCESS;
}

int MPIX_Win_wait_notify(MPI_Win win, int idx, uint64_t expected) {
  int error = MPI_SUCCESS;
  const Slot* slot = own_slot(win, idx, error);
  if (slot == nullptr) return error;
  return lfc::neon::wait_for_slots(*Window::find(win), [&] { return slot->value() >= expected; });
}

int MPIX_Win_waitsome_notify(MPI_Win win, int first, int count, int* idx) {
  int error = MPI_SUCCESS;
  if (own_slot(win, first, error) == nullptr) return error;
  if (count < 1 || own_slot(win, first + count - 1, error) == nullptr)
    return error != MPI_SUCCESS ? error : fail(win, MPI_ERR_ARG);
  Window& window = *Window::find(win);
  const Slot* slots = window.extents().own().slots;
  return lfc::neon::wait_for_slots(window, [&] {
    for (*idx = first; *idx < first + count; ++*idx)
      if (slots[*idx].value() != 0) return true;
    return false;
  });
}
