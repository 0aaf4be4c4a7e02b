// All collectives against locally computed results: several sizes and types, in place, random
// roots, with and without a commutative operation, on the world, on a half of it, and reversed.
#include "check.h"

enum { kLargest = 40000 };

static MPI_Comm comm;
static int rank, size;   // in `comm`
static uint64_t number;  // of the collective, the same on all ranks
static int64_t *in, *out;

// The contribution of rank r at index i of the present collective.
static int64_t part(int r, size_t i) {
  return (int64_t)(word_at(key_of(r, 0, number), i) & 0xffffff);
}

static void contribute(int64_t* data, size_t n) {
  for (size_t i = 0; i < n; ++i) data[i] = part(rank, i);
}

static void expect(const char* what, size_t i, int64_t got, int64_t expected) {
  require(got == expected, "%s no. %llu, %d ranks: element %zu is %llx, not %llx", what,
          (unsigned long long)number, size, i, (unsigned long long)got,
          (unsigned long long)expected);
}

static void begin(const char* what, size_t n, int root) {
  ++number;
  doing("%s no. %llu of %zu elements, root %d, %d ranks", what, (unsigned long long)number, n, root,
        size);
  memset(out, 0x5a, n * (size_t)size * sizeof *out);
}

static int64_t reduced(MPI_Op op, int first, int last, size_t i) {
  int64_t value = part(first, i);
  for (int r = first + 1; r <= last; ++r) {
    const int64_t other = part(r, i);
    if (op == MPI_SUM)
      value += other;
    else if (op == MPI_MAX)
      value = value > other ? value : other;
    else if (op == MPI_MIN)
      value = value < other ? value : other;
    else
      value ^= other;
  }
  return value;
}

// Composition of x -> a*x+b modulo 2^32, packed in 64 bits: associative, not commutative.
static uint64_t compose(uint64_t first, uint64_t second) {
  const uint32_t a1 = (uint32_t)first, b1 = (uint32_t)(first >> 32);
  const uint32_t a2 = (uint32_t)second, b2 = (uint32_t)(second >> 32);
  return (uint64_t)(a2 * a1) | (uint64_t)(a2 * b1 + b2) << 32;
}

static void compose_op(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  uint64_t *l = left, *r = right;
  for (int i = 0; i < *count; ++i) r[i] = compose(l[i], r[i]);
}

static void reductions(size_t n, int root) {
  static MPI_Op ops[4];
  ops[0] = MPI_SUM, ops[1] = MPI_MAX, ops[2] = MPI_MIN, ops[3] = MPI_BXOR;
  const int count = (int)n;
  for (int in_place = 0; in_place < 2; ++in_place) {
    const MPI_Op op = ops[(number + (uint64_t)in_place) % 4];
    begin("allreduce", n, -1);
    contribute(in_place ? out : in, n);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, count, MPI_INT64_T, op, comm);
    for (size_t i = 0; i < n; ++i) expect("allreduce", i, out[i], reduced(op, 0, size - 1, i));

    begin("reduce", n, root);
    contribute(in_place && rank == root ? out : in, n);
    MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : in, out, count, MPI_INT64_T, op, root,
               comm);
    for (size_t i = 0; rank == root && i < n; ++i)
      expect("reduce", i, out[i], reduced(op, 0, size - 1, i));

    begin("scan", n, -1);
    contribute(in_place ? out : in, n);
    MPI_Scan(in_place ? MPI_IN_PLACE : in, out, count, MPI_INT64_T, op, comm);
    for (size_t i = 0; i < n; ++i) expect("scan", i, out[i], reduced(op, 0, rank, i));

    begin("exscan", n, -1);
    contribute(in_place ? out : in, n);
    MPI_Exscan(in_place ? MPI_IN_PLACE : in, out, count, MPI_INT64_T, op, comm);
    for (size_t i = 0; rank > 0 && i < n; ++i)
      expect("exscan", i, out[i], reduced(op, 0, rank - 1, i));
  }
  MPI_Op op;
  MPI_Op_create(compose_op, 0, &op);
  begin("allreduce, not commutative", n, -1);
  contribute(in, n);
  MPI_Allreduce(in, out, count, MPI_UINT64_T, op, comm);
  for (size_t i = 0; i < n; ++i) {
    uint64_t value = (uint64_t)part(0, i);
    for (int r = 1; r < size; ++r) value = compose(value, (uint64_t)part(r, i));
    expect("allreduce, not commutative", i, out[i], (int64_t)value);
  }
  MPI_Op_free(&op);

  // n elements to each rank.
  const size_t share = n / (size_t)size;
  begin("reduce_scatter_block", share * (size_t)size, -1);
  contribute(in, share * (size_t)size);
  MPI_Reduce_scatter_block(in, out, (int)share, MPI_INT64_T, MPI_SUM, comm);
  for (size_t i = 0; i < share; ++i)
    expect("reduce_scatter_block", i, out[i],
           reduced(MPI_SUM, 0, size - 1, (size_t)rank * share + i));

  int* counts = allocate((size_t)size * sizeof *counts);
  size_t mine = 0, total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = (int)(share * (size_t)(r % 3) / 2);
    if (r == rank) mine = total;
    total += (size_t)counts[r];
  }
  begin("reduce_scatter", total, -1);
  contribute(in, total);
  MPI_Reduce_scatter(in, out, counts, MPI_INT64_T, MPI_SUM, comm);
  for (int i = 0; i < counts[rank]; ++i)
    expect("reduce_scatter", (size_t)i, out[i], reduced(MPI_SUM, 0, size - 1, mine + (size_t)i));
  free(counts);
}

static void one_to_all(size_t n, int root) {
  const int count = (int)n;
  begin("bcast", n, root);
  if (rank == root) contribute(out, n);
  MPI_Bcast(out, count, MPI_INT64_T, root, comm);
  for (size_t i = 0; i < n; ++i) expect("bcast", i, out[i], part(root, i));

  const size_t share = n / (size_t)size;
  begin("scatter", share, root);
  contribute(in, share * (size_t)size);
  MPI_Scatter(in, (int)share, MPI_INT64_T, rank == root && number % 2 ? MPI_IN_PLACE : out,
              (int)share, MPI_INT64_T, root, comm);
  for (size_t i = 0; (rank != root || number % 2 == 0) && i < share; ++i)
    expect("scatter", i, out[i], part(root, (size_t)rank * share + i));

  begin("gather", share, root);
  contribute(in, share);
  if (rank == root && number % 2) memcpy(out + (size_t)rank * share, in, share * sizeof *in);
  MPI_Gather(rank == root && number % 2 ? MPI_IN_PLACE : in, (int)share, MPI_INT64_T, out,
             (int)share, MPI_INT64_T, root, comm);
  for (int r = 0; rank == root && r < size; ++r)
    for (size_t i = 0; i < share; ++i)
      expect("gather", (size_t)r * share + i, out[(size_t)r * share + i], part(r, i));

  begin("allgather", share, -1);
  contribute(in, share);
  if (number % 2) memcpy(out + (size_t)rank * share, in, share * sizeof *in);
  MPI_Allgather(number % 2 ? MPI_IN_PLACE : in, (int)share, MPI_INT64_T, out, (int)share,
                MPI_INT64_T, comm);
  for (int r = 0; r < size; ++r)
    for (size_t i = 0; i < share; ++i)
      expect("allgather", (size_t)r * share + i, out[(size_t)r * share + i], part(r, i));
}

// Irregular ones: rank r has a share that depends on r, and there are gaps between the shares.
static void irregular(size_t n, int root) {
  int* counts = allocate((size_t)size * sizeof *counts);
  int* places = allocate((size_t)size * sizeof *places);
  const int slot = (int)(n / (size_t)size);
  for (int r = 0; r < size; ++r) counts[r] = slot * (r % 4) / 3, places[r] = (size - 1 - r) * slot;
  const size_t all = (size_t)slot * (size_t)size;

  begin("gatherv", all, root);
  contribute(in, (size_t)counts[rank]);
  MPI_Gatherv(in, counts[rank], MPI_INT64_T, out, counts, places, MPI_INT64_T, root, comm);
  for (int r = 0; rank == root && r < size; ++r)
    for (int i = 0; i < slot; ++i)
      expect("gatherv", (size_t)i, out[places[r] + i],
             i < counts[r] ? part(r, (size_t)i) : 0x5a5a5a5a5a5a5a5a);

  begin("allgatherv", all, -1);
  contribute(in, (size_t)counts[rank]);
  MPI_Allgatherv(in, counts[rank], MPI_INT64_T, out, counts, places, MPI_INT64_T, comm);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < slot; ++i)
      expect("allgatherv", (size_t)i, out[places[r] + i],
             i < counts[r] ? part(r, (size_t)i) : 0x5a5a5a5a5a5a5a5a);

  begin("scatterv", all, root);
  contribute(in, all);
  MPI_Scatterv(in, counts, places, MPI_INT64_T, out, counts[rank], MPI_INT64_T, root, comm);
  for (int i = 0; i < counts[rank]; ++i)
    expect("scatterv", (size_t)i, out[i], part(root, (size_t)(places[rank] + i)));
  free(places);
  free(counts);
}

static void all_to_all(size_t n) {
  const int share = (int)(n / (size_t)size);
  const size_t all = (size_t)share * (size_t)size;
  begin("alltoall", all, -1);
  contribute(in, all);
  MPI_Alltoall(in, share, MPI_INT64_T, out, share, MPI_INT64_T, comm);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < share; ++i)
      expect("alltoall", (size_t)i, out[r * share + i], part(r, (size_t)(rank * share + i)));

  begin("alltoall in place", all, -1);
  contribute(out, all);
  MPI_Alltoall(MPI_IN_PLACE, share, MPI_INT64_T, out, share, MPI_INT64_T, comm);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < share; ++i)
      expect("alltoall in place", (size_t)i, out[r * share + i],
             part(r, (size_t)(rank * share + i)));

  // From a to b travel share*((a+b)%3)/2 elements.
  int* table = allocate((size_t)size * 6 * sizeof *table);
  int *sends = table, *to = table + size, *receives = table + 2 * size, *from = table + 3 * size;
  for (int r = 0; r < size; ++r) {
    sends[r] = receives[r] = share * ((rank + r) % 3) / 2;
    to[r] = from[r] = r * share;
  }
  begin("alltoallv", all, -1);
  contribute(in, all);
  MPI_Alltoallv(in, sends, to, MPI_INT64_T, out, receives, from, MPI_INT64_T, comm);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < receives[r]; ++i)
      expect("alltoallv", (size_t)i, out[from[r] + i], part(r, (size_t)(rank * share + i)));

  MPI_Datatype* types = allocate((size_t)size * sizeof *types);
  for (int r = 0; r < size; ++r)
    types[r] = MPI_INT64_T, to[r] = from[r] = r * share * (int)sizeof *in;
  begin("alltoallw", all, -1);
  contribute(in, all);
  MPI_Alltoallw(in, sends, to, types, out, receives, from, types, comm);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < receives[r]; ++i)
      expect("alltoallw", (size_t)i, out[r * share + i], part(r, (size_t)(rank * share + i)));
  free(types);
  free(table);
}

// No rank leaves the barrier before the last one has entered it.
static void barrier(void) {
  begin("barrier", 0, -1);
  const int late = (int)(number % (uint64_t)size);
  if (rank == late) pause_seconds(0.01);
  const double entered = MPI_Wtime();
  MPI_Barrier(comm);
  const double left = MPI_Wtime();
  double times[2] = {entered, -left}, latest[2];
  MPI_Allreduce(times, latest, 2, MPI_DOUBLE, MPI_MAX, comm);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0, global = 0, *flag = NULL;
  MPI_Get_processor_name(name, &length);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &flag, &global);
  // Without a global clock the times of two ranks cannot be compared.
  if (global && flag != NULL && *flag)
    require(-latest[1] >= latest[0], "barrier: one left %g s before another entered",
            latest[0] + latest[1]);
}

static void everything(uint64_t* random) {
  static const size_t sizes[] = {0, 1, 7, 100, 1500, kLargest};
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    const int root = (int)random_below(random, (uint64_t)size);
    reductions(sizes[s], root);
    one_to_all(sizes[s], (root + 1) % size);
    irregular(sizes[s], root);
    all_to_all(sizes[s]);
    barrier();
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  uint64_t random = seed;
  in = allocate(kLargest * (size_t)ranks * sizeof *in);
  out = allocate(kLargest * (size_t)ranks * sizeof *out);
  const long rounds = option(argc, argv, "--rounds", long_run ? 50 : 2);
  for (long round = 0; round < rounds; ++round) {
    comm = MPI_COMM_WORLD;
    everything(&random);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &comm);
    everything(&random);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm);
    everything(&random);
    MPI_Comm_free(&comm);
  }
  free(in);
  free(out);
  return check_end();
}
