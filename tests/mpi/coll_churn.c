// Communicators are made, used by collectives, and freed again and again. A number of them exist at any time, and
// they overlap. Memory, mappings and descriptors of the process must not grow.
//
//   coll_churn [--rounds N] [--alive N]     prints "churn rank=R communicators=N rss_kib=A..B ..." before "ok"
#include "check.h"

#include "process.h"

enum { kMaxAlive = 1024, kBytes = 20000 };

static MPI_Comm alive[kMaxAlive];

static long resident_kib(void) { return resident_pages() * (sysconf(_SC_PAGESIZE) / 1024); }

// All ranks, halves, every second rank in reverse order, or all ranks but one.
static MPI_Comm make(int round) {
  MPI_Comm made = MPI_COMM_NULL;
  switch (round % 4) {
    case 0: MPI_Comm_dup(MPI_COMM_WORLD, &made); break;
    case 1: MPI_Comm_split(MPI_COMM_WORLD, me < (ranks + 1) / 2, me, &made); break;
    case 2: MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &made); break;
    default: MPI_Comm_split(MPI_COMM_WORLD, me == round / 4 % ranks ? MPI_UNDEFINED : 1, me, &made);
  }
  return made;
}

static void use(MPI_Comm comm, int round) {
  static unsigned char bytes[kBytes];
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int root = round % size;
  const size_t length = round % 8 == 7 ? kBytes : 40;
  doing("round %d: broadcast of %zu bytes, root %d of %d", round, length, root, size);
  if (rank == root) fill(bytes, length, key_of(root, 0, (uint64_t)round));
  MPI_Bcast(bytes, (int)length, MPI_BYTE, root, comm);
  verify(bytes, length, key_of(root, 0, (uint64_t)round), root);
  long sum = -1;
  const long mine = rank + round;
  doing("round %d: reductions", round);
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
  require(sum == (long)size * round + (long)size * (size - 1) / 2, "round %d: sum %ld", round, sum);
  MPI_Request request;
  sum = -1;
  MPI_Ireduce(&mine, &sum, 1, MPI_LONG, MPI_MAX, root, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(rank != root || sum == size - 1 + round, "round %d: maximum %ld", round, sum);
  if (round % 3 == 0) MPI_Barrier(comm);
}

int main(int argc, char** argv) {
  const int rounds =
      (int)option(argc, argv, "--rounds", has_option(argc, argv, "--long") ? 10000 : 1000);
  const int kept = (int)option(argc, argv, "--alive", 32);
  refuse_huge_pages();
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(kept >= 1 && kept <= kMaxAlive, "--alive must be from 1 to %d", kMaxAlive);
  const int warm = rounds / 4 > 4 * kept ? rounds / 4 : 4 * kept;
  long descriptors = 0, mappings = 0, kib = 0;
  for (int i = 0; i < kept; ++i) alive[i] = MPI_COMM_NULL;
  for (int i = 0; i < rounds + kept; ++i) {
    if (i == warm) {
      descriptors = count_entries("/proc/self/fd");
      mappings = count_lines("/proc/self/maps");
      kib = resident_kib();
    }
    MPI_Comm* const place = &alive[i % kept];
    doing("round %d: free", i);
    if (*place != MPI_COMM_NULL) MPI_Comm_free(place);
    doing("round %d: make", i);
    *place = i < rounds ? make(i) : MPI_COMM_NULL;
    MPI_Comm* const other = &alive[(i * 7 + 3) % kept];
    if (*place != MPI_COMM_NULL) use(*place, i);
    if (*other != MPI_COMM_NULL) use(*other, i);
  }
  const long kib_now = resident_kib();
  const long mappings_now = count_lines("/proc/self/maps");
  const long descriptors_now = count_entries("/proc/self/fd");
  printf("churn rank=%d communicators=%d rss_kib=%ld..%ld mappings=%ld..%ld descriptors=%ld..%ld\n",
         me, rounds, kib, kib_now, mappings, mappings_now, descriptors, descriptors_now);
  // A rank that has once waited for some milliseconds watches the processes of its peers, each by one descriptor,
  // from then on.
  require(descriptors_now <= descriptors + ranks - 1, "%ld descriptors became %ld", descriptors,
          descriptors_now);
  // The allocator may take an arena more; a leak would grow with the rounds.
  require(mappings_now - mappings < 20, "%ld mappings became %ld", mappings, mappings_now);
  require(kib_now - kib < 512 + (rounds - warm) / 20, "%ld KiB became %ld after %d communicators",
          kib, kib_now, rounds - warm);
  return check_end();
}
