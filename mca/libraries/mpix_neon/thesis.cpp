// neon.h: the thesis' names, on NEON over MPI_COMM_WORLD without an MPI window.
#include <algorithm>
#include <climits>
#include <utility>

#include "calls.hpp"
#include "neon.h"

struct neon_memory {
  char* address;
  size_t size;
};

struct neon_job {
  MPI_Request request = MPI_REQUEST_NULL;
  bool is_post = false;
  bool complete = false;
};

namespace {

lfc::neon::Window* window = nullptr;  // the one and only

bool covers(neon_memhandle memory, const void* data, size_t size) {
  const char* begin = static_cast<const char*>(data);
  return memory != nullptr && begin >= memory->address &&
         size <=
             memory->size - std::min(memory->size, static_cast<size_t>(begin - memory->address));
}

neon_handle failed(neon_status* status, int error) {
  if (status != nullptr) *status = -error;
  return nullptr;
}

// Returns the state of the job now.
int look(neon_job& job) {
  int done = job.complete ? 1 : 0;
  int error = MPI_SUCCESS;
  if (done == 0) {
    // MPI would deactivate a completed request, so a post is only queried.
    error = MPI_Test(&job.request, &done, MPI_STATUS_IGNORE);
    job.complete = done != 0;
  }
  return error != MPI_SUCCESS ? -error : done != 0 ? NEON_COMPLETE : NEON_PENDING;
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
  auto* job = new neon_job;
  const int error = call(count, type, &job->request);
  MPI_Type_free(&type);
  if (error != MPI_SUCCESS) {
    delete job;
    return failed(status, error);
  }
  const int state = look(*job);
  if (status != nullptr) *status = state;
  return job;
}

// A put or get is over with its completion; a post stays.
int finish(neon_job* job, int state) {
  if (state != NEON_PENDING && !job->is_post) delete job;
  return state;
}

}  // namespace

int NEON_Init(void) {
  return window != nullptr ? NEON_COMPLETE : -lfc::neon::Window::open(MPI_COMM_WORLD, window);
}

int NEON_Finalize(void) {
  if (window != nullptr) std::exchange(window, nullptr)->close();
  return NEON_COMPLETE;
}

// The window at large needs no preparation, and a native endpoint registers what is announced.
neon_memhandle NEON_Register(void* address, size_t size, int) {
  return window == nullptr ? nullptr : new neon_memory{static_cast<char*>(address), size};
}

int NEON_Unregister(neon_memhandle memory) {
  delete memory;
  return NEON_COMPLETE;
}

neon_handle NEON_Post(void* address, size_t size, int num_ranks, const int* list_of_ranks, int tag,
                      neon_memhandle memory, neon_status* status) {
  if (window == nullptr) return failed(status, MPI_ERR_WIN);
  if (!covers(memory, address, size)) return failed(status, MPI_ERR_RMA_RANGE);
  auto* job = new neon_job;
  job->is_post = true;
  int error = lfc::neon::announce_init(*window, static_cast<std::byte*>(address),
                                       static_cast<MPI_Aint>(size), num_ranks, list_of_ranks, tag,
                                       0, &job->request);
  if (error == MPI_SUCCESS) {
    const int state = NEON_Repost(job, status);
    if (state == NEON_COMPLETE) return job;
    MPI_Request_free(&job->request);
    error = -state;
  }
  delete job;
  return failed(status, error);
}

int NEON_Repost(neon_handle post, neon_status* status) {
  if (post == nullptr || !post->is_post || post->request == MPI_REQUEST_NULL)
    return -MPI_ERR_REQUEST;
  const int error = lfc_request_start(&post->request);
  if (error == MPI_SUCCESS) post->complete = false;
  const int state = error != MPI_SUCCESS ? -error : look(*post);
  if (status != nullptr) *status = state;
  return -error;
}

int NEON_Unpost(neon_handle post) {
  if (post == nullptr || !post->is_post) return -MPI_ERR_REQUEST;
  const int error =
      post->request != MPI_REQUEST_NULL ? MPI_Request_free(&post->request) : MPI_SUCCESS;
  delete post;
  return -error;
}

neon_handle NEON_Put(const void* buffer, size_t size, int dest_rank, int tag, size_t offset,
                     int flags, neon_memhandle memory, neon_status* status) {
  return start(buffer, size, memory, status, [&](int count, MPI_Datatype type, MPI_Request* job) {
    return lfc::neon::put(*window, buffer, count, type, dest_rank, tag,
                          static_cast<MPI_Aint>(offset), count, type, flags, job);
  });
}

neon_handle NEON_Get(void* buffer, size_t size, int source_rank, int tag, size_t offset, int,
                     neon_memhandle memory, neon_status* status) {
  return start(buffer, size, memory, status, [&](int count, MPI_Datatype type, MPI_Request* job) {
    return lfc::neon::get(*window, buffer, count, type, source_rank, tag,
                          static_cast<MPI_Aint>(offset), count, type, job);
  });
}

int NEON_Wait(neon_handle handle, neon_flag_t) {
  if (handle == nullptr) return -MPI_ERR_REQUEST;
  int error = MPI_SUCCESS;
  if (!handle->complete) error = MPI_Wait(&handle->request, MPI_STATUS_IGNORE);
  handle->complete = true;
  return finish(handle, -error);
}

int NEON_Test(neon_handle handle, neon_flag_t) {
  if (handle == nullptr) return -MPI_ERR_REQUEST;
  return finish(handle, look(*handle));
}
