// Messages of one sender never overtake each other, in all sizes and protocols. That also holds if many are
// outstanding and are received with any source and any tag. --messages N: for each pair.
#include "check.h"

enum { kPosted = 32, kOutstanding = 64, kLargest = 160 << 10 };

typedef struct {
  int32_t number;
  int32_t size;
} Head;

// Mostly short, some around the eager limit, few long; the same on both sides.
static int size_of(int from, int to, int number) {
  const uint64_t draw = key_of(from, to, (uint64_t)number);
  const uint64_t kind = draw % 16, spread = draw >> 8;
  if (kind < 9) return (int)(sizeof(Head) + spread % 200);
  if (kind < 13) return (int)(3500 + spread % 1200);
  if (kind < 15) return (int)(30000 + spread % 6000);
  return (int)(kLargest - spread % 1000);
}

static int tag_of(int number) { return number % 7; }

static void build(unsigned char* data, int to, int number) {
  const Head head = {number, size_of(me, to, number)};
  memcpy(data, &head, sizeof head);
  fill(data + sizeof head, (size_t)head.size - sizeof head, key_of(me, to, (uint64_t)number + 1));
}

static void check_message(const unsigned char* data, const MPI_Status* status, int* expected) {
  const int from = status->MPI_SOURCE;
  Head head;
  int count = 0;
  memcpy(&head, data, sizeof head);
  MPI_Get_count(status, MPI_BYTE, &count);
  require(head.number == expected[from], "peer %d: message %d came, %d was next (%d bytes)", from,
          head.number, expected[from], count);
  require(count == head.size && count == size_of(from, me, head.number),
          "peer %d, message %d: %d bytes, header says %d", from, head.number, count, head.size);
  require(status->MPI_TAG == tag_of(head.number), "peer %d, message %d: tag %d", from, head.number,
          status->MPI_TAG);
  verify(data + sizeof head, (size_t)count - sizeof head,
         key_of(from, me, (uint64_t)head.number + 1), from);
  ++expected[from];
}

// All ranks send to all ranks; receives are wildcards and complete in the order in which they were posted.
static void all_pairs(int per_pair) {
  const int total = per_pair * (ranks - 1);
  unsigned char* in[kPosted];
  unsigned char* out[kOutstanding];
  MPI_Request receives[kPosted], sends[kOutstanding];
  int* expected = calloc((size_t)ranks, sizeof *expected);
  for (int i = 0; i < kOutstanding; ++i) out[i] = allocate(kLargest), sends[i] = MPI_REQUEST_NULL;
  int posted = 0, received = 0, sent = 0;
  for (; posted < kPosted; ++posted) {
    in[posted] = allocate(kLargest);
    receives[posted] = MPI_REQUEST_NULL;
    if (posted < total)
      MPI_Irecv(in[posted], kLargest, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                &receives[posted]);
  }
  while (received < total || sent < total) {
    doing("all pairs: sent %d, received %d of %d", sent, received, total);
    const int out_slot = sent % kOutstanding, in_slot = received % kPosted;
    int flag = 0;
    if (sent < total) {
      MPI_Test(&sends[out_slot], &flag, MPI_STATUS_IGNORE);
      if (flag) {
        const int to = (me + 1 + sent % (ranks - 1)) % ranks, number = sent / (ranks - 1);
        build(out[out_slot], to, number);
        MPI_Isend(out[out_slot], size_of(me, to, number), MPI_BYTE, to, tag_of(number),
                  MPI_COMM_WORLD, &sends[out_slot]);
        ++sent;
      }
    }
    if (received < total) {
      MPI_Status status;
      MPI_Test(&receives[in_slot], &flag, &status);
      if (flag) {
        check_message(in[in_slot], &status, expected);
        ++received;
        if (posted < total) {
          MPI_Irecv(in[in_slot], kLargest, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                    &receives[in_slot]);
          ++posted;
        }
      }
    }
  }
  doing("all pairs: last sends");
  MPI_Waitall(kOutstanding, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kOutstanding; ++i) free(out[i]);
  for (int i = 0; i < kPosted; ++i) free(in[i]);
  for (int i = 0; i < ranks; ++i)
    require(i == me || expected[i] == per_pair, "peer %d: %d messages of %d", i, expected[i],
            per_pair);
  free(expected);
}

// Many unexpected messages under two tags; the later tag is received first, each tag in order.
static void two_tags(int messages) {
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  enum { kSize = 700 };
  unsigned char* out = allocate((size_t)messages * kSize);
  MPI_Request* sends = allocate((size_t)messages * sizeof *sends);
  for (int i = 0; i < messages; ++i) {
    fill(out + i * kSize, kSize, key_of(me, to, (uint64_t)i));
    MPI_Isend(out + i * kSize, kSize, MPI_BYTE, to, 100 + i % 2, MPI_COMM_WORLD, &sends[i]);
  }
  unsigned char in[kSize];
  for (int tag = 1; tag >= 0; --tag)
    for (int i = tag; i < messages; i += 2) {
      doing("two tags: tag %d, message %d from %d", tag, i, from);
      MPI_Recv(in, kSize, MPI_BYTE, from, 100 + tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      verify(in, kSize, key_of(from, me, (uint64_t)i), from);
    }
  doing("two tags: last sends");
  MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE);
  free(sends);
  free(out);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  const int messages = (int)option(argc, argv, "--messages", long_run ? 10000 : 400);
  all_pairs(messages);
  doing("barrier");
  MPI_Barrier(MPI_COMM_WORLD);
  two_tags(messages * (long_run ? 2 : 5));
  return check_end();
}
