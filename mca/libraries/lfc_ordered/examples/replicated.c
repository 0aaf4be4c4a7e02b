/* Replicated objects as in Orca: every rank has a copy of a counter and of a log. Reading is local.
 * A writing operation is an ordered broadcast, which all ranks apply in the same order. So the
 * copies never differ, although no rank requests another one's copy. At the end each rank checks:
 *
 *   - Its log is the same as that of all other ranks.
 *   - Its own entries are in the log in order.
 *   - Each operation was applied to the state that the log requires.
 *
 *   mpirun -n 4 --mca btl lfc ordered_replicated [--operations N]
 *
 * Exit code 0 and the last line `ok`, or 1 and a line that begins with FAIL.
 * Source: R.A.F. Bhoedjang (2000), 7.1 (Orca), 6.4 (ordered broadcast).
 */
#include <lfc_ordered.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kNoteBytes = 24 };

/* The ranks broadcast operations, not states. */
struct operation {
  enum { ADD, DOUBLE_IF_EVEN, APPEND } kind;
  int number; /* of its rank's operations */
  long amount;
  char note[kNoteBytes];
};

struct entry {
  int rank;
  int number;
  long value; /* of the counter, when it was written */
  char note[kNoteBytes];
};

struct replica {
  long counter;
  struct entry* log;
  int entries, room;
  int applied;
  int seen[1024]; /* by rank: operations applied */
  int wrong;
};

static void apply(void* context, int sender, uint64_t number, const void* data, size_t size) {
  struct replica* own = context;
  struct operation operation;
  (void)number;
  if (size != sizeof operation || sender >= 1024) {
    own->wrong = 1;
    return;
  }
  memcpy(&operation, data, sizeof operation);
  if (operation.number != own->seen[sender]++) own->wrong = 1;
  ++own->applied;
  switch (operation.kind) {
    case ADD: own->counter += operation.amount; break;
    case DOUBLE_IF_EVEN: /* does not commute with ADD: order matters */
      if (own->counter % 2 == 0) own->counter = own->counter * 2 % 1000003;
      break;
    case APPEND:
      if (own->entries == own->room) {
        own->room = own->room * 2 + 64;
        own->log = realloc(own->log, (size_t)own->room * sizeof *own->log);
        if (own->log == NULL) abort();
      }
      struct entry* last = &own->log[own->entries++];
      memset(last, 0, sizeof *last);
      last->rank = sender;
      last->number = operation.number;
      last->value = own->counter;
      memcpy(last->note, operation.note, kNoteBytes);
      break;
  }
}

static void stop(int rank, const char* what, int error) {
  printf("FAIL replicated rank %d: %s%s%s\n", rank, what, error ? ": " : "",
         error ? lfc_ordered_error(error) : "");
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Returns the next operation of this rank, at random. */
static struct operation drawn(int number, int rank) {
  struct operation operation = {.number = number};
  switch (rand() % 3) {
    case 0:
      operation.kind = ADD;
      operation.amount = rand() % 100;
      break;
    case 1: operation.kind = DOUBLE_IF_EVEN; break;
    default:
      operation.kind = APPEND;
      snprintf(operation.note, kNoteBytes, "%d of rank %d", number, rank);
  }
  return operation;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int operations = argc == 3 && strcmp(argv[1], "--operations") == 0 ? atoi(argv[2]) : 1000;

  static struct replica own;
  lfc_ordered* order;
  int error = lfc_ordered_open(MPI_COMM_WORLD, apply, &own, NULL, &order);
  if (error != LFC_ORDERED_OK) stop(rank, "open", error);

  srand((unsigned)rank + 1);
  const double begun = MPI_Wtime();
  for (int i = 0; i < operations; ++i) {
    const struct operation operation = drawn(i, rank);
    uint64_t number;
    error = lfc_ordered_bcast(order, &operation, sizeof operation, &number);
    /* A read must see the own writes: wait until the operation has been applied here. */
    if (error == LFC_ORDERED_OK && i % 8 == 0) error = lfc_ordered_wait(order, number);
    if (error != LFC_ORDERED_OK) stop(rank, "a write", error);
    if (i % 8 == 0 && own.seen[rank] != i + 1) stop(rank, "a write was not applied", 0);
  }
  error = lfc_ordered_close(&order);
  if (error != LFC_ORDERED_OK) stop(rank, "close", error);
  const double seconds = MPI_Wtime() - begun;

  if (own.wrong) stop(rank, "an operation came damaged or out of its rank's order", 0);
  if (own.applied != operations * ranks) stop(rank, "operations are missing", 0);
  /* Compare the replicas of all ranks. */
  long counter = own.counter;
  int entries = own.entries;
  MPI_Bcast(&counter, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  MPI_Bcast(&entries, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (counter != own.counter || entries != own.entries) stop(rank, "the replicas differ", 0);
  const size_t bytes = (size_t)entries * sizeof(struct entry);
  struct entry* log = malloc(bytes + 1);
  if (log == NULL) stop(rank, "out of memory", 0);
  if (rank == 0 && bytes > 0) memcpy(log, own.log, bytes);
  MPI_Bcast(log, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (bytes > 0 && memcmp(log, own.log, bytes) != 0) stop(rank, "the logs differ", 0);
  free(log);
  free(own.log);
  MPI_Finalize();
  if (rank == 0) {
    printf("%d ranks, %d operations each, counter %ld, %d log entries, %.2f us per operation\n",
           ranks, operations, counter, entries, seconds * 1e6 / ((double)operations * ranks));
    puts("ok");
  }
  return 0;
}
