// The objects of all ranks of the matrix: communicators, windows, notes, an ordered broadcast. For matrix.c alone.
#ifndef LFC_TESTS_PROGRESS_MATRIX_WORLD_H
#define LFC_TESTS_PROGRESS_MATRIX_WORLD_H

#include "check.h"

#include <lfc_ordered.h>
#include <mpix_neon.h>

enum { kActor, kWaiter, kReleaser, kRanks };
enum { kOps = 5, kFlood = 300, kWords = 1024, kLarge = 1 << 18, kWordBytes = 8 };
enum { kGoTag = 1, kEnterTag, kReleaseTag, kTrafficTag, kSeenTag };
enum { kNeonTag = 9, kReleaseNeonTag = 5 };

static MPI_Comm pair;                         // of waiter 0 and releaser 1; null at the actor
static MPI_Comm ring;                         // the same two, as neighbours
static MPI_Comm broadcast;                    // of all
static MPI_Win created, allocated, lockable;  // of all: where the actor works
static MPI_Win flags, notes, locks;           // of all: where the waiter waits
static MPI_Win epochs, freed;                 // of the pair
static MPI_Group self_of_pair[2];
static int64_t *memory, *flag_memory;
static lfc_ordered* order;
static int released;  // by an ordered message
static MPI_Request announced, persistent;

static void handle(void* context, int sender, uint64_t number, const void* data, size_t size) {
  (void)context, (void)number, (void)data;
  if (sender == kReleaser && size == 1) released = 1;
}

static void set_up(void) {
  const MPI_Aint bytes = kWords * kWordBytes;
  memory = allocate((size_t)bytes * 3);
  memset(memory, 0, (size_t)bytes * 3);
  MPI_Comm_split(MPI_COMM_WORLD, me == kActor || me >= kRanks ? MPI_UNDEFINED : 0, me, &pair);
  MPI_Comm_dup(MPI_COMM_WORLD, &broadcast);
  void* own;
  MPI_Win_create(memory, bytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
  MPI_Win_allocate(bytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &allocated);
  MPI_Win_create(memory + kWords, bytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD, &lockable);
  MPI_Win_create(memory + 2 * kWords, kWordBytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD,
                 &locks);
  flag_memory = allocate(kWordBytes);
  flag_memory[0] = 0;
  MPI_Win_create(flag_memory, kWordBytes, kWordBytes, MPI_INFO_NULL, MPI_COMM_WORLD, &flags);
  MPI_Win_allocate(kWordBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &notes);
  MPI_Win_lock_all(0, created);
  MPI_Win_lock_all(0, allocated);
  MPI_Win_lock_all(0, flags);
  MPIX_Win_set_num_notify(notes, MPI_INFO_NULL, 1);
  if (me == kWaiter) {
    const int actor = kActor, releaser = kReleaser;
    MPIX_Neon_announce_init(0, 4, 1, &actor, kNeonTag, MPIX_NEON_PERSISTENT, notes, &persistent);
    MPI_Start(&persistent);
    MPIX_Neon_announce_init(4, 4, 1, &releaser, kReleaseNeonTag, 0, notes, &announced);
  }
  if (pair != MPI_COMM_NULL) {
    MPI_Cart_create(pair, 1, &(int){2}, &(int){0}, 0, &ring);
    MPI_Group both;
    MPI_Comm_group(pair, &both);
    for (int i = 0; i < 2; ++i) MPI_Group_incl(both, 1, &i, &self_of_pair[i]);
    MPI_Group_free(&both);
    MPI_Win_create(memory + 2 * kWords + 1, kWordBytes, kWordBytes, MPI_INFO_NULL, pair, &epochs);
  }
  const struct lfc_ordered_options options = {.packet = 64, .window = 16};
  const int error = lfc_ordered_open(MPI_COMM_WORLD, handle, NULL, &options, &order);
  require(error == LFC_ORDERED_OK, "ordered broadcast: %s", lfc_ordered_error(error));
}

static void tear_down(void) {
  doing("the end");
  lfc_ordered_close(&order);
  if (me == kWaiter) {
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent);
    MPI_Request_free(&announced);
  }
  MPI_Win_unlock_all(created);
  MPI_Win_unlock_all(allocated);
  MPI_Win_unlock_all(flags);
  MPI_Win* const all[] = {&created, &allocated, &lockable, &locks, &flags, &notes};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) MPI_Win_free(all[i]);
  if (pair != MPI_COMM_NULL) {
    MPI_Win_free(&epochs);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&pair);
    for (int i = 0; i < 2; ++i) MPI_Group_free(&self_of_pair[i]);
  }
  MPI_Comm_free(&broadcast);
  free(flag_memory);
  free(memory);
}

#endif
