// A rank is killed amid ordered broadcasts. Within seconds each other rank gets an error, from every call from then
// on. The messages delivered before are beginnings of one order. Each survivor prints `survivor R: M messages, hash
// H at N`, unless an MPI call detects the loss first and ends the rank.
#include "check.h"

#include <lfc_ordered.h>
#include <signal.h>

// The dead rank has handled kDeath messages, so all but the last window of them have been delivered to the others.
enum { kWindow = 16, kDeath = 100, kAt = kDeath - kWindow };

static uint64_t handled;
static uint64_t hash;
static uint64_t hash_at;  // after kAt messages

static void handle(void* context, int sender, uint64_t number, const void* data, size_t size) {
  (void)context;
  (void)data;
  hash = scramble(hash * 31 + number * 1000003 + (uint64_t)sender * 65537 + size);
  if (++handled == kAt) hash_at = hash;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  lfc_ordered* order;
  char bytes[100] = {0};
  const struct lfc_ordered_options options = {.window = kWindow};
  int error = lfc_ordered_open(MPI_COMM_WORLD, handle, NULL, &options, &order);
  require(error == LFC_ORDERED_OK, "open: %s", lfc_ordered_error(error));
  uint64_t number = 0;
  for (int i = 0; error == LFC_ORDERED_OK; ++i) {
    doing("broadcast %d", i);
    if (me == 1 && handled >= kDeath) raise(SIGKILL);
    error = lfc_ordered_bcast(order, bytes, (size_t)(i % 100), &number);
    require(i < 10000000, "nobody has died");
  }
  require(me != 1, "still alive");
  require(error == LFC_ORDERED_ERR_LOST, "broadcast: %s", lfc_ordered_error(error));
  error = lfc_ordered_bcast(order, bytes, 1, NULL);
  require(error == LFC_ORDERED_ERR_LOST, "broadcast again: %s", lfc_ordered_error(error));
  // Messages that others had ordered may still be under way; they are delivered first.
  for (int more = 1; (error = lfc_ordered_poll(order, &more)) == LFC_ORDERED_OK;)
    require(more > 0, "poll: neither a message nor the loss");
  require(error == LFC_ORDERED_ERR_LOST, "poll: %s", lfc_ordered_error(error));
  error = lfc_ordered_wait(order, number + 1000000);
  require(error == LFC_ORDERED_ERR_LOST, "wait: %s", lfc_ordered_error(error));
  require(handled > kAt, "only %llu messages", (unsigned long long)handled);
  printf("survivor %d: %llu messages, hash %llx at %d\n", me, (unsigned long long)handled,
         (unsigned long long)hash_at, kAt);
  fflush(stdout);
  error = lfc_ordered_close(&order);
  require(error == LFC_ORDERED_ERR_LOST && order == NULL, "close: %s", lfc_ordered_error(error));
  _exit(0);  // MPI itself cannot end without the dead rank
}
