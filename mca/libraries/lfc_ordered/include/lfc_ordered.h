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
 * The handler is called for every message, the caller's own included, inside the functions below and inside any MPI
 * call that waits or polls; lfc_ordered_options.handle changes that. It must not call the functions below for the same
 * object, nor an MPI call that waits; it may start nonblocking ones. Messages of one sender keep their order.
 * Needs `btl lfc` (mpirun --mca btl lfc) and liblfc_ordered. Calls count as MPI calls: between MPI_Init and
 * MPI_Finalize, on threads that may call MPI, and one thread at a time for one object. Close an object before you free
 * the data that its handler uses.
 * Guarantees, costs and the loss of a rank: mca/libraries/lfc_ordered/README.md.
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
  LFC_ORDERED_ERR_LOST, /* a rank has failed or has closed the object: no later message will be ordered */
  LFC_ORDERED_ERR_PROTOCOL, /* a rank has sent an invalid frame: no later message will be ordered */
  LFC_ORDERED_ERR_MPI,      /* an MPI call has failed */
  LFC_ORDERED_ERR_MEMORY
};

/* `sender` is a rank of the communicator; `number` grows from message to message, not always by one;
 * `data` is valid during the call. */
typedef void lfc_ordered_handler(void* context, int sender, uint64_t number, const void* data,
                                 size_t size);

/* Where the handler is called. At most one thread calls it at a time, wherever that is. */
enum lfc_ordered_place {
  LFC_ORDERED_USUAL = 0, /* IN_MPI; with MPI_THREAD_SERIALIZED and _MULTIPLE, IN_CALLS */
  LFC_ORDERED_IN_CALLS, /* in the functions of the object. A rank that waits in MPI takes no message: see `window` */
  LFC_ORDERED_IN_MPI,   /* also in any MPI call, by the thread that makes the call */
  LFC_ORDERED_BY_THREAD /* also by the engine's helper thread while the rank computes, if
                            btl_lfc_upcalls is 1: the handler then needs locks */
};

/* Options of lfc_ordered_open(). All but `handle` must be equal on all ranks; 0 means the default. */
struct lfc_ordered_options {
  size_t packet;   /* bytes of a message that share one number: 64 or more [4096] */
  unsigned window; /* packets that may be under way or wait for delivery: 4 to 65536 [256] */
  int sequencer;   /* rank whose engine hands out the numbers [0] */
  unsigned fan;    /* children of an inner node of a tree on either side of the root, 1 to 16 [2] */
  int handle;      /* enum lfc_ordered_place [LFC_ORDERED_USUAL] */
};

/* Opens an object for ordered broadcasts: collective over `comm`, an intra-communicator, which may carry several
 * objects. It takes window * packet bytes of memory at each rank. The handler is not called before this function has
 * returned. `options` may be NULL. On an error *out is NULL on all ranks. Free the object with lfc_ordered_close(). */
int lfc_ordered_open(MPI_Comm comm, lfc_ordered_handler* handler, void* context,
                     const struct lfc_ordered_options* options, lfc_ordered** out);
/* Returns the size of the largest message in bytes, which is half a window; 0 if `order` is NULL. */
size_t lfc_ordered_max(const lfc_ordered* order);
/* Broadcasts a message, and returns when `data` may be reused. Stores the message's number in *number unless `number`
 * is NULL. Waits while a rank is a full window behind. Calls the handler for messages that arrive meanwhile. */
int lfc_ordered_bcast(lfc_ordered* order, const void* data, size_t size, uint64_t* number);
/* Calls the handler for the messages that have arrived, and stores their number in *handled unless that is NULL. Does
 * not wait. */
int lfc_ordered_poll(lfc_ordered* order, int* handled);
/* Waits until the message with this number has been handled on this rank. */
int lfc_ordered_wait(lfc_ordered* order, uint64_t number);
/* Handles all messages that were broadcast before all ranks have called it, frees the object and sets *order to NULL.
 * Collective, and waits for all ranks; after LFC_ORDERED_ERR_LOST or _PROTOCOL it is local. */
int lfc_ordered_close(lfc_ordered** order);
/* Returns a short description of an error code, as a static string. */
const char* lfc_ordered_error(int error);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
