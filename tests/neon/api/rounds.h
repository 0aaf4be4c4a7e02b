// neon.h: each operation with each of its flags. Rank 1 is the origin, and rank 0 the target.
#pragma once
#include <neon.h>

#include "check.h"

enum { kBytes = 100000, kTag = 30 };
static unsigned char bytes[kBytes];

// Rank 0 has seen what the earlier operations of rank 1 have caused, and the other way round.
static void tell(int rank) { MPI_Send(NULL, 0, MPI_BYTE, rank, 1, MPI_COMM_WORLD); }
static void hear(int rank) {
  MPI_Recv(NULL, 0, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void finish(neon_handle handle, int flags, const char* what) {
  require(handle != NULL, "%s was refused", what);
  const int state = NEON_Wait(handle, flags);
  require(state == NEON_COMPLETE, "%s: %d", what, state);
}

// An operation that is not final does not end the wait of the announcing rank; one without flags does.
static void final_by_default(neon_memhandle memory, int gets, size_t size) {
  const int one = 1;
  neon_status status = 0;
  doing("%s of %zu bytes, not final and final", gets ? "gets" : "puts", size);
  if (me == 0) {
    fill(bytes, kBytes, key_of(0, 0, size));
    neon_handle post = NEON_Post(bytes, kBytes, 1, &one, kTag, memory, &status);
    require(post != NULL, "post: %d", status);
    hear(1);
    require(NEON_Test(post, 0) == NEON_PENDING, "NON_FINAL has notified");
    tell(1);
    finish(post, 0, "post");
    verify(bytes, size, gets ? key_of(0, 0, size) : key_of(1, 0, size), 1);
    require(NEON_Unpost(post) == 0, "unpost");
  } else if (me == 1) {
    for (int final = 0; final < 2; ++final) {
      const int flags = final ? 0 : NON_FINAL;
      if (gets) {
        memset(bytes, 0, size);
        finish(NEON_Get(bytes, size, 0, kTag, 0, flags, memory, &status), 0, "get");
        verify(bytes, size, key_of(0, 0, size), 0);
      } else {
        fill(bytes, size, key_of(1, 0, size));
        finish(NEON_Put(bytes, size, 0, kTag, 0, flags | STRONG, memory, &status), 0, "put");
      }
      if (final) continue;
      tell(0);
      hear(0);
    }
  }
}

// A strong wait ends when the target has announced the buffer and the data is in it; a weak one does not wait for that.
static void strong_waits(neon_memhandle memory, size_t size) {
  const int one = 1;
  neon_status status = 0;
  doing("strong wait for a put of %zu bytes", size);
  if (me == 0) {
    for (int i = 0; i < 20; ++i) {
      hear(1);
      tell(1);
    }
    neon_handle post = NEON_Post(bytes, kBytes, 1, &one, kTag, memory, &status);
    require(post != NULL, "post: %d", status);
    hear(1);  // the strong wait for the final put is over
    require(NEON_Test(post, STRONG) == NEON_COMPLETE, "confirmed, but not complete");
    verify(bytes, size, key_of(1, 0, size), 1);
    require(NEON_Repost(post, &status) == 0, "repost: %d", status);
    hear(1);  // that for a put that is not final
    verify(bytes, size, key_of(1, 0, size + 1), 1);
    require(NEON_Test(post, WEAK) == NEON_PENDING, "NON_FINAL has notified");
    tell(1);
    finish(post, STRONG, "post");
    require(NEON_Unpost(post) == 0, "unpost");
  } else if (me == 1) {
    fill(bytes, size, key_of(1, 0, size));
    finish(NEON_Put(bytes, 8, 0, kTag, 0, NON_FINAL, memory, &status), WEAK, "early put");
    neon_handle put = NEON_Put(bytes, size, 0, kTag, 0, 0, memory, &status);
    for (int i = 0; i < 20; ++i) {
      require(NEON_Test(put, STRONG) == NEON_PENDING, "complete before the announcement");
      tell(0);
      hear(0);
    }
    finish(put, STRONG, "put");
    tell(0);
    fill(bytes, size, key_of(1, 0, size + 1));
    finish(NEON_Put(bytes, size, 0, kTag, 0, NON_FINAL, memory, &status), STRONG, "put");
    tell(0);
    hear(0);
    finish(NEON_Put(bytes, 0, 0, kTag, 0, 0, memory, &status), STRONG, "notification");
  }
}

// A strong wait reports that its put was not written.
static void strong_errors(neon_memhandle memory) {
  const int one = 1;
  neon_status status = 0;
  doing("strong waits that fail");
  if (me == 0) {
    neon_handle post = NEON_Post(bytes, kBytes, 1, &one, kTag + 1, memory, &status);
    require(post != NULL && NEON_Unpost(post) == 0, "withdrawn: %d", status);
    tell(1);
    hear(1);
    post = NEON_Post(bytes, 64, 1, &one, kTag + 1, memory, &status);
    require(post != NULL, "post: %d", status);
    require(NEON_Wait(post, 0) == -MPI_ERR_RMA_RANGE, "beyond the buffer");
    require(NEON_Unpost(post) == 0, "unpost");
  } else if (me == 1) {
    hear(0);
    neon_handle put = NEON_Put(bytes, 8, 0, kTag + 1, 0, 0, memory, &status);
    require(NEON_Wait(put, STRONG) == -MPI_ERR_RMA_SYNC, "to a withdrawn buffer");
    put = NEON_Put(bytes, 8, 0, kTag + 1, 60, 0, memory, &status);
    require(NEON_Test(put, STRONG) == NEON_PENDING, "before the announcement");
    tell(0);
    require(NEON_Wait(put, STRONG) == -MPI_ERR_RMA_RANGE, "beyond the buffer");
    // A strong test that is not waited for.
    put = NEON_Put(bytes, 8, 0, kTag + 2, 0, 0, memory, &status);
    require(NEON_Test(put, STRONG) == NEON_PENDING, "never announced");
    require(NEON_Wait(put, WEAK) == NEON_COMPLETE, "weak after strong");
  }
}

// A buffer of no bytes, and a notification alone, need no memory.
static void notification_alone(void) {
  const int one = 1;
  neon_status status = 0;
  doing("a notification alone");
  if (me == 0) {
    neon_handle post = NEON_Post(NULL, 0, 1, &one, kTag + 3, NULL, &status);
    require(post != NULL, "post: %d", status);
    finish(post, 0, "post");
    require(NEON_Unpost(post) == 0, "unpost");
  } else if (me == 1) {
    finish(NEON_Put(NULL, 0, 0, kTag + 3, 0, 0, NULL, &status), STRONG, "notification");
  }
}

static void rounds(void) {
  static const size_t sizes[] = {8, 16000, kBytes};
  neon_memhandle memory = NEON_Register(bytes, kBytes, 0);
  require(memory != NULL, "register");
  for (int i = 0; i < 3; ++i) {
    final_by_default(memory, 0, sizes[i]);
    final_by_default(memory, 1, sizes[i]);
    strong_waits(memory, sizes[i]);
  }
  strong_errors(memory);
  notification_alone();
  require(NEON_Unregister(memory) == 0, "unregister");
}
