// Communicators of a job in which one rank has little address space left (ulimit -v). All can be used: LFC serves a
// communicator if each rank has room for its board. The component below it serves the others.
#include "check.h"

#include <sys/resource.h>

enum { kCommunicators = 100, kRequests = 40, kUnit = 1 << 20 };
// LFC leaves 64 MiB to the program. The rest is enough for some of the communicators.
enum { kMore = 94 * kUnit };

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define ALLREDUCE_INIT MPIX_Allreduce_init
#else
#define ALLREDUCE_INIT MPI_Allreduce_init
#endif

// From now on this process gets so many more bytes of address space.
static void limit_addresses(uint64_t more) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  require(file != NULL && fscanf(file, "%ld", &pages) == 1, "cannot read /proc/self/statm");
  fclose(file);
  struct rlimit addresses;
  require(getrlimit(RLIMIT_AS, &addresses) == 0, "getrlimit");
  addresses.rlim_cur = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) + more;
  require(setrlimit(RLIMIT_AS, &addresses) == 0, "setrlimit");
}

// Bytes of LFC's shared memory in this process.
static uint64_t shared_bytes(void) {
  uint64_t bytes = 0;
  char line[512];
  FILE* file = fopen("/proc/self/maps", "r");
  require(file != NULL, "cannot read /proc/self/maps");
  while (fgets(line, sizeof line, file) != NULL) {
    unsigned long long from = 0, to = 0;
    if (strstr(line, "/memfd:lfc-") != NULL && sscanf(line, "%llx-%llx", &from, &to) == 2)
      bytes += to - from;
  }
  fclose(file);
  return bytes;
}

static void check_sum(MPI_Comm comm, int number) {
  const int value = number + me;
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  require(sum == ranks * number + ranks * (ranks - 1) / 2, "communicator %d: %d", number, sum);
}

static bool share_node(void) {
  MPI_Comm node;
  int size = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  return size == ranks;
}

static void communicators(void) {
  MPI_Comm comms[kCommunicators];
  for (int i = 0; i < kCommunicators; ++i) {
    doing("communicator %d", i);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    check_sum(comms[i], i);
    check_sum(comms[i], i + 1);
  }
  doing("all communicators again");
  for (int i = 0; i < kCommunicators; ++i) check_sum(comms[i], i);
  for (int i = 0; i < kCommunicators; ++i) MPI_Comm_free(&comms[i]);
}

static void requests(void) {
  MPI_Comm comm;
  MPI_Request made[kRequests];
  int sums[kRequests];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < kRequests; ++i) {
    doing("request %d", i);
    ALLREDUCE_INIT(&me, &sums[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &made[i]);
  }
  MPI_Startall(kRequests, made);
  MPI_Waitall(kRequests, made, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kRequests; ++i) {
    require(sums[i] == ranks * (ranks - 1) / 2, "request %d: %d", i, sums[i]);
    MPI_Request_free(&made[i]);
  }
  MPI_Comm_free(&comm);
}

static void neighbours(void) {
  MPI_Comm ring;
  const int periodic = 1;
  int beside[2] = {-1, -1};
  doing("neighbours");
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  MPI_Neighbor_allgather(&me, 1, MPI_INT, beside, 1, MPI_INT, ring);
  require(beside[0] == (me + ranks - 1) % ranks && beside[1] == (me + 1) % ranks,
          "neighbours %d and %d", beside[0], beside[1]);
  MPI_Comm_free(&ring);
}

int main(int argc, char** argv) {
  const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
  const bool limited = rank != NULL && strcmp(rank, "1") == 0;
  if (limited) limit_addresses((uint64_t)1 << 44);  // MPI_Init sees that there is a limit
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  if (limited) limit_addresses(kMore);
  const bool one_node = share_node();
  const uint64_t before = shared_bytes();
  communicators();
  if (one_node) require(shared_bytes() > before, "LFC has served none");
  requests();
  neighbours();
  communicators();
  return check_end();
}
