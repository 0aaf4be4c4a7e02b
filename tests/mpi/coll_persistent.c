// Persistent collectives: started again and again, with other bytes each time, several at a time, in place, and
// with no bytes at all. Layouts are plain and others; each rank has a different order. Each rank compares its
// results with locally computed ones.
#include "check.h"

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(call) MPIX_##call##_init
#else
#define INIT(call) MPI_##call##_init
#endif

enum { kOps = 12, kMost = 12000 };
static const char* const names[kOps] = {"bcast",     "barrier",    "allreduce", "reduce",
                                        "allgather", "gather",     "scatter",   "alltoall",
                                        "alltoallv", "allgatherv", "scan",      "exscan"};
static int count;

typedef struct Op {
  int kind, root, layout;
  MPI_Datatype type;  // an element of the receiving side, in this rank's layout
  int64_t *in, *out;
  int *counts, *places;
  MPI_Request request;
} Op;

static int64_t value(int round, int kind, int from, int to, int i) {
  return (int64_t)round * 1000003 + kind * 7919 + from * 101 + to * 13 + i;
}
static int stride(const Op* op) { return op->layout == 0 ? 1 : 2; }

static void make(Op* op, int kind, int layout) {
  const size_t all = (size_t)ranks * (size_t)(count + 1) * 2;
  *op = (Op){.kind = kind, .root = (kind + count) % ranks, .layout = layout, .type = MPI_INT64_T};
  op->in = calloc(all, sizeof *op->in);
  op->out = calloc(all, sizeof *op->out);
  op->counts = calloc((size_t)ranks * 2, sizeof *op->counts);
  require(op->in != NULL && op->out != NULL && op->counts != NULL, "no memory");
  op->places = op->counts + ranks;
  for (int r = 0; r < ranks; r++) op->counts[r] = count, op->places[r] = r * count;
  if (layout != 0) {
    MPI_Type_create_resized(MPI_INT64_T, 0, 16, &op->type);
    MPI_Type_commit(&op->type);
  }
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Datatype plain = MPI_INT64_T;
  MPI_Request* r = &op->request;
  switch (kind) {
    case 0: INIT(Bcast)(op->out, count, op->type, op->root, comm, MPI_INFO_NULL, r); break;
    case 1: INIT(Barrier)(comm, MPI_INFO_NULL, r); break;
    case 2: INIT(Allreduce)(op->in, op->out, count, plain, MPI_SUM, comm, MPI_INFO_NULL, r); break;
    case 3:
      INIT(Reduce)(op->in, op->out, count, plain, MPI_SUM, op->root, comm, MPI_INFO_NULL, r);
      break;
    case 4:
      INIT(Allgather)(op->in, count, plain, op->out, count, op->type, comm, MPI_INFO_NULL, r);
      break;
    case 5:
      INIT(Gather)
      (op->in, count, plain, op->out, count, op->type, op->root, comm, MPI_INFO_NULL, r);
      break;
    case 6:
      INIT(Scatter)
      (op->in, count, plain, op->out, count, op->type, op->root, comm, MPI_INFO_NULL, r);
      break;
    case 7:
      INIT(Alltoall)
      (layout ? MPI_IN_PLACE : op->in, count, plain, op->out, count, op->type, comm, MPI_INFO_NULL,
       r);
      break;
    case 8:
      INIT(Alltoallv)
      (op->in, op->counts, op->places, plain, op->out, op->counts, op->places, op->type, comm,
       MPI_INFO_NULL, r);
      break;
    case 10: INIT(Scan)(op->in, op->out, count, plain, MPI_SUM, comm, MPI_INFO_NULL, r); break;
    case 11: INIT(Exscan)(op->in, op->out, count, plain, MPI_SUM, comm, MPI_INFO_NULL, r); break;
    default:
      INIT(Allgatherv)
      (op->in, count, plain, op->out, op->counts, op->places, op->type, comm, MPI_INFO_NULL, r);
      break;
  }
}

static void fill_in(Op* op, int round) {
  const bool all = op->kind == 6 || op->kind == 7 || op->kind == 8;
  for (int to = 0; to < (all ? ranks : 1); to++)
    for (int i = 0; i < count; i++) op->in[to * count + i] = value(round, op->kind, me, to, i);
  for (int i = 0; i < ranks * count; i++) op->out[i * stride(op)] = -1;
  if (op->kind == 0)
    for (int i = 0; i < count; i++) op->out[i * stride(op)] = value(round, 0, me, 0, i);
  if (op->kind == 7 && op->layout)
    for (int i = 0; i < ranks * count; i++) op->out[i * stride(op)] = op->in[i];
}

static void expect(const Op* op, int round, int at, int64_t right) {
  require(op->out[at * stride(op)] == right,
          "%s of %d elements, round %d, layout %d, rank %d of %d: element %d is %lld, not %lld",
          names[op->kind], count, round, op->layout, me, ranks, at,
          (long long)op->out[at * stride(op)], (long long)right);
}

static void check_result(const Op* op, int round) {
  for (int i = 0; i < count; i++) {
    int64_t sum = 0;
    for (int from = 0; from < ranks; from++) sum += value(round, op->kind, from, 0, i);
    if (op->kind == 0) expect(op, round, i, value(round, 0, op->root, 0, i));
    if (op->kind == 2 || (op->kind == 3 && me == op->root))
      require(op->out[i] == sum, "%s, round %d: wrong at %d", names[op->kind], round, i);
    if (op->kind >= 10) {
      int64_t below = 0;
      for (int from = 0; from < me; from++) below += value(round, op->kind, from, 0, i);
      const int64_t own = value(round, op->kind, me, 0, i);
      if (op->kind == 10)
        require(op->out[i] == below + own, "scan, round %d: wrong at %d", round, i);
      if (op->kind == 11 && me > 0)
        require(op->out[i] == below, "exscan, round %d: wrong at %d", round, i);
    }
    if (op->kind == 6) expect(op, round, i, value(round, 6, op->root, me, i));
    for (int from = 0; from < ranks; from++) {
      const int at = from * count + i;
      if (op->kind == 4 || op->kind == 9 || (op->kind == 5 && me == op->root))
        expect(op, round, at, value(round, op->kind, from, 0, i));
      if (op->kind == 7 || op->kind == 8)
        expect(op, round, at, value(round, op->kind, from, me, i));
    }
  }
}

static void rounds(int elements, int many) {
  count = elements;
  Op ops[2 * kOps];
  MPI_Request requests[2 * kOps];
  for (int k = 0; k < 2 * kOps; k++) {
    const int kind = k % kOps;
    make(&ops[k], kind, kind == 2 || kind == 3 || kind >= 10 ? 0 : k / kOps);
    requests[k] = ops[k].request;
  }
  for (int round = 0; round < many; round++) {
    doing("%d elements, round %d", elements, round);
    for (int k = 0; k < 2 * kOps; k++) fill_in(&ops[k], round);
    if (round % 3 == 0) {
      for (int k = 0; k < 2 * kOps; k++) {
        MPI_Start(&requests[k]);
        MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
      }
    } else if (round % 3 == 1) {
      MPI_Startall(2 * kOps, requests);
      MPI_Waitall(2 * kOps, requests, MPI_STATUSES_IGNORE);
    } else {  // with others between, and the last one waited for first
      MPI_Startall(kOps, requests);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Startall(kOps, requests + kOps);
      for (int k = 2 * kOps - 1; k >= 0; k--) MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < 2 * kOps; k++) check_result(&ops[k], round);
  }
  for (int k = 0; k < 2 * kOps; k++) {
    MPI_Request_free(&requests[k]);
    if (ops[k].type != MPI_INT64_T) MPI_Type_free(&ops[k].type);
    free(ops[k].in);
    free(ops[k].out);
    free(ops[k].counts);
  }
}

// Requests keep their communicator, although another one has been made since and its memory is reused.
static void freed_communicator(void) {
  long in = 0, out = 0;
  MPI_Comm freed, other;
  MPI_Request requests[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  INIT(Allreduce)(&in, &out, 1, MPI_LONG, MPI_SUM, freed, MPI_INFO_NULL, &requests[0]);
  INIT(Barrier)(freed, MPI_INFO_NULL, &requests[1]);
  MPI_Comm_free(&freed);
  void* blocks[400];
  for (size_t i = 0; i < 400; ++i) memset(blocks[i] = allocate(16 + i * 8), 0x77, 16 + i * 8);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (long round = 0; round < 4; ++round) {
    long sum = 0;
    doing("round %ld on a freed communicator", round);
    in = me + round;
    MPI_Startall(2, requests);
    MPI_Allreduce(&in, &sum, 1, MPI_LONG, MPI_SUM, other);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    require(out == sum && sum == ranks * (ranks - 1) / 2 + ranks * round, "sums of %ld and %ld",
            out, sum);
  }
  for (int i = 0; i < 400; ++i) free(blocks[i]);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Comm_free(&other);
}

// Each rank starts its requests in a different order, with other collectives between them: MPI requires only that
// they are made in one order.
static void own_orders(int many) {
  enum { kSame = 4 };
  long in[2 * kSame] = {0};
  long out[2 * kSame] = {0};
  long sum = 0;
  MPI_Request requests[2 * kSame];
  for (int k = 0; k < kSame; ++k) {
    MPI_Request* r = &requests[2 * k];
    INIT(Bcast)(&out[2 * k], 1, MPI_LONG, k % ranks, MPI_COMM_WORLD, MPI_INFO_NULL, r);
    INIT(Allreduce)
    (&in[2 * k + 1], &out[2 * k + 1], 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, r + 1);
  }
  for (int round = 0; round < many; ++round) {
    const long right = ranks * (ranks - 1L) / 2;
    doing("orders of their own, round %d", round);
    for (int i = 0; i < 2 * kSame; ++i) {
      in[i] = 100L * round + i + me;
      out[i] = i % 2 == 0 && me == i / 2 % ranks ? 100L * round + i : -1;
    }
    for (int i = 0; i < 2 * kSame; ++i) {
      if (i == me % kSame) MPI_Allreduce(&in[0], &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
      MPI_Start(&requests[(i * 3 + me * 5 + round) % (2 * kSame)]);
    }
    MPI_Waitall(2 * kSame, requests, MPI_STATUSES_IGNORE);
    require(sum == 100L * round * ranks + right, "the sum between is %ld", sum);
    for (int i = 0; i < 2 * kSame; ++i) {
      const long one = 100L * round + i;
      const long expected = i % 2 == 0 ? one : one * ranks + right;
      require(out[i] == expected, "round %d, request %d: %ld, not %ld", round, i, out[i], expected);
    }
  }
  for (int i = 0; i < 2 * kSame; ++i) MPI_Request_free(&requests[i]);
}

// Not freed: MPI_Finalize ends them, and treats no rank that ends earlier as lost.
static void unfreed(void) {
  static long in = 1;
  static long out;
  MPI_Request requests[20];
  for (int i = 0; i < 20; ++i)
    INIT(Allreduce)(&in, &out, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  for (int i = 0; i < 20; ++i) {
    MPI_Start(&requests[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    require(out == ranks, "a sum of %ld", out);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int many = long_run ? 300 : 12;
  rounds(1, many);
  rounds(0, 3);
  rounds(7, many);
  rounds(900, many);
  rounds(kMost, 3);
  for (int i = 0; i < 20; ++i) freed_communicator();
  own_orders(many);
  unfreed();
  return check_end();
}
