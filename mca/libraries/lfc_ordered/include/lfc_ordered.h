/* Totally ordered broadcast for MPI programs: all ranks broadcast, and all take all messages in one order.
 *
 *   static void add(void* total, int sender, uint64_t number, const void* data, size_t size) {
 *     *(long*)total += *(const long*)data;                   // the same order on all ranks
 *   }
 *   long total = 0, amount = 7;
 *   lfc_ordered* order;
 *   uint64_t number;
 *   if (lfc_ordered_open(MPI_COMM_WORLD, add, &total, NULL, &order) != LFC_ORDERED_OK) ...
 *   lfc_ordered_bcast(order, &amount, sizeof amount, &number);
 *   lfc_ordered_wait(order, number);                         // it has been applied here
 *   lfc_ordered_close(&order);
 *
 * The handler is called for every message, the caller's own included, inside the functions below and inside
 * any MPI call that waits or polls (where else, or not there: lfc_ordered_options.handle). It must not call the
 * functions below for the same object, nor an MPI call that waits; it may start nonblocking ones. Messages
 * of one sender keep their order.
 * Needs `btl lfc` (mpirun --mca btl lfc) and liblfc_ordered. Calls count as MPI calls: between MPI_Init and
 * MPI_Finalize, on threads that may call MPI, and one thread at a time for one object. Close an object before
 * what its handler uses is gone.
 * What it promises, costs and does when a rank dies: mca/libraries/lfc_ordered/README.md.
 * Source: R.A.F. Bhoedjang (2000), 6.4: Panda's GSB.
 */
#ifndef LFC_ORDERED_H
#define LFC_ORDERED_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef struct lfc_ordered lfc_ordered;

enum {
  LFC_ORDERED_OK = 0,
  LFC_ORDERED_ERR_ARGUMENT,    /* null, out of range, or not the same on all ranks */
  LFC_ORDERED_ERR_UNAVAILABLE, /* a rank has no LFC engine, or cannot reach another by it */
  LFC_ORDERED_ERR_SIZE,        /* larger than lfc_ordered_max() */
  LFC_ORDERED_ERR_NESTED,      /* called by the handler */
  LFC_ORDERED_ERR_LOST,        /* a rank has died or closed: nothing can be ordered any more */
  LFC_ORDERED_ERR_PROTOCOL,    /* a rank has sent what no LFC sends; likewise */
  LFC_ORDERED_ERR_MPI,         /* an MPI call has failed */
  LFC_ORDERED_ERR_MEMORY
};

/* `sender` is a rank of the communicator; `number` grows from message to message, not always by one;
 * `data` is valid during the call. */
typedef void lfc_ordered_handler(void* context, int sender, uint64_t number, const void* data,
                                 size_t size);

/* Where the handler is called; never by two threads at the same time, whichever is chosen. */
enum lfc_ordered_place {
  LFC_ORDERED_USUAL = 0, /* IN_MPI; with MPI_THREAD_SERIALIZED and _MULTIPLE, IN_CALLS */
  LFC_ORDERED_IN_CALLS, /* in the functions of the object. A rank that waits in MPI takes nothing: see `window` */
  LFC_ORDERED_IN_MPI,   /* likewise, and in any MPI call, by the thread whose call it is */
  LFC_ORDERED_BY_THREAD /* likewise, and by the engine's own thread while the rank computes,
                            where the job has it (btl_lfc_upcalls 1): the handler then needs locks */
};

/* The same on all ranks, but for `handle`; 0: the default. */
struct lfc_ordered_options {
  size_t packet;   /* bytes that go under one number [4096]; 64 or more */
  unsigned window; /* packets that may be under way or wait for their turn, 4 to 65536 [256] */
  int sequencer;   /* rank whose engine hands out the numbers [0] */
  unsigned fan;    /* children of an inner node of a tree on either side of the root, 1 to 16 [2] */
  int handle;      /* enum lfc_ordered_place [LFC_ORDERED_USUAL] */
};

/* Collective over `comm`, an intra-communicator; several objects may be open on one. Memory: window *
 * packet bytes at each rank. The handler is called when it has returned, not before. `options` may be NULL. On an error
 * *out is NULL on all ranks. */
int lfc_ordered_open(MPI_Comm comm, lfc_ordered_handler* handler, void* context,
                     const struct lfc_ordered_options* options, lfc_ordered** out);
/* Bytes of the largest message: half a window. */
size_t lfc_ordered_max(const lfc_ordered* order);
/* Broadcasts; returns when `data` may be reused, with the message's number in *number unless that is
 * NULL. Calls the handler for what comes meanwhile. Waits while a rank is a window behind. */
int lfc_ordered_bcast(lfc_ordered* order, const void* data, size_t size, uint64_t* number);
/* Calls the handler for what has come; *handled (may be NULL) counts the calls. Does not wait. */
int lfc_ordered_poll(lfc_ordered* order, int* handled);
/* Waits until the message with this number has been handled here. */
int lfc_ordered_wait(lfc_ordered* order, uint64_t number);
/* Collective: handles everything that was broadcast before all have called it, and frees. After
 * LFC_ORDERED_ERR_LOST or _PROTOCOL it is local. *order becomes NULL. */
int lfc_ordered_close(lfc_ordered** order);
/* What an error means, in a few words. */
const char* lfc_ordered_error(int error);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
