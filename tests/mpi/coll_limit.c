// More communicators and persistent requests at a time than a node has boards for. All can be used, and all ranks
// agree on those that LFC serves.
//
//   coll_limit [--communicators N] [--requests N]     N communicators (50), then N persistent requests (50)
#include "check.h"

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(call) MPIX_##call##_init
#else
#define INIT(call) MPI_##call##_init
#endif

static int sum_of(int number) { return ranks * number + ranks * (ranks - 1) / 2; }

// A blocking and a nonblocking call of each, the latter all at once.
static void communicators(int count) {
  MPI_Comm* comms = allocate((size_t)count * sizeof(MPI_Comm));
  MPI_Request* requests = allocate((size_t)count * sizeof(MPI_Request));
  int* sums = allocate((size_t)count * sizeof(int));
  int* values = allocate((size_t)count * sizeof(int));
  for (int i = 0; i < count; ++i) {
    doing("communicator %d", i);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    values[i] = i + me;
    MPI_Allreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, comms[i]);
    require(sums[i] == sum_of(i), "communicator %d: %d, not %d", i, sums[i], sum_of(i));
  }
  doing("all communicators at once");
  int64_t* sent = allocate((size_t)count * sizeof *sent);
  for (int i = 0; i < count; ++i) {
    sent[i] = me == i % ranks ? i : -1;
    MPI_Ibcast(&sent[i], 1, MPI_INT64_T, i % ranks, comms[i], &requests[i]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) {
    require(sent[i] == i, "communicator %d: %d at once", i, (int)sent[i]);
    MPI_Comm_free(&comms[i]);
  }
  free(sent);
  free(comms);
  free(requests);
  free(sums);
  free(values);
}

struct requests {
  MPI_Comm comm;
  int count, base;  // base: the sum of all ranks
  MPI_Request* made;
  int *values, *sums;
};

static struct requests make(MPI_Comm comm, int count) {
  struct requests all = {comm, count, 0, NULL, NULL, NULL};
  MPI_Allreduce(&me, &all.base, 1, MPI_INT, MPI_SUM, comm);
  all.made = allocate((size_t)count * sizeof(MPI_Request));
  all.values = allocate((size_t)count * sizeof(int));
  all.sums = allocate((size_t)count * sizeof(int));
  for (int i = 0; i < count; ++i) {
    doing("request %d", i);
    INIT(Allreduce)
    (&all.values[i], &all.sums[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &all.made[i]);
  }
  return all;
}

static void use(struct requests* all) {
  int size = 0;
  MPI_Comm_size(all->comm, &size);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < all->count; ++i) all->values[i] = round + i + me;
    doing("all requests at once, round %d", round);
    MPI_Startall(all->count, all->made);
    MPI_Waitall(all->count, all->made, MPI_STATUSES_IGNORE);
    for (int i = 0; i < all->count; ++i)
      require(all->sums[i] == size * (round + i) + all->base, "request %d: %d in round %d", i,
              all->sums[i], round);
  }
}

static void drop(struct requests* all) {
  for (int i = 0; i < all->count; ++i) MPI_Request_free(&all->made[i]);
  free(all->made);
  free(all->values);
  free(all->sums);
}

static void requests(int count) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  struct requests all = make(comm, count);
  use(&all);
  drop(&all);
  MPI_Comm_free(&comm);
}

// The node of rank 0 has no boards left, the others have.
static void uneven(int count) {
  MPI_Comm node;
  int first = -1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Allreduce(&me, &first, 1, MPI_INT, MPI_MIN, node);
  struct requests here = make(node, first == 0 ? count : 1);
  struct requests all = make(MPI_COMM_WORLD, 10);
  use(&all);
  use(&here);
  drop(&here);
  use(&all);
  drop(&all);
  MPI_Comm_free(&node);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  communicators((int)option(argc, argv, "--communicators", 50));
  const int of_requests = (int)option(argc, argv, "--requests", 50);
  requests(of_requests);
  uneven(of_requests);
  communicators(50);
  return check_end();
}
