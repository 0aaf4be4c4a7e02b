/* NEON for MPI programs: announce, put, notify and complete, each separate.
 *
 * A rank *announces* a buffer under a tag to the ranks that may write it; they put into (rank, tag,
 * offset). The last put of a round carries the notification, and the origin completes whenever it
 * likes. No epoch, no handle to exchange, no barrier that nobody wrote. Needs libmpix_neon.
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
#define MPIX_NEON_NATIVE 2   /* by the LFC engine; progress likewise */
#define MPIX_NEON_ASYNC 3    /* likewise; progress also while all ranks compute */

/* Flags of a put. */
#define MPIX_NEON_FINAL 0x0     /* this put notifies */
#define MPIX_NEON_NON_FINAL 0x1 /* a later one does */
#define MPIX_NEON_STRONG 0x2 /* its request completes when the bytes are in the target's buffer */
/* Flag of an announcement. */
#define MPIX_NEON_PERSISTENT 0x4 /* never used up; see MPIX_Neon_announce_init */

#define MPIX_NEON_ALL (-1) /* MPIX_Neon_complete: all targets */

/* Collective over the window's processes, once, before any other call here. Where LFC's `osc neon`
 * serves the window it is native, otherwise it works by messages on a communicator of its own. Ends
 * with the window. MPI_ERR_UNSUPPORTED_OPERATION: another Open MPI version than this was built
 * for, or a window that spans processes outside MPI_COMM_WORLD. */
int MPIX_Neon_attach(MPI_Win win);
/* Local. */
int MPIX_Neon_query(MPI_Win win, int* level);

/* --- Target --- */

/* Makes an inactive persistent request for the buffer of `size` bytes at displacement `disp` of the
 * caller's window, named `tag` (0 ... 2^31-1) to `nranks` different ranks of the window.
 *   MPI_Start(ann)          announces it (again): its contents are the origins' from now on
 *   MPI_Wait, MPI_Test ...  complete when each rank has notified: its contents are the caller's
 *   MPI_Request_free(ann)   withdraws the name; what still comes for it is discarded. While it is announced: waits
 *                           until no origin writes to it any more, and drives progress meanwhile
 * The k-th final put of an origin belongs to the k-th announcement of the tag that names it. Starting fails
 * with MPI_ERR_RMA_CONFLICT while the tag is announced to one of the ranks; a put that did not fit
 * completes the request with MPI_ERR_RMA_RANGE.
 * MPIX_NEON_PERSISTENT: the buffer stays open to all until the request is freed. The request completes at
 * once; 4- and 8-byte aligned puts are never seen in halves; notifications only count
 * (MPIX_Neon_arrived). */
int MPIX_Neon_announce_init(MPI_Aint disp, MPI_Aint size, int nranks, const int ranks[], int tag,
                            int flags, MPI_Win win, MPI_Request* ann);
/* Who has notified since the last start: their number, and (unless `ranks` is null, which has room for
 * all) who, in the order of arrival. Persistent: only the number, since the beginning. */
int MPIX_Neon_arrived(MPI_Request ann, int* count, int ranks[]);

/* --- Origin: no call blocks --- */

/* Writes to byte `offset` of the buffer (target, tag). An early put is kept at the target if it is
 * small, here otherwise. The request completes when the origin's memory may be reused; that of a final
 * put covers all puts to (target, tag) before it. `req` may be null: see MPIX_Neon_complete. */
int MPIX_Neon_put(const void* origin, int count, MPI_Datatype type, int target, int tag,
                  MPI_Aint offset, int target_count, MPI_Datatype target_type, int flags,
                  MPI_Win win, MPI_Request* req);
/* Notifies (target, tag) of all puts to it since the last notification: a final put of 0 bytes. */
int MPIX_Neon_notify(int target, int tag, MPI_Win win);
/* Reads from the buffer (target, tag) once it is announced. `req` must not be null. */
int MPIX_Neon_get(void* origin, int count, MPI_Datatype type, int target, int tag, MPI_Aint offset,
                  int target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* req);
/* Waits until the memory of all own puts and gets to `target` may be reused. Notifies nobody. */
int MPIX_Neon_complete(int target, MPI_Win win);

/* --- Notified access: counters that operations at other ranks increment --- */

/* Collective: the window gets `count` counters per rank, all 0. Attaches it if need be. */
int MPIX_Win_set_num_notify(MPI_Win win, MPI_Info info, int count);
int MPIX_Win_get_num_notify(MPI_Win win, int* count);

/* As MPI_Put, ...; when the operation has been done at the target, data and all, counter `idx` there is
 * incremented. Put and get: outside of epochs too; complete on return as far as the origin's
 * memory is concerned. Accumulates: within a passive target epoch (MPI_Win_lock...). */
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
/* As above, but they return at once and the request tells when the origin's memory may be reused. */
int MPIX_Rput_notify(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                     int target_count, MPI_Datatype target_type, int idx, MPI_Win win,
                     MPI_Request* req);
int MPIX_Rget_notify(void* origin, int count, MPI_Datatype type, int target, MPI_Aint disp,
                     int target_count, MPI_Datatype target_type, int idx, MPI_Win win,
                     MPI_Request* req);

/* The caller's own counters. Reading drives progress, so a loop that only reads ends. */
int MPIX_Win_get_notify_value(MPI_Win win, int idx, uint64_t* value);
/* Sets the counter to 0 and returns what it was, as one step. */
int MPIX_Win_reset_notify_value(MPI_Win win, int idx, uint64_t* value);
int MPIX_Win_set_notify_value(MPI_Win win, int idx, uint64_t value);
/* Whether the counter is at least `expected`; wait: until it is. */
int MPIX_Win_test_notify(MPI_Win win, int idx, uint64_t expected, int* flag);
int MPIX_Win_wait_notify(MPI_Win win, int idx, uint64_t expected);
/* Waits until one of the counters first ... first+count-1 is not 0, and returns which. */
int MPIX_Win_waitsome_notify(MPI_Win win, int first, int count, int* idx);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
