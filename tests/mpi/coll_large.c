// Collectives of large counts: more than 2 GiB with --long, of bytes, of numbers and of a type with
// gaps; every byte of a result is checked at its beginning, end and where 2^31 and 2^32 bytes lie.
//
//   coll_large [--mebibytes N]     N (default 40, with --long 2100) for each buffer, of which a rank has two
#include "check.h"

enum { kMiB = 1 << 20, kProbe = 4096 };

static size_t bytes;
static unsigned char *a, *b;

// The value that byte `at` of rank `from` has.
static unsigned char value(size_t at, int from) { return (unsigned char)(at * 31 + at / 4093 + (size_t)from * 7 + 3); }

static void fill_bytes(unsigned char* data, size_t size, int from) {
  for (size_t at = 0; at < size; ++at) data[at] = value(at, from);
}

static void check_bytes(const char* what, const unsigned char* data, size_t size, size_t step, int from) {
  const size_t places[] = {0, ((size_t)1 << 31) - kProbe, ((size_t)1 << 32) - kProbe, size / 2, size};
  for (int i = 0; i < 5; ++i) {
    const size_t begin = places[i] > kProbe ? places[i] - kProbe : 0;
    for (size_t at = begin; at < begin + 2 * (size_t)kProbe && at < size; ++at)
      require(data[at * step] == value(at, from), "%s: byte %zu of %zu is %d, not %d", what, at, size,
              data[at * step], value(at, from));
  }
}

static void broadcasts(void) {
  MPI_Datatype page, spaced;
  MPI_Type_contiguous(4096, MPI_BYTE, &page);
  MPI_Type_commit(&page);
  doing("broadcast of %zu bytes", bytes);
  if (me == 0) fill_bytes(a, bytes, 0);
  MPI_Bcast(a, (int)(bytes / 4096), page, 0, MPI_COMM_WORLD);
  check_bytes("broadcast", a, bytes, 1, 0);

  // Half of the bytes, every second one.
  doing("broadcast of every second of %zu bytes", bytes);
  MPI_Type_vector((int)(bytes / 4096 / 2), 2048, 4096, MPI_BYTE, &spaced);
  MPI_Type_commit(&spaced);
  const int last = ranks - 1;
  if (me == last)
    for (size_t at = 0; at < bytes; ++at) a[at] = value(at, 1);
  MPI_Request request;
  MPI_Ibcast(a, 1, spaced, last, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (size_t at = 0; at < bytes; at += at % 4096 < 2047 ? 1 : 2049) {
    if (at / 4096 >= bytes / 4096 / 2) break;
    require(a[at] == value(at, 1), "broadcast with gaps: byte %zu is %d, not %d", at, a[at], value(at, 1));
  }
  MPI_Type_free(&page);
  MPI_Type_free(&spaced);
}

static void reductions(void) {
  const int count = (int)(bytes / sizeof(uint32_t));
  uint32_t *in = (uint32_t*)(void*)a, *out = (uint32_t*)(void*)b;
  for (int i = 0; i < count; ++i) in[i] = (uint32_t)i * 3 + (uint32_t)me;
  doing("allreduce of %d numbers", count);
  MPI_Allreduce(in, out, count, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
  const uint32_t more = (uint32_t)(ranks * (ranks - 1) / 2);
  for (int i = 0; i < count; ++i)
    require(out[i] == (uint32_t)i * 3 * (uint32_t)ranks + more, "sum: element %d is %u", i, out[i]);
  doing("reduce in place of %d numbers", count);
  MPI_Reduce(me == 0 ? MPI_IN_PLACE : in, in, count, MPI_UINT32_T, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int i = 0; me == 0 && i < count; ++i)
    require(in[i] == (uint32_t)i * 3 + (uint32_t)(ranks - 1), "maximum: element %d is %u", i, in[i]);
}

// Blocks that make up the whole together.
static void gathers(void) {
  const int each = (int)(bytes / (size_t)ranks / 4096);
  const size_t block = (size_t)each * 4096;
  MPI_Datatype page;
  MPI_Type_contiguous(4096, MPI_BYTE, &page);
  MPI_Type_commit(&page);
  fill_bytes(a, block, me);
  doing("allgather of %zu bytes each", block);
  MPI_Allgather(a, each, page, b, each, page, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from) check_bytes("allgather", b + (size_t)from * block, block, 1, from);
  doing("scatter of %zu bytes each", block);
  if (me == 1 % ranks)
    for (int to = 0; to < ranks; ++to) fill_bytes(b + (size_t)to * block, block, to + 5);
  MPI_Scatter(b, each, page, a, each, page, 1 % ranks, MPI_COMM_WORLD);
  check_bytes("scatter", a, block, 1, me + 5);
  doing("gather of %zu bytes each", block);
  MPI_Gather(a, each, page, b, each, page, 0, MPI_COMM_WORLD);
  for (int from = 0; me == 0 && from < ranks; ++from)
    check_bytes("gather", b + (size_t)from * block, block, 1, from + 5);
  MPI_Type_free(&page);
}

int main(int argc, char** argv) {
  const long mebibytes = option(argc, argv, "--mebibytes", has_option(argc, argv, "--long") ? 2100 : 40);
  if (mebibytes > 100) patience = 500;
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const long needed = (mebibytes * 5 / 2 + 200) * ranks;
  const long free_mebibytes = sysconf(_SC_AVPHYS_PAGES) / 256;
  int enough = free_mebibytes > needed;
  MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!enough) {
    if (me == 0)
      printf("skipped: %ld MiB of memory are free, %ld are needed\n", free_mebibytes, needed);
    return check_end();
  }
  bytes = (size_t)mebibytes * kMiB;
  a = allocate(bytes);
  b = allocate(bytes);
  broadcasts();
  reductions();
  gathers();
  free(a);
  free(b);
  return check_end();
}
