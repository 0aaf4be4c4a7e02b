// MPIX_Neon_*: checks arguments, and turns calls into jobs.
#include <mutex>

#include "calls.hpp"
#include "mpix_neon.h"
#include "requests.hpp"

namespace lfc::neon {

Window* attached(MPI_Win win, int& error) {
  Window* window = Window::find(win);
  if (window != nullptr) return window;
  error = MPI_ERR_WIN;
  MPI_Win_call_errhandler(win, error);
  return nullptr;
}

int check(const Window& window, const void* data, int count, MPI_Datatype type, int target,
          int target_count, MPI_Datatype target_type) {
  if (count < 0 || target_count < 0) return MPI_ERR_COUNT;
  if (type == MPI_DATATYPE_NULL || target_type == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
  if (target != MPI_PROC_NULL && !window.extents().has(target)) return MPI_ERR_RANK;
  if (data == nullptr && count > 0) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_true_extent(type, &lower, &extent);
    if (lower == 0 && extent > 0) return MPI_ERR_BUFFER;  // else absolute addresses
  }
  return MPI_SUCCESS;
}

const std::byte* gathered(Job& job, const void* data, const DatatypePieces& pieces) {
  if (pieces.contiguous()) return static_cast<const std::byte*>(data);
  job.bytes.resize(pieces.bytes());
  pieces.gather(job.bytes.data(), static_cast<const std::byte*>(data));
  return job.bytes.data();
}

void* place_for(Job& job, void* data, const DatatypePieces& here, const DatatypePieces& there) {
  if (here.contiguous() && there.contiguous()) return data;
  job.spreads = true;
  job.result = static_cast<std::byte*>(data);
  job.source = there;
  job.destination = here;
  job.bytes.resize(static_cast<std::size_t>(there.end() - there.begin()));
  return job.bytes.data();
}

namespace {

int check(const DatatypePieces& here, const DatatypePieces& there, MPI_Aint offset) {
  if (here.bytes() != there.bytes()) return MPI_ERR_ARG;
  return offset + there.begin() >= 0 ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}

// Returns the generation of the next put.
std::uint32_t generation_of(const Stream* stream) {
  return stream != nullptr ? stream->generation : Stream{}.generation;
}

// Begins the puts of all pieces, of which the last is final if `final`; or of none, if one of them does not fit.
Status put_pieces(Job& job, Origin& neon, Rank to, std::uint32_t tag, MPI_Aint offset,
                  const std::byte* data, const DatatypePieces& there, bool final, bool strong) {
  if (there.contiguous())
    return neon.put(job.add(), to, tag, static_cast<std::uint64_t>(offset), data, there.bytes(),
                    final, strong);
  Status status = Status::ok;
  for (std::size_t i = 0; i < there.pieces().size() && status == Status::ok; ++i) {
    const DatatypePieces::Piece& piece = there.pieces()[i];
    const bool last = i + 1 == there.pieces().size();
    Operation& op = job.add();
    op.whole_end = static_cast<std::uint64_t>(offset + there.end());
    op.continues = i > 0;
    status = neon.put(op, to, tag, static_cast<std::uint64_t>(offset + piece.offset), data,
                      piece.size, final && last, strong);
    data += piece.size;
  }
  return status;
}

// The short way, into a mapped buffer. False: nothing was done, and the long way reports the error, if any.
bool put_mapped(Window& window, const void* data, int count, MPI_Datatype type, int target, int tag,
                MPI_Aint offset, int target_count, MPI_Datatype target_type, int flags) {
  if (type == MPI_DATATYPE_NULL || target_type == MPI_DATATYPE_NULL || (count | target_count) < 0 ||
      (data == nullptr && count > 0) || !window.extents().has(target) || (tag | offset) < 0 ||
      (flags & ~(MPIX_NEON_NON_FINAL | MPIX_NEON_STRONG)) != 0)
    return false;
  const std::int64_t bytes = lfc_contiguous_bytes(type, count);
  const bool alike = type == target_type && count == target_count;
  if (bytes < 0 || (!alike && lfc_contiguous_bytes(target_type, target_count) != bytes))
    return false;
  return window.endpoint().put_announced(
      static_cast<Rank>(target), static_cast<std::uint32_t>(tag),
      static_cast<std::uint64_t>(offset), data, static_cast<std::uint64_t>(bytes),
      (flags & MPIX_NEON_NON_FINAL) == 0, (flags & MPIX_NEON_STRONG) != 0);
}

}  // namespace

int announce_init(Window& window, std::byte* address, MPI_Aint size, int nranks, const int ranks[],
                  int tag, int flags, MPI_Request* ann) {
  if (nranks < 0 || (nranks > 0 && ranks == nullptr)) return MPI_ERR_ARG;
  if (tag < 0) return MPI_ERR_TAG;
  if (size < 0) return MPI_ERR_SIZE;
  auto* made = new Announced(window);
  made->address = address;
  made->size = static_cast<std::uint64_t>(size);
  made->tag = static_cast<std::uint32_t>(tag);
  made->persistent = (flags & MPIX_NEON_PERSISTENT) != 0;
  for (int i = 0; i < nranks; ++i) {
    if (ranks[i] == MPI_PROC_NULL) continue;
    if (!window.extents().has(ranks[i])) {
      delete made;
      return MPI_ERR_RANK;
    }
    made->origins.push_back(static_cast<Rank>(ranks[i]));
  }
  made->done = [](Announcement* self, Status how) {
    auto& announced = *static_cast<Announced*>(self);
    announced.outcome = how;
    announced.listed = true;
    announced.window.jobs().ended(announced);
  };
  window.endpoint().expose(*made);
  made->request = *ann = lfc_request_new(made, &Announced::hooks, 1, window.control());
  return MPI_SUCCESS;
}

int put(Window& window, const void* origin, int count, MPI_Datatype type, int target, int tag,
        MPI_Aint offset, int target_count, MPI_Datatype target_type, int flags,
        MPI_Request* request, std::uint32_t* generation) {
  int error = check(window, origin, count, type, target, target_count, target_type);
  if (error == MPI_SUCCESS && tag < 0) error = MPI_ERR_TAG;
  if ((flags & ~(MPIX_NEON_NON_FINAL | MPIX_NEON_STRONG)) != 0) error = MPI_ERR_ARG;
  if (error != MPI_SUCCESS) return error;
  if (target == MPI_PROC_NULL) {
    if (request != nullptr) *request = lfc_request_finished();
    return MPI_SUCCESS;
  }
  const DatatypePieces here(type, count);
  const DatatypePieces there(target_type, target_count);
  error = check(here, there, offset);
  if (error != MPI_SUCCESS) return error;
  window.endpoint().prepare(static_cast<Rank>(target), here.bytes());
  window.endpoint().lock();
  Job& job = *window.jobs().take(window);
  Origin& neon = window.endpoint().neon().origin();
  const auto to = static_cast<Rank>(target);
  const auto name = static_cast<std::uint32_t>(tag);
  if (generation != nullptr) *generation = generation_of(neon.find(to, name));
  const Status status =
      put_pieces(job, neon, to, name, offset, gathered(job, origin, here), there,
                 (flags & MPIX_NEON_NON_FINAL) == 0, (flags & MPIX_NEON_STRONG) != 0);
  return job.begun(status, target, request);
}

int get(Window& window, void* origin, int count, MPI_Datatype type, int target, int tag,
        MPI_Aint offset, int target_count, MPI_Datatype target_type, int flags,
        MPI_Request* request) {
  int error = check(window, origin, count, type, target, target_count, target_type);
  if (error == MPI_SUCCESS && tag < 0) error = MPI_ERR_TAG;
  if (error == MPI_SUCCESS && (flags & ~MPIX_NEON_NON_FINAL) != 0) error = MPI_ERR_ARG;
  if (request == nullptr) error = MPI_ERR_REQUEST;
  if (error != MPI_SUCCESS) return error;
  if (target == MPI_PROC_NULL) {
    *request = lfc_request_finished();
    return MPI_SUCCESS;
  }
  const DatatypePieces here(type, count);
  const DatatypePieces there(target_type, target_count);
  error = check(here, there, offset);
  if (error != MPI_SUCCESS) return error;
  window.endpoint().lock();
  Job& job = *window.jobs().take(window);
  void* place = place_for(job, origin, here, there);
  const Status status = window.endpoint().neon().origin().get(
      job.add(), static_cast<Rank>(target), static_cast<std::uint32_t>(tag),
      static_cast<std::uint64_t>(offset + there.begin()), place,
      static_cast<std::uint64_t>(there.end() - there.begin()), (flags & MPIX_NEON_NON_FINAL) == 0);
  return job.begun(status, target, request);
}

int confirm(Window& window, int target, int tag, std::uint32_t generation, MPI_Request* request) {
  window.endpoint().lock();
  Job& job = *window.jobs().take(window);
  const Status status = window.endpoint().neon().confirmer().begin(
      job.add(), static_cast<Rank>(target), static_cast<std::uint32_t>(tag), generation);
  return job.begun(status, target, request);
}

namespace {

int notify(Window& window, int target, int tag) {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (tag < 0) return MPI_ERR_TAG;
  if (!window.extents().has(target)) return MPI_ERR_RANK;
  window.endpoint().lock();
  Origin& neon = window.endpoint().neon().origin();
  if (neon.merge_notification(static_cast<Rank>(target), static_cast<std::uint32_t>(tag))) {
    window.endpoint().unlock();
    return MPI_SUCCESS;
  }
  Job& job = *window.jobs().take(window);
  const Status status = neon.put(job.add(), static_cast<Rank>(target),
                                 static_cast<std::uint32_t>(tag), 0, nullptr, 0, true, false);
  return job.begun(status, target, nullptr);
}

int complete(Window& window, int target) {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (target != MPIX_NEON_ALL && !window.extents().has(target)) return MPI_ERR_RANK;
  wait_until([&] {
    const std::lock_guard guard(window.endpoint());
    const Origin& neon = window.endpoint().neon().origin();
    if (target != MPIX_NEON_ALL) return neon.open(static_cast<Rank>(target)) == 0;
    for (Rank rank = 0; rank < window.extents().ranks(); ++rank)
      if (neon.open(rank) > 0) return false;
    return true;
  });
  window.deliver();
  const std::lock_guard guard(window.endpoint());
  return window.jobs().take_error();
}

}  // namespace
}  // namespace lfc::neon

using lfc::neon::Announced;
using lfc::neon::attached;
using lfc::neon::Window;

int MPIX_Neon_attach(MPI_Win win) {
  Window* window = nullptr;
  const int error = Window::attach(win, window);
  if (error != MPI_SUCCESS) MPI_Win_call_errhandler(win, error);
  return error;
}

int MPIX_Neon_query(MPI_Win win, int* level) {
  Window* window = Window::find(win);
  *level = window == nullptr ? MPIX_NEON_ABSENT : window->endpoint().level();
  return MPI_SUCCESS;
}

int MPIX_Neon_announce_init(MPI_Aint disp, MPI_Aint size, int nranks, const int ranks[], int tag,
                            int flags, MPI_Win win, MPI_Request* ann) {
  int error = MPI_SUCCESS;
  Window* window = attached(win, error);
  if (window == nullptr) return error;
  if (ann == nullptr || (flags & ~MPIX_NEON_PERSISTENT) != 0) return window->fail(MPI_ERR_ARG);
  std::byte* address = window->extents().place(disp, static_cast<std::uint64_t>(size));
  if (address == nullptr && size > 0) return window->fail(MPI_ERR_RMA_RANGE);
  return window->fail(
      lfc::neon::announce_init(*window, address, size, nranks, ranks, tag, flags, ann));
}

int MPIX_Neon_arrived(MPI_Request ann, int* count, int ranks[]) {
  auto* announced = static_cast<Announced*>(lfc_request_object(ann, &Announced::hooks));
  if (announced == nullptr || count == nullptr || announced->window.closed())
    return MPI_ERR_REQUEST;
  lfc_progress();
  const std::lock_guard guard(announced->window.endpoint());
  if (announced->persistent) {
    *count = static_cast<int>(announced->notifications);
    return MPI_SUCCESS;
  }
  *count = static_cast<int>(announced->notified.size());
  if (ranks != nullptr)
    for (int i = 0; i < *count; ++i)
      ranks[i] = static_cast<int>(announced->notified[static_cast<std::size_t>(i)]);
  return MPI_SUCCESS;
}

int MPIX_Neon_put(const void* origin, int count, MPI_Datatype type, int target, int tag,
                  MPI_Aint offset, int target_count, MPI_Datatype target_type, int flags,
                  MPI_Win win, MPI_Request* req) {
  int error = MPI_SUCCESS;
  Window* window = attached(win, error);
  if (window == nullptr) return error;
  if (lfc::neon::put_mapped(*window, origin, count, type, target, tag, offset, target_count,
                            target_type, flags)) {
    if (req != nullptr) *req = lfc_request_finished();
    return MPI_SUCCESS;
  }
  return window->fail(lfc::neon::put(*window, origin, count, type, target, tag, offset,
                                     target_count, target_type, flags, req));
}

int MPIX_Neon_notify(int target, int tag, MPI_Win win) {
  int error = MPI_SUCCESS;
  Window* window = attached(win, error);
  return window == nullptr ? error : window->fail(lfc::neon::notify(*window, target, tag));
}

int MPIX_Neon_get(void* origin, int count, MPI_Datatype type, int target, int tag, MPI_Aint offset,
                  int target_count, MPI_Datatype target_type, int flags, MPI_Win win,
                  MPI_Request* req) {
  int error = MPI_SUCCESS;
  Window* window = attached(win, error);
  if (window == nullptr) return error;
  return window->fail(lfc::neon::get(*window, origin, count, type, target, tag, offset,
                                     target_count, target_type, flags, req));
}

int MPIX_Neon_complete(int target, MPI_Win win) {
  int error = MPI_SUCCESS;
  Window* window = attached(win, error);
  return window == nullptr ? error : window->fail(lfc::neon::complete(*window, target));
}
