// neon.h: the thesis' names, on NEON over MPI_COMM_WORLD without an MPI window.
#include <climits>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/lasting.hpp"
#include "calls.hpp"
#include "handles.hpp"
#include "neon.h"

struct neon_memory {
  char* address;
  size_t size;
};

struct neon_job {
  MPI_Request request = MPI_REQUEST_NULL;
  bool is_post = false;
  int state = NEON_PENDING;  // kept, because MPI deactivates a completed request
  // A strong wait for a put names it by these. No generation: it is no put.
  int target = MPI_PROC_NULL;
  int tag = 0;
  std::uint32_t generation = 0;
  MPI_Request confirmation = MPI_REQUEST_NULL;
};

namespace {

lfc::neon::Window* window = nullptr;  // the one and only
lfc::Lasting<lfc::neon::Handles<neon_job>> jobs;
lfc::Lasting<lfc::neon::Handles<neon_memory>> memories;

// Returns whether the bytes lie in the registered memory. No bytes need none.
bool covers(neon_memhandle handle, const void* data, size_t size) {
  if (handle == nullptr && size == 0) return true;
  const neon_memory* const memory = memories->find(handle);
  if (memory == nullptr) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto first = reinterpret_cast<std::uintptr_t>(memory->address);
  return begin >= first && begin - first <= memory->size && size <= memory->size - (begin - first);
}

neon_handle failed(neon_status* status, int error) {
  if (status != nullptr) *status = -error;
  return nullptr;
}

// Returns the state of the job now.
int look(neon_job& job) {
  if (job.state != NEON_PENDING) return job.state;
  int done = 0;
  const int error = MPI_Test(&job.request, &done, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS || done != 0) job.state = -error;
  return job.state;
}

// Returns whether the put, which is complete here, is in the target's buffer: NEON_COMPLETE, NEON_PENDING or an error.
int look_there(neon_job& put) {
  if (window == nullptr) return -MPI_ERR_WIN;
  if (put.confirmation == MPI_REQUEST_NULL) {
    const int error =
        lfc::neon::confirm(*window, put.target, put.tag, put.generation, &put.confirmation);
    if (error == MPI_ERR_RMA_CONFLICT) return NEON_PENDING;
    if (error != MPI_SUCCESS) return -error;
  }
  int done = 0;
  const int error = MPI_Test(&put.confirmation, &done, MPI_STATUS_IGNORE);
  return error != MPI_SUCCESS ? -error : done != 0 ? NEON_COMPLETE : NEON_PENDING;
}

// Returns the state of the job now, for a wait or test with these flags.
int look(neon_job& job, neon_flag_t flags) {
  const int state = look(job);
  const bool there = (flags & STRONG) != 0 && job.generation != 0;
  return state == NEON_COMPLETE && there ? look_there(job) : state;
}

// A single MPI count, or several of them.
int type_of(size_t size, int& count, MPI_Datatype& type) {
  constexpr size_t kPage = size_t{1} << 30;
  if (size <= INT_MAX) {
    count = static_cast<int>(size);
    return MPI_Type_dup(MPI_BYTE, &type);
  }
  const int pages = static_cast<int>(size / kPage);
  const int rest = static_cast<int>(size % kPage);
  MPI_Datatype parts[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
  const int lengths[2] = {pages, rest};
  const MPI_Aint offsets[2] = {0, static_cast<MPI_Aint>(size - static_cast<size_t>(rest))};
  MPI_Type_contiguous(static_cast<int>(kPage), MPI_BYTE, &parts[0]);
  MPI_Type_create_struct(2, lengths, offsets, parts, &type);
  MPI_Type_free(&parts[0]);
  count = 1;
  return MPI_Type_commit(&type);
}

template <class Call>
neon_handle start(const void* buffer, size_t size, neon_memhandle memory, neon_status* status,
                  Call call) {
  if (window == nullptr) return failed(status, MPI_ERR_WIN);
  if (!covers(memory, buffer, size)) return failed(status, MPI_ERR_RMA_RANGE);
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  type_of(size, count, type);
  neon_job begun;
  const int error = call(count, type, begun);
  MPI_Type_free(&type);
  if (error != MPI_SUCCESS) return failed(status, error);
  auto* job = new neon_job(begun);
  const int state = look(*job);
  if (status != nullptr) *status = state;
  return jobs->enter(job);
}

// Ends a put or get that is complete, or has failed; a post stays.
int finish(neon_handle handle, neon_job& job, int state) {
  if (state == NEON_PENDING || job.is_post) return state;
  if (job.confirmation != MPI_REQUEST_NULL) MPI_Request_free(&job.confirmation);
  jobs->end(handle);
  return state;
}

// Returns the post with this handle; null: it is none.
neon_job* find_post(neon_handle handle) {
  neon_job* const job = jobs->find(handle);
  return job != nullptr && job->is_post ? job : nullptr;
}

// Announces the buffer of a post (again): NEON_COMPLETE or an error.
int announce(neon_job& post, neon_status* status) {
  int error = MPI_ERR_REQUEST;  // the request has ended with an error
  if (post.request != MPI_REQUEST_NULL) error = lfc_request_start(&post.request);
  if (error == MPI_SUCCESS) post.state = NEON_PENDING;
  const int state = error != MPI_SUCCESS ? -error : look(post);
  if (status != nullptr) *status = state;
  return -error;
}

}  // namespace

int NEON_Init(void) {
  if (window != nullptr) return NEON_COMPLETE;
  if (lfc_has_world() == 0) return -MPI_ERR_COMM;
  return -lfc::neon::Window::open(MPI_COMM_WORLD, window);
}

int NEON_Finalize(void) {
  if (window != nullptr) std::exchange(window, nullptr)->close();
  return NEON_COMPLETE;
}

// The window at large needs no preparation, and a native endpoint registers what is announced.
neon_memhandle NEON_Register(void* address, size_t size, int flags) {
  const bool none = address == nullptr && size > 0;
  const bool wraps = size > PTRDIFF_MAX || reinterpret_cast<std::uintptr_t>(address) + size < size;
  if (window == nullptr || none || wraps || flags != 0) return nullptr;
  return memories->enter(new neon_memory{static_cast<char*>(address), size});
}

int NEON_Unregister(neon_memhandle memory) {
  if (memories->find(memory) == nullptr) return -MPI_ERR_ARG;
  memories->end(memory);
  return NEON_COMPLETE;
}

neon_handle NEON_Post(void* address, size_t size, int num_ranks, const int* list_of_ranks, int tag,
                      neon_memhandle memory, neon_status* status) {
  if (window == nullptr) return failed(status, MPI_ERR_WIN);
  if (!covers(memory, address, size)) return failed(status, MPI_ERR_RMA_RANGE);
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = lfc::neon::announce_init(*window, static_cast<std::byte*>(address),
                                             static_cast<MPI_Aint>(size), num_ranks, list_of_ranks,
                                             tag, 0, &request);
  if (error != MPI_SUCCESS) return failed(status, error);
  auto* post = new neon_job{request, true};
  const int state = announce(*post, status);
  if (state == NEON_COMPLETE) return jobs->enter(post);
  MPI_Request_free(&post->request);
  delete post;
  return nullptr;
}

int NEON_Repost(neon_handle post, neon_status* status) {
  neon_job* const job = find_post(post);
  if (window != nullptr && job != nullptr) return announce(*job, status);
  const int error = window == nullptr ? MPI_ERR_WIN : MPI_ERR_REQUEST;
  failed(status, error);
  return -error;
}

int NEON_Unpost(neon_handle post) {
  neon_job* const job = find_post(post);
  if (job == nullptr) return -MPI_ERR_REQUEST;
  int error = MPI_SUCCESS;
  if (job->request != MPI_REQUEST_NULL) error = MPI_Request_free(&job->request);
  jobs->end(post);
  return -error;
}

neon_handle NEON_Put(const void* buffer, size_t size, int dest_rank, int tag, size_t offset,
                     int flags, neon_memhandle memory, neon_status* status) {
  return start(buffer, size, memory, status, [&](int count, MPI_Datatype type, neon_job& job) {
    job.target = dest_rank;
    job.tag = tag;
    return lfc::neon::put(*window, buffer, count, type, dest_rank, tag,
                          static_cast<MPI_Aint>(offset), count, type, flags, &job.request,
                          &job.generation);
  });
}

neon_handle NEON_Get(void* buffer, size_t size, int source_rank, int tag, size_t offset, int flags,
                     neon_memhandle memory, neon_status* status) {
  return start(buffer, size, memory, status, [&](int count, MPI_Datatype type, neon_job& job) {
    return lfc::neon::get(*window, buffer, count, type, source_rank, tag,
                          static_cast<MPI_Aint>(offset), count, type, flags, &job.request);
  });
}

int NEON_Wait(neon_handle handle, neon_flag_t flags) {
  neon_job* const job = jobs->find(handle);
  if (job == nullptr) return -MPI_ERR_REQUEST;
  if ((flags & ~STRONG) != 0) return -MPI_ERR_ARG;
  if (job->state == NEON_PENDING) job->state = -MPI_Wait(&job->request, MPI_STATUS_IGNORE);
  int state = NEON_PENDING;
  lfc::neon::wait_until([&] { return (state = look(*job, flags)) != NEON_PENDING; });
  return finish(handle, *job, state);
}

int NEON_Test(neon_handle handle, neon_flag_t flags) {
  neon_job* const job = jobs->find(handle);
  if (job == nullptr) return -MPI_ERR_REQUEST;
  if ((flags & ~STRONG) != 0) return -MPI_ERR_ARG;
  return finish(handle, *job, look(*job, flags));
}
