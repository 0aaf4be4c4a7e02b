// Totally ordered broadcast under jitter: random sizes from nothing to the largest, random pauses, mixed with MPI
// traffic. Several objects run at the same time, on different communicators with different sequencers. Every rank
// hashes the messages in the order of delivery. The hashes are the same everywhere, each message is whole, and the
// messages of each sender arrive in the order of sending. Small windows make all ranks wait for the slowest.
#include "check.h"

#include <lfc_ordered.h>

enum { kMostRanks = 64 };

struct listener {
  uint64_t hash;
  uint64_t last;  // number
  uint64_t handled;
  int count[kMostRanks];  // by sender
  int which;
  lfc_ordered* order;
};

struct head {
  uint64_t key;
  uint64_t size;
};

static void handle(void* context, int sender, uint64_t number, const void* data, size_t size) {
  struct listener* own = context;
  struct head head;
  require(own->handled == 0 || number > own->last, "number %llu after %llu",
          (unsigned long long)number, (unsigned long long)own->last);
  own->last = number;
  ++own->handled;
  const int count = own->count[sender]++;
  own->hash = scramble(own->hash * 31 + number * 1000003 + (uint64_t)sender * 65537 + size);
  if (count % 5 == 4) {
    require(size == 0, "an empty message has %zu bytes", size);
    return;
  }
  require(size >= sizeof head, "message %d of %d has %zu bytes", count, sender, size);
  memcpy(&head, data, sizeof head);
  const uint64_t key = key_of(sender, own->which, (uint64_t)count);
  require(head.key == key && head.size == size, "message %d of %d: another's head", count, sender);
  verify((const char*)data + sizeof head, size - sizeof head, key, sender);
  require(
      own->order == NULL || lfc_ordered_bcast(own->order, NULL, 0, NULL) == LFC_ORDERED_ERR_NESTED,
      "the handler may broadcast");
}

static void pause_a_little(uint64_t random) {
  if (random % 16 == 0) {
    const struct timespec time = {0, (long)(random % 3000) * 1000};
    nanosleep(&time, NULL);
  }
}

static void rounds(MPI_Comm comm, int which, const struct lfc_ordered_options* options,
                   int messages) {
  static struct listener own;
  int rank;
  int size;
  memset(&own, 0, sizeof own);
  own.which = which;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  doing("open of %d", which);
  int error = lfc_ordered_open(comm, handle, &own, options, &own.order);
  require(error == LFC_ORDERED_OK, "open: %s", lfc_ordered_error(error));
  const size_t largest = lfc_ordered_max(own.order);
  char* bytes = malloc(largest + 1);
  require(bytes != NULL, "out of memory");
  require(lfc_ordered_bcast(own.order, bytes, largest + 1, NULL) == LFC_ORDERED_ERR_SIZE,
          "a message is too large, and is taken");
  for (int i = 0; i < messages; ++i) {
    const uint64_t key = key_of(rank, which, (uint64_t)i);
    const uint64_t random = scramble(key ^ 0x77);
    size_t length = 0;
    if (i % 5 != 4) {
      const size_t most = random % 7 == 0 || largest < 600 ? largest : 600;
      length = sizeof(struct head) + (random >> 8) % (most - sizeof(struct head) + 1);
      const struct head head = {key, length};
      memcpy(bytes, &head, sizeof head);
      fill(bytes + sizeof head, length - sizeof head, key);
    }
    doing("broadcast %d of %d, %zu bytes", i, which, length);
    uint64_t number = 0;
    error = lfc_ordered_bcast(own.order, bytes, length, &number);
    require(error == LFC_ORDERED_OK, "broadcast: %s", lfc_ordered_error(error));
    memset(bytes, 0xee, length);  // it may be reused
    pause_a_little(random);
    if (random % 11 == 0) {
      doing("wait for %llu of %d", (unsigned long long)number, which);
      error = lfc_ordered_wait(own.order, number);
      require(error == LFC_ORDERED_OK && own.last >= number, "wait: %s", lfc_ordered_error(error));
    }
    if (random % 13 == 0) {
      error = lfc_ordered_poll(own.order, NULL);
      require(error == LFC_ORDERED_OK, "poll: %s", lfc_ordered_error(error));
    }
    if (i % 20 == 0) {
      doing("MPI beside it, after broadcast %d", i);
      int sum = 1;
      // Nonblocking, because another rank may be waiting for this rank to receive.
      MPI_Request request;
      int done = 0;
      MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
      while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        error = lfc_ordered_poll(own.order, NULL);
        require(error == LFC_ORDERED_OK, "poll: %s", lfc_ordered_error(error));
      }
      require(sum == size, "the sum is %d", sum);
    }
  }
  doing("close of %d", which);
  error = lfc_ordered_close(&own.order);
  require(error == LFC_ORDERED_OK && own.order == NULL, "close: %s", lfc_ordered_error(error));
  require(own.handled == (uint64_t)messages * (uint64_t)size, "%llu messages of %d",
          (unsigned long long)own.handled, messages * size);
  uint64_t first = own.hash;
  MPI_Bcast(&first, 1, MPI_UINT64_T, 0, comm);
  require(first == own.hash, "the order is not the same as rank 0's");
  free(bytes);
}

int main(int argc, char** argv) {
  patience = 150;
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks <= kMostRanks, "too many ranks");
  const int messages = long_run ? 20000 : 300;

  lfc_ordered* none;
  struct lfc_ordered_options wrong = {.window = 2};
  require(lfc_ordered_open(MPI_COMM_WORLD, handle, NULL, &wrong, &none) == LFC_ORDERED_ERR_ARGUMENT,
          "a window of 2 is taken");
  wrong = (struct lfc_ordered_options){.sequencer = me};
  require(ranks == 1 || lfc_ordered_open(MPI_COMM_WORLD, handle, NULL, &wrong, &none) ==
                            LFC_ORDERED_ERR_ARGUMENT,
          "different options are taken");

  rounds(MPI_COMM_WORLD, 1, NULL, messages);
  rounds(MPI_COMM_WORLD, 2,
         &(struct lfc_ordered_options){.packet = 64, .window = 4, .sequencer = ranks - 1},
         messages / 3);
  rounds(MPI_COMM_SELF, 3, NULL, messages / 3);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
  rounds(half, 4, &(struct lfc_ordered_options){.packet = 512, .window = 16, .fan = 1},
         messages / 3);
  MPI_Comm_free(&half);
  return check_end();
}
