#include "communicator_names.h"

#include <stdlib.h>

#include "communicator_key.h"

#include "ompi/group/group.h"

struct name {
  const ompi_communicator_t* comm; /* NULL: none has this number */
  uint64_t name;
};
struct members {
  uint64_t digest;
  uint64_t communicators; /* made of them so far */
};

/* A list of members beyond these takes the place of the oldest one, whose communicators are counted anew. */
enum { kMostLists = 4096 };

static struct {
  struct name* names; /* by Open MPI's number of the communicator */
  size_t count;
  struct members* members;
  size_t lists; /* that there were so far */
} name_table;

static uint64_t mixed(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

int lfc_world_rank(const ompi_communicator_t* comm, int rank) {
  if (rank < 0) return -1;
  const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);
  return name.jobid == OPAL_PROC_MY_NAME.jobid ? (int)name.vpid : -1;
}

static uint64_t digest_of(const ompi_communicator_t* comm) {
  const int size = ompi_comm_size((ompi_communicator_t*)(uintptr_t)comm);
  uint64_t digest = mixed(1, (uint64_t)size);
  for (int rank = 0; rank < size; ++rank)
    digest = mixed(digest, (uint64_t)(int64_t)lfc_world_rank(comm, rank));
  return digest;
}

/* How many communicators this process had of the same members, and counts one more. NULL: memory is short. */
static struct members* members_of(uint64_t digest) {
  const size_t count = name_table.lists < kMostLists ? name_table.lists : kMostLists;
  for (size_t i = 0; i < count; ++i)
    if (name_table.members[i].digest == digest) return &name_table.members[i];
  if (count < kMostLists) {
    struct members* const more = realloc(name_table.members, (count + 1) * sizeof *more);
    if (more == NULL) return NULL;
    name_table.members = more;
  }
  struct members* const place = &name_table.members[name_table.lists++ % kMostLists];
  *place = (struct members){.digest = digest};
  return place;
}

static struct name* place_of(const ompi_communicator_t* comm) {
  const size_t number = lfc_communicator_number(comm);
  if (number == LFC_NO_NUMBER) return NULL;
  if (number >= name_table.count) {
    const size_t count = number + 64;
    struct name* const more = realloc(name_table.names, count * sizeof *more);
    if (more == NULL) return NULL;
    for (size_t i = name_table.count; i < count; ++i) more[i].comm = NULL;
    name_table.names = more;
    name_table.count = count;
  }
  return &name_table.names[number];
}

void lfc_names_add(const ompi_communicator_t* comm) {
  struct name* const place = place_of(comm);
  if (place == NULL || place->comm == comm || OMPI_COMM_IS_INTER(comm)) return;
  const uint64_t digest = digest_of(comm);
  struct members* const members = members_of(digest);
  if (members == NULL) return;
  *place = (struct name){comm, mixed(digest, ++members->communicators)};
}

uint64_t lfc_name_of(const ompi_communicator_t* comm) {
  lfc_names_add(comm);
  const struct name* const place = place_of(comm);
  return place != NULL && place->comm == comm ? place->name : 0;
}

void lfc_names_drop(const ompi_communicator_t* comm) {
  struct name* const place = place_of(comm);
  if (place != NULL && place->comm == comm) place->comm = NULL;
}

void lfc_names_clear(void) {
  free(name_table.names);
  free(name_table.members);
  name_table.names = NULL;
  name_table.members = NULL;
  name_table.count = name_table.lists = 0;
}
