// neon.h: each invalid argument, handle and flag is an error, and nothing has happened.
#pragma once
#include <neon.h>

#include "check.h"

enum { kRoom = 64, kOwnTag = 20 };
static unsigned char room[kRoom];

// Requires that a call has failed with this error.
static void refused(neon_handle handle, const neon_status* status, int error, const char* what) {
  require(handle == NULL && *status == -error, "%s: handle %p, status %d", what, (void*)handle,
          *status);
}

static void before_init(void) {
  neon_status status = 0;
  doing("calls before NEON_Init");
  require(NEON_Register(room, kRoom, 0) == NULL, "register");
  refused(NEON_Post(room, 8, 0, NULL, 1, NULL, &status), &status, MPI_ERR_WIN, "post");
  refused(NEON_Put(room, 8, 0, 1, 0, 0, NULL, &status), &status, MPI_ERR_WIN, "put");
  refused(NEON_Get(room, 8, 0, 1, 0, 0, NULL, &status), &status, MPI_ERR_WIN, "get");
  require(NEON_Repost(NULL, &status) == -MPI_ERR_WIN && status == -MPI_ERR_WIN, "repost");
  require(NEON_Wait(NULL, 0) == -MPI_ERR_REQUEST, "wait");
}

static void invalid_memory(void) {
  doing("invalid memory");
  require(NEON_Register(NULL, 8, 0) == NULL, "memory at 0");
  require(NEON_Register(room, (size_t)-1, 0) == NULL, "more memory than there are addresses");
  require(NEON_Register(room, kRoom, 1) == NULL, "registered with a flag");
  require(NEON_Unregister(NULL) == -MPI_ERR_ARG, "unregister null");
  require(NEON_Unregister((neon_memhandle)(void*)room) == -MPI_ERR_ARG, "unregister a pointer");
  neon_memhandle memory = NEON_Register(room, kRoom, 0);
  require(memory != NULL && NEON_Unregister(memory) == 0, "register and unregister");
  require(NEON_Unregister(memory) == -MPI_ERR_ARG, "unregister twice");
  neon_status status = 0;
  refused(NEON_Put(room, 8, me, kOwnTag, 0, 0, memory, &status), &status, MPI_ERR_RMA_RANGE,
          "put from memory that is not registered any more");
}

static void invalid_posts(neon_memhandle memory) {
  neon_status status = 0;
  const int twice[2] = {me, me};
  const int beyond = ranks;
  const int below = -7;
  doing("invalid posts");
  refused(NEON_Post(room, 8, 1, &me, -1, memory, &status), &status, MPI_ERR_TAG, "tag -1");
  refused(NEON_Post(room, 8, -1, &me, kOwnTag, memory, &status), &status, MPI_ERR_ARG, "-1 ranks");
  refused(NEON_Post(room, 8, 1, NULL, kOwnTag, memory, &status), &status, MPI_ERR_ARG, "no list");
  refused(NEON_Post(room, 8, 1, &beyond, kOwnTag, memory, &status), &status, MPI_ERR_RANK, "rank");
  refused(NEON_Post(room, 8, 1, &below, kOwnTag, memory, &status), &status, MPI_ERR_RANK, "rank");
  refused(NEON_Post(room, 8, 2, twice, kOwnTag, memory, &status), &status, MPI_ERR_RANK, "twice");
  refused(NEON_Post(room, 8, 1, &me, kOwnTag, NULL, &status), &status, MPI_ERR_RMA_RANGE, "memory");
  refused(NEON_Post(room + 60, 8, 1, &me, kOwnTag, memory, &status), &status, MPI_ERR_RMA_RANGE,
          "beyond the memory");
  refused(NEON_Post(room, (size_t)-1, 1, &me, kOwnTag, memory, &status), &status, MPI_ERR_RMA_RANGE,
          "more than the memory");
}

static void invalid_transfers(neon_memhandle memory) {
  neon_status status = 0;
  doing("invalid puts and gets");
  refused(NEON_Put(room, 8, me, -1, 0, 0, memory, &status), &status, MPI_ERR_TAG, "put: tag");
  refused(NEON_Put(room, 8, ranks, 1, 0, 0, memory, &status), &status, MPI_ERR_RANK, "put: rank");
  refused(NEON_Put(room, 8, me, 1, 0, 8, memory, &status), &status, MPI_ERR_ARG, "put: flag");
  refused(NEON_Put(room, 65, me, 1, 0, 0, memory, &status), &status, MPI_ERR_RMA_RANGE,
          "put: size");
  refused(NEON_Put(room, 8, me, 1, (size_t)-8, 0, memory, &status), &status, MPI_ERR_RMA_RANGE,
          "put: offset");
  refused(NEON_Get(room, 8, me, -1, 0, 0, memory, &status), &status, MPI_ERR_TAG, "get: tag");
  refused(NEON_Get(room, 8, -3, 1, 0, 0, memory, &status), &status, MPI_ERR_RANK, "get: rank");
  refused(NEON_Get(room, 65, me, 1, 0, 0, memory, &status), &status, MPI_ERR_RMA_RANGE,
          "get: size");
  refused(NEON_Get(room, 8, me, 1, 0, 8, memory, &status), &status, MPI_ERR_ARG, "get: flag");
}

static void invalid_handles(neon_memhandle memory) {
  neon_status status = 0;
  neon_handle const pointer = (neon_handle)(void*)room;
  doing("invalid handles");
  // The refused posts have left the tag free, and the refused puts have sent nothing to it.
  neon_handle post = NEON_Post(room, 32, 1, &me, kOwnTag, memory, &status);
  require(post != NULL && status == NEON_PENDING, "post: %d", status);
  require(NEON_Test(post, 0) == NEON_PENDING, "nothing was put");
  neon_handle put = NEON_Put(room + 32, 32, me, kOwnTag, 0, 0, memory, &status);
  require(put != NULL, "put: %d", status);
  require(NEON_Wait(put, 8) == -MPI_ERR_ARG && NEON_Test(post, 8) == -MPI_ERR_ARG, "flags");
  require(NEON_Repost(put, &status) == -MPI_ERR_REQUEST, "repost of a put");
  require(NEON_Unpost(put) == -MPI_ERR_REQUEST, "unpost of a put");
  require(NEON_Repost(post, &status) == -MPI_ERR_REQUEST, "repost of an active post");
  require(NEON_Wait(put, 0) == 0 && NEON_Wait(post, 0) == 0, "wait");
  require(NEON_Wait(put, 0) == -MPI_ERR_REQUEST, "wait for an ended put");
  require(NEON_Test(put, 0) == -MPI_ERR_REQUEST, "test of an ended put");
  require(NEON_Unpost(post) == 0, "unpost");
  neon_handle const invalid[] = {NULL, pointer, post, put};
  for (int i = 0; i < 4; ++i) {
    require(NEON_Wait(invalid[i], 0) == -MPI_ERR_REQUEST, "wait for handle %d", i);
    require(NEON_Test(invalid[i], 0) == -MPI_ERR_REQUEST, "test of handle %d", i);
    require(NEON_Unpost(invalid[i]) == -MPI_ERR_REQUEST, "unpost of handle %d", i);
    status = 0;
    require(NEON_Repost(invalid[i], &status) == -MPI_ERR_REQUEST && status == -MPI_ERR_REQUEST,
            "repost of handle %d", i);
  }
}

static void invalid_arguments(void) {
  before_init();
  require(NEON_Init() == 0 && NEON_Init() == 0, "init");
  invalid_memory();
  neon_memhandle memory = NEON_Register(room, kRoom, 0);
  require(memory != NULL, "register");
  invalid_posts(memory);
  invalid_transfers(memory);
  invalid_handles(memory);
  require(NEON_Unregister(memory) == 0, "unregister");
}
