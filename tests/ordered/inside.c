// Messages are handled at every place where their rank is inside MPI. A rank that waits in an MPI call holds up no
// other rank, however many messages are broadcast meanwhile. Rank 0 waits in one call after the other; the others
// broadcast more than a window holds and only then release it. Then the other places where a program may request
// its handler: only where it polls; and, with
//   --threads    in MPI calls of several threads (MPI_THREAD_MULTIPLE)
//   --by-thread  while the rank computes (needs btl_lfc_policy floating, btl_lfc_upcalls 1)
#include "check.h"

#include <lfc_ordered.h>
#include <pthread.h>
#include <stdatomic.h>

enum { kMessages = 300, kTag = 3 };

static atomic_long handled, inside;

static void handle(void* context, int sender, uint64_t number, const void* data, size_t size) {
  (void)context, (void)sender, (void)number, (void)data, (void)size;
  require(atomic_fetch_add(&inside, 1) == 0, "the handler is called while it runs");
  // The handler may call MPI as long as it does not wait: this call makes progress, but must not deliver the next
  // message.
  int there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag + 1, MPI_COMM_SELF, &there, MPI_STATUS_IGNORE);
  atomic_fetch_sub(&inside, 1);
  atomic_fetch_add(&handled, 1);
}

static lfc_ordered* open_order(int place) {
  lfc_ordered* order = NULL;
  const struct lfc_ordered_options options = {.packet = 64, .window = 16, .handle = place};
  atomic_store(&handled, 0);
  const int error = lfc_ordered_open(MPI_COMM_WORLD, handle, NULL, &options, &order);
  require(error == LFC_ORDERED_OK, "open: %s", lfc_ordered_error(error));
  require(handled == 0, "%ld messages were handled before it was open", (long)handled);
  return order;
}

static void broadcast(lfc_ordered* order, int count) {
  for (int i = 0; i < count; ++i) {
    const int error = lfc_ordered_bcast(order, &i, sizeof i, NULL);
    require(error == LFC_ORDERED_OK, "broadcast %d: %s", i, lfc_ordered_error(error));
  }
}

static void close_order(lfc_ordered* order, long expected) {
  const int error = lfc_ordered_close(&order);
  require(error == LFC_ORDERED_OK, "close: %s", lfc_ordered_error(error));
  require(handled == expected, "%ld messages of %ld have been handled", (long)handled, expected);
}

// --- The calls in which rank 0 waits for rank `from`, and the calls that release it ---

static void in_recv(int from, int* value) {
  MPI_Recv(value, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void in_wait(int from, int* value) {
  MPI_Request request;
  MPI_Irecv(value, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void in_probe(int from, int* value) {
  MPI_Probe(from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  in_recv(from, value);
}
static void in_ssend(int to, int* value) { MPI_Ssend(value, 1, MPI_INT, to, kTag, MPI_COMM_WORLD); }
static void in_barrier(int from, int* value) {
  (void)from, (void)value;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void in_bcast(int from, int* value) { MPI_Bcast(value, 1, MPI_INT, from, MPI_COMM_WORLD); }
static void in_allreduce(int from, int* value) {
  (void)from;
  MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void send(int to, int* value) { MPI_Send(value, 1, MPI_INT, to, kTag, MPI_COMM_WORLD); }

static const struct {
  const char* name;
  void (*wait)(int from, int* value);
  void (*let_go)(int to, int* value);  // by the last rank; null: all call `wait`
} calls[] = {
    {"MPI_Recv", in_recv, send},           {"MPI_Wait", in_wait, send},
    {"MPI_Probe", in_probe, send},         {"MPI_Ssend", in_ssend, in_recv},
    {"MPI_Barrier", in_barrier, NULL},     {"MPI_Bcast", in_bcast, NULL},
    {"MPI_Allreduce", in_allreduce, NULL},
};

static void each_call(void) {
  const int last = ranks - 1;
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    lfc_ordered* order = open_order(LFC_ORDERED_USUAL);
    int value = 1;
    doing("%s", calls[i].name);
    if (me != 0) {
      doing("broadcasts while rank 0 waits in %s", calls[i].name);
      broadcast(order, kMessages);
    }
    if (calls[i].let_go == NULL) {
      calls[i].wait(last, &value);
    } else if (me == 0) {
      calls[i].wait(last, &value);
    } else if (me == last) {
      calls[i].let_go(0, &value);
    }
    doing("close after %s", calls[i].name);
    close_order(order, (long)kMessages * (ranks - 1));
  }
}

// An object opened with LFC_ORDERED_IN_CALLS delivers messages only where the program polls.
static void in_calls_only(void) {
  lfc_ordered* order = open_order(LFC_ORDERED_IN_CALLS);
  int value = 1;
  doing("MPI_Recv without messages");
  if (me == ranks - 1) {
    broadcast(order, 4);
    send(0, &value);
  } else if (me == 0) {
    in_recv(ranks - 1, &value);
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &value, MPI_STATUS_IGNORE);
    require(handled == 0, "%ld messages were handled in MPI_Recv", (long)handled);
  }
  close_order(order, 4);
}

static void* broadcasts_of_a_thread(void* order) {
  state_slot = 1;
  doing("broadcasts of a thread");
  broadcast(order, kMessages);
  int value = 1;
  send((me + 1) % ranks, &value);
  return NULL;
}

static void by_several_threads(void) {
  lfc_ordered* order = open_order(LFC_ORDERED_IN_MPI);
  pthread_t thread;
  int value;
  pthread_create(&thread, NULL, broadcasts_of_a_thread, order);
  doing("MPI_Recv beside a thread");
  in_recv((me + ranks - 1) % ranks, &value);
  pthread_join(thread, NULL);
  doing("close");
  close_order(order, (long)kMessages * ranks);
}

static void while_computing(void) {
  lfc_ordered* order = open_order(LFC_ORDERED_BY_THREAD);
  if (me == ranks - 1) broadcast(order, kMessages);
  doing("compute");
  while (handled < kMessages) continue;
  doing("close");
  close_order(order, kMessages);
}

int main(int argc, char** argv) {
  const bool threads = has_option(argc, argv, "--threads");
  check_start(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  if (threads) {
    by_several_threads();
  } else if (has_option(argc, argv, "--by-thread")) {
    while_computing();
  } else {
    each_call();
    in_calls_only();
  }
  return check_end();
}
