/* NEON for MPI programs: announce, put, notify and complete, each separate.
 *
 * A rank *announces* a buffer under a tag to the ranks that may write it; they put into (rank, tag, offset). The last
 * put of a round carries the notification, and the origin completes its puts at any later time. There are no epochs, no
 * handles to exchange and no hidden barriers. Needs libmpix_neon.
 *
 *   MPIX_Neon_attach(win);                                   // once, collective
 *   int left_and_right[2] = {left, right};
 *   MPI_Request halo, put[2];
 *   MPIX_Neon_announce_init(0, 2 * n, 2, left_and_right, 7, 0, win, &halo);
 *   for (int i = 0; i < rounds; ++i) {
 *     MPI_Start(&halo);                                      // the buffer is free
 *     first_and_last_row(out);
 *     MPIX_Neon_put(out, n, MPI_BYTE, left, 7, n, n, MPI_BYTE, MPIX_NEON_FINAL, win, &put[0]);
 *     MPIX_Neon_put(out + n, n, MPI_BYTE, right, 7, 0, n, MPI_BYTE, MPIX_NEON_FINAL, win, &put[1]);
 *     all_other_rows();
 *     MPI_Wait(&halo, MPI_STATUS_IGNORE);                    // both have notified
 *     MPI_Waitall(2, put, MPI_STATUSES_IGNORE);              // `out` may be changed
 *   }
 *   MPI_Request_free(&halo);
 *
 * The functions return MPI error codes, after the window's error handler. They may be called by
 * several threads under MPI_THREAD_MULTIPLE. Rules, costs and more examples: mca/libraries/mpix_neon/README.md.
 * Source: L. Schneidenbach, NEON (2009), 5.2; notified access: MPI Forum issue 59.
 */
#ifndef MPIX_NEON_H
#define MPIX_NEON_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* How a window serves these calls (MPIX_Neon_query). */
#define MPIX_NEON_ABSENT 0   /* not attached */
#define MPIX_NEON_EMULATED 1 /* by messages; progress whenever a rank is inside MPI */
#define MPIX_NEON_NATIVE 2   /* by the LFC engine; progress whenever a rank is inside MPI */
#define MPIX_NEON_ASYNC 3    /* by the LFC engine; progress also while all ranks compute */

/* Flags of a put or get. */
#define MPIX_NEON_FINAL 0x0     /* this put or get notifies */
#define MPIX_NEON_NON_FINAL 0x1 /* a later one notifies */
#define MPIX_NEON_STRONG \
  0x2 /* put: its request completes when the bytes are in the target's buffer */
/* Flag of an announcement. */
#define MPIX_NEON_PERSISTENT 0x4 /* stays announced; see MPIX_Neon_announce_init */

#define MPIX_NEON_ALL (-1) /* MPIX_Neon_complete: all targets */

/* Attaches NEON to a window: collective over its processes, and before any other call of this file. The engine serves
 * it if LFC's `osc neon` serves the window; otherwise messages on a separate communicator do. It ends with the window.
 * MPI_ERR_UNSUPPORTED_OPERATION: the library was built for another Open MPI version, or `osc neon` does not serve the
 * window and it has processes outside MPI_COMM_WORLD. */
int MPIX_Neon_attach(MPI_Win win);
/* Stores how the window is served (MPIX_NEON_ABSENT to _ASYNC) in *level. Local; does not wait. */
int MPIX_Neon_query(MPI_Win win, int* level);

/* --- Target --- */

/* Makes an inactive persistent request for the buffer of `size` bytes at displacement `disp` of the
 * caller's window, named `tag` (0 ... 2^31-1) to `nranks` different ranks of the window.
 *   MPI_Start(ann)          announces the buffer (again): from now on the origins own its contents
 *   MPI_Wait, MPI_Test ...  complete when each rank has notified: the caller owns its contents
 *   MPI_Request_free(ann)   withdraws the name; later frames for it are discarded. While it is announced: waits
 *                           until no origin writes to it any more, and drives progress meanwhile
 * The k-th final put of an origin belongs to the k-th announcement of the tag that names it. Starting fails
 * with MPI_ERR_RMA_CONFLICT while the tag is announced to one of the ranks; a put that did not fit
 * completes the request with MPI_ERR_RMA_RANGE.
 * MPIX_NEON_PERSISTENT: the buffer stays open to all until the request is freed. The request completes at
 * once; 4- and 8-byte aligned puts are never seen in halves; notifications only count
 * (MPIX_Neon_arrived). */
int MPIX_Neon_announce_init(MPI_Aint disp, MPI_Aint size, int nranks, const int ranks[], int tag,
                            int flags, MPI_Win win, MPI_Request* ann);
/* Stores the number of ranks that have notified since the last start in *count, and the ranks in `ranks` in the order
 * of arrival. `ranks` may be null, or has room for all. Persistent: stores only the number of notifications since the
 * beginning. Drives progress, does not wait. */
int MPIX_Neon_arrived(MPI_Request ann, int* count, int ranks[]);

/* --- Origin: no call blocks --- */

/* Writes to byte `offset` of the buffer (target, tag). A put before the announcement is kept at the target if it is
 * small, otherwise at the origin. The request completes when the origin's memory may be reused; that of a final put
 * covers all puts to (target, tag) before it. `req` may be null: see MPIX_Neon_complete. */
int MPIX_Neon_put(const void* origin, int count, MPI_Datatype type, int target, int tag,
                  MPI_Aint offset, int target_count, MPI_Datatype target_type, int flags,
                  MPI_Win win, MPI_Request* req);
/* Notifies (target, tag) of all puts to it since the last notification: a final put of 0 bytes. */
int MPIX_Neon_notify(int target, int tag, MPI_Win win);
/* Reads from the buffer (target, tag) once it is announced. Its notification follows when the target's bytes have been
 * read. `flags` is MPIX_NEON_FINAL or _NON_FINAL, as in a put: a get that MPIX_Neon_notify follows is _NON_FINAL.
 * `req` must not be null. */
int MPIX_Neon_get(void* origin, int count, MPI_Datatype type, int target, int tag, MPI_Aint offset,
                  int target_count, MPI_Datatype target_type, int flags, MPI_Win win,
                  MPI_Request* req);
/* Waits until the memory of all puts and gets of the caller to `target` may be reused. Sends no notification. Returns
 * the first error of puts without a request. */
int MPIX_Neon_complete(int target, MPI_Win win);

/* --- Notified access: counters that operations at other ranks increment --- */

/* Gives the window `count` counters for each rank, all 0. Collective; attaches NEON to the window if necessary. */
int MPIX_Win_set_num_notify(MPI_Win win, MPI_Info info, int count);
/* Stores the number of counters for each rank in *count. Local. */
int MPIX_Win_get_num_notify(MPI_Win win, int* count);

/* Work like MPI_Put, MPI_Get and so on, and increment counter `idx` at the target when all of the operation has been
 * done there. Put and get may be called outside of epochs, and return when the origin's memory may be reused.
 * Accumulates need a passive target epoch (MPI_Win_lock...). */
int MPIX_Put_notify(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                    int target_count, MPI_Datatype target_type, int idx, MPI_Win win);
int MPIX_Get_notify(void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                    int target_count, MPI_Datatype target_type, int idx, MPI_Win win);
int MPIX_Accumulate_notify(const void* origin, int count, MPI_Datatype type, int target,
                           MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                           int idx, MPI_Win win);
int MPIX_Get_accumulate_notify(const void* origin, int count, MPI_Datatype type, void* result,
                               int result_count, MPI_Datatype result_type, int target,
                               MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                               int idx, MPI_Win win);
/* Work like MPIX_Put_notify and MPIX_Get_notify, but return at once. The request completes when the origin's memory may
 * be reused. */
int MPIX_Rput_notify(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                     int target_count, MPI_Datatype target_type, int idx, MPI_Win win,
                     MPI_Request* req);
int MPIX_Rget_notify(void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                     int target_count, MPI_Datatype target_type, int idx, MPI_Win win,
                     MPI_Request* req);

/* Stores the value of one of the caller's own counters in *value. It drives progress, so a loop that only reads
 * ends. */
int MPIX_Win_get_notify_value(MPI_Win win, int idx, uint64_t* value);
/* Sets the counter to 0 and stores its former value in *value, atomically. */
int MPIX_Win_reset_notify_value(MPI_Win win, int idx, uint64_t* value);
/* Sets the counter to `value`. */
int MPIX_Win_set_notify_value(MPI_Win win, int idx, uint64_t value);
/* Tests whether the counter is at least `expected`, or waits until it is. */
int MPIX_Win_test_notify(MPI_Win win, int idx, uint64_t expected, int* flag);
int MPIX_Win_wait_notify(MPI_Win win, int idx, uint64_t expected);
/* Waits until one of the counters first ... first+count-1 is not 0, and stores its index in *idx. */
int MPIX_Win_waitsome_notify(MPI_Win win, int first, int count, int* idx);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
