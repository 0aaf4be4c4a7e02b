// Communicators: a message stays in its communicator even if others use the same tags and ranks. Covers dup, split
// and free in loops, intercommunicators, several communicators with traffic at once, and a free while a message is
// under way.
#include "check.h"

// A ring of one message on a communicator; sizes alternate between eager and rendezvous.
static void ring(MPI_Comm comm, uint64_t number) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  enum { kLargest = 9000 };
  unsigned char out[kLargest], in[kLargest];
  const size_t bytes = number % 3 == 0 ? kLargest : 100 + number % 500;
  fill(out, bytes, key_of(rank, to, number));
  MPI_Sendrecv(out, (int)bytes, MPI_BYTE, to, 0, in, (int)bytes, MPI_BYTE, from, 0, comm,
               MPI_STATUS_IGNORE);
  verify(in, bytes, key_of(from, rank, number), from);
}

static void dup_and_split(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    doing("round %d: dup", round);
    MPI_Comm copy, part;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    doing("round %d: split", round);
    // Colours and keys change each round; a reversed key turns the ranks round.
    MPI_Comm_split(copy, (me + round) % (1 + round % 3), round % 2 ? -me : me, &part);
    doing("round %d: traffic", round);
    ring(copy, (uint64_t)round);
    ring(part, (uint64_t)round + 1);
    doing("round %d: free", round);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&part);
  }
}

static void undefined_and_group(void) {
  MPI_Comm part;
  doing("split with MPI_UNDEFINED");
  MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 1, me, &part);
  require((part == MPI_COMM_NULL) == (me == 0),
          "MPI_UNDEFINED gave a communicator, or a colour none");
  if (part != MPI_COMM_NULL) {
    ring(part, 7);
    MPI_Comm_free(&part);
  }
  MPI_Group world, some;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int range[1][3] = {{ranks - 1, 0, -1}};
  MPI_Group_range_incl(world, 1, range, &some);
  doing("create_group");
  MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &part);
  int rank;
  MPI_Comm_rank(part, &rank);
  require(rank == ranks - 1 - me, "reversed group: rank %d", rank);
  ring(part, 8);
  MPI_Comm_free(&part);
  MPI_Group_free(&some);
  MPI_Group_free(&world);
}

// The same tag and the same pair on many communicators; received in the opposite order.
static void many_at_once(void) {
  enum { kComms = 12, kSize = 3000 };
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  MPI_Comm comms[kComms];
  MPI_Request requests[kComms];
  unsigned char out[kComms][kSize], in[kSize];
  for (int i = 0; i < kComms; ++i) {
    doing("many at once: dup %d", i);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    fill(out[i], kSize, key_of(me, to, (uint64_t)i));
  }
  for (int i = 0; i < kComms; ++i)
    MPI_Isend(out[i], kSize, MPI_BYTE, to, 4, comms[i], &requests[i]);
  for (int i = kComms - 1; i >= 0; --i) {
    doing("many at once: receive on %d from %d", i, from);
    MPI_Recv(in, kSize, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE);
    verify(in, kSize, key_of(from, me, (uint64_t)i), from);
  }
  MPI_Waitall(kComms, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
}

// The user frees them while messages on them are not yet received: they still arrive.
static void freed_early(void) {
  enum { kSize = 50000 };
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  unsigned char* out = allocate(kSize);
  unsigned char* in = allocate(kSize);
  MPI_Comm comm;
  MPI_Request requests[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  fill(out, kSize, key_of(me, to, 99));
  MPI_Irecv(in, kSize, MPI_BYTE, from, 4, comm, &requests[0]);
  MPI_Isend(out, kSize, MPI_BYTE, to, 4, comm, &requests[1]);
  doing("freed early: wait");
  MPI_Comm_free(&comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  verify(in, kSize, key_of(from, me, 99), from);
  free(in);
  free(out);
}

static void intercommunicator(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm half, inter, merged;
    const int odd = me % 2;
    doing("inter round %d: create", round);
    MPI_Comm_split(MPI_COMM_WORLD, odd, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 12, &inter);
    int rank, others;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_remote_size(inter, &others);
    require(others == (odd ? (ranks + 1) / 2 : ranks / 2), "remote size %d", others);

    // All ranks send to all ranks of the other group.
    doing("inter round %d: traffic", round);
    MPI_Request* requests = allocate((size_t)others * 2 * sizeof *requests);
    int64_t* in = allocate((size_t)others * sizeof *in);
    int64_t* out = allocate((size_t)others * sizeof *out);
    for (int i = 0; i < others; ++i) {
      const int there = 2 * i + !odd;  // that process's world rank
      out[i] = (int64_t)(key_of(me, there, (uint64_t)round) >> 1);
      MPI_Irecv(&in[i], 1, MPI_INT64_T, i, 3, inter, &requests[i]);
      MPI_Isend(&out[i], 1, MPI_INT64_T, i, 3, inter, &requests[others + i]);
    }
    MPI_Waitall(2 * others, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < others; ++i) {
      const int there = 2 * i + !odd;
      require(in[i] == (int64_t)(key_of(there, me, (uint64_t)round) >> 1),
              "peer %d: wrong value over the intercommunicator", there);
    }
    int sum = 0;
    doing("inter round %d: allreduce", round);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inter);
    int expected = 0;
    for (int i = !odd; i < ranks; i += 2) expected += i;
    require(sum == expected, "intercommunicator allreduce: %d, not %d", sum, expected);

    doing("inter round %d: merge", round);
    MPI_Intercomm_merge(inter, odd, &merged);
    int size;
    MPI_Comm_size(merged, &size);
    require(size == ranks, "merged size %d", size);
    ring(merged, (uint64_t)round);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    free(out), free(in), free(requests);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  dup_and_split(long_run ? 2000 : 100);
  undefined_and_group();
  many_at_once();
  freed_early();
  intercommunicator(long_run ? 200 : 10);
  return check_end();
}
