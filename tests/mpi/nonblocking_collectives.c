// Nonblocking collectives: many outstanding at once, on two communicators, completed in another
// order, while point-to-point messages and computation go on.
#include "check.h"

enum { kOutstanding = 10, kElements = 3000 };

static int64_t part(int r, uint64_t number, size_t i) {
  return (int64_t)(word_at(key_of(r, 0, number), i) & 0xffffff);
}

typedef struct {
  int64_t *in, *out;
  uint64_t number;
  int kind, root;
  size_t n;
} Slot;

static const char* const kinds[] = {
    "ibarrier", "ibcast",     "iallreduce", "ireduce", "igather",
    "iscatter", "iallgather", "ialltoall",  "iscan",   "ireduce_scatter_block"};
enum { kKinds = sizeof kinds / sizeof *kinds };

static void start(Slot* slot, MPI_Comm comm, MPI_Request* request) {
  const size_t n = slot->n, p = (size_t)ranks;
  const int count = (int)n, root = slot->root;
  for (size_t i = 0; i < n * p; ++i) slot->in[i] = part(me, slot->number, i), slot->out[i] = -1;
  if (slot->kind == 1 && me == root)
    for (size_t i = 0; i < n; ++i) slot->out[i] = slot->in[i];
  switch (slot->kind) {
    case 0: MPI_Ibarrier(comm, request); break;
    case 1: MPI_Ibcast(slot->out, count, MPI_INT64_T, root, comm, request); break;
    case 2: MPI_Iallreduce(slot->in, slot->out, count, MPI_INT64_T, MPI_SUM, comm, request); break;
    case 3:
      MPI_Ireduce(slot->in, slot->out, count, MPI_INT64_T, MPI_SUM, root, comm, request);
      break;
    case 4:
      MPI_Igather(slot->in, count, MPI_INT64_T, slot->out, count, MPI_INT64_T, root, comm, request);
      break;
    case 5:
      MPI_Iscatter(slot->in, count, MPI_INT64_T, slot->out, count, MPI_INT64_T, root, comm,
                   request);
      break;
    case 6:
      MPI_Iallgather(slot->in, count, MPI_INT64_T, slot->out, count, MPI_INT64_T, comm, request);
      break;
    case 7:
      MPI_Ialltoall(slot->in, count, MPI_INT64_T, slot->out, count, MPI_INT64_T, comm, request);
      break;
    case 8: MPI_Iscan(slot->in, slot->out, count, MPI_INT64_T, MPI_SUM, comm, request); break;
    default:
      MPI_Ireduce_scatter_block(slot->in, slot->out, count, MPI_INT64_T, MPI_SUM, comm, request);
  }
}

static int64_t sum(uint64_t number, int last, size_t i) {
  int64_t value = 0;
  for (int r = 0; r <= last; ++r) value += part(r, number, i);
  return value;
}

static void check(const Slot* slot) {
  const size_t n = slot->n;
  const bool mine = me == slot->root;
  size_t results = n;
  if (slot->kind == 0 || ((slot->kind == 3 || slot->kind == 4) && !mine)) return;
  if (slot->kind == 4 || slot->kind == 6 || slot->kind == 7) results = n * (size_t)ranks;
  for (size_t i = 0; i < results; ++i) {
    int64_t expected = 0;
    switch (slot->kind) {
      case 1: expected = part(slot->root, slot->number, i); break;
      case 2:
      case 3: expected = sum(slot->number, ranks - 1, i); break;
      case 4:
      case 6: expected = part((int)(i / n), slot->number, i % n); break;
      case 5: expected = part(slot->root, slot->number, (size_t)me * n + i); break;
      case 7: expected = part((int)(i / n), slot->number, (size_t)me * n + i % n); break;
      case 8: expected = sum(slot->number, me, i); break;
      default: expected = sum(slot->number, ranks - 1, (size_t)me * n + i);
    }
    require(slot->out[i] == expected,
            "%s no. %llu (%zu elements, root %d): element %zu is %llx, not %llx", kinds[slot->kind],
            (unsigned long long)slot->number, n, slot->root, i, (unsigned long long)slot->out[i],
            (unsigned long long)expected);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm comms[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  Slot slots[kOutstanding];
  const size_t bytes = kElements * (size_t)ranks * sizeof(int64_t);
  for (int i = 0; i < kOutstanding; ++i)
    slots[i].in = allocate(bytes), slots[i].out = allocate(bytes);
  uint64_t random = seed, number = 0;
  volatile double work = 1;
  for (int round = 0; round < (long_run ? 2000 : 40); ++round) {
    MPI_Request requests[kOutstanding];
    const uint64_t first = random_below(&random, kKinds);
    for (int i = 0; i < kOutstanding; ++i) {
      Slot* slot = &slots[i];
      slot->number = ++number;
      slot->kind = (int)((first + (uint64_t)i * 3) % kKinds);
      slot->root = (int)random_below(&random, (uint64_t)ranks);
      slot->n = random_below(&random, 8) == 0 ? kElements : random_below(&random, 200);
      doing("round %d: start %s no. %llu", round, kinds[slot->kind], (unsigned long long)number);
      start(slot, comms[random_below(&random, 2)], &requests[i]);
    }
    for (int i = 0; i < 2000 * (me % 3); ++i) work = work * 1.0000001;
    const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
    int got = -1;
    doing("round %d: message from %d", round, from);
    MPI_Sendrecv(&round, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    require(got == round, "peer %d: message %d, not %d", from, got, round);
    // Ranks wait in different orders: legal, all have been started.
    for (int i = 0; i < kOutstanding; ++i) {
      const int which = (i * 7 + me * 3 + round) % kOutstanding;
      doing("round %d: wait for %s no. %llu", round, kinds[slots[which].kind],
            (unsigned long long)slots[which].number);
      MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
      check(&slots[which]);
    }
  }
  for (int i = 0; i < kOutstanding; ++i) free(slots[i].in), free(slots[i].out);
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
  return check_end();
}
