/* NEON with its thesis' own names (L. Schneidenbach, 2009, 5.2); implemented like mpix_neon.h.
 *
 *   NEON_Init();                                             // collective, after MPI_Init
 *   neon_memhandle memory = NEON_Register(cells, bytes, 0);
 *   neon_status status;
 *   neon_handle halo = NEON_Post(row, n, 1, &neighbour, TAG, memory, &status);
 *   neon_handle put = NEON_Put(border, n, neighbour, TAG, 0, 0, memory, &status);    // notifies
 *   NEON_Wait(put, 0);
 *   NEON_Wait(halo, 0);
 *   NEON_Repost(halo, &status);
 *
 * Ranks are those of MPI_COMM_WORLD. A handle of 0 means that the call failed, and `status` has the reason: then
 * nothing has happened. The handle of a put or get ends when NEON_Wait or NEON_Test reports it complete or failed; the
 * handle of a post ends with NEON_Unpost. A call with an invalid or ended handle returns an error: MPI_ERR_REQUEST,
 * negated, for an operation. The thesis defines no start and end: NEON_Init and NEON_Finalize are additions.
 */
#ifndef NEON_H
#define NEON_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef struct neon_job* neon_handle;
typedef struct neon_memory* neon_memhandle;
typedef int neon_flag_t;
typedef int neon_status; /* NEON_COMPLETE, NEON_PENDING, or an error: an MPI error code, negated */

#define NEON_COMPLETE 0
#define NEON_PENDING 1

#define NON_FINAL 0x1 /* NEON_Put, NEON_Get: does not notify */
#define STRONG \
  0x2 /* NEON_Put, NEON_Wait, NEON_Test: complete when the bytes are in the target's buffer */
#define WEAK 0x0 /* ...: complete when the origin's buffer may be reused */

int NEON_Init(void); /* starts NEON; collective over MPI_COMM_WORLD. -MPI_ERR_COMM: there is none */
int NEON_Finalize(void); /* ends NEON; collective over MPI_COMM_WORLD */

/* Registers memory for communication. The buffer of each later call must lie in one registered piece, unless it has no
 * bytes. The caller owns the memory. No flags are defined: 0. Null: NEON_Init has not been called, or an argument is
 * invalid. */
neon_memhandle NEON_Register(void* address, size_t size, int flags);
/* Ends a registration. The memory itself is not freed. An error: there is no such registration. */
int NEON_Unregister(neon_memhandle memory);

/* Announces the buffer under `tag` (0 ... 2^31-1) to the ranks, and returns a handle. It completes when each of them
 * has notified. Does not wait. The errors are those of MPIX_Neon_announce_init and of MPI_Start. */
neon_handle NEON_Post(void* address, size_t size, int num_ranks, const int* list_of_ranks, int tag,
                      neon_memhandle memory, neon_status* status);
/* Announces the buffer of a completed post once more, at less cost than NEON_Post. */
int NEON_Repost(neon_handle post, neon_status* status);
/* Withdraws the buffer and frees the handle. Waits until no rank writes to it any more. */
int NEON_Unpost(neon_handle post);

/* Writes `size` bytes to byte `offset` of the buffer (dest_rank, tag). Notifies unless `flags` contains NON_FINAL. Does
 * not wait. A notification alone is a put of no bytes, which needs no memory:
 *   NEON_Put(NULL, 0, dest_rank, tag, 0, 0, NULL, &status) */
neon_handle NEON_Put(const void* buffer, size_t size, int dest_rank, int tag, size_t offset,
                     int flags, neon_memhandle memory, neon_status* status);
/* Reads `size` bytes from byte `offset` of the buffer (source_rank, tag) once it is announced. Notifies, when the bytes
 * have been read, unless `flags` contains NON_FINAL. Does not wait. */
neon_handle NEON_Get(void* buffer, size_t size, int source_rank, int tag, size_t offset, int flags,
                     neon_memhandle memory, neon_status* status);
/* Waits for the operation, or tests it. Both return NEON_COMPLETE or an error; NEON_Test returns NEON_PENDING while the
 * operation is under way. `flags` is WEAK or STRONG; for a post or get both mean the same. With STRONG a put is
 * complete when it and the caller's earlier puts to its announcement are in the buffer, so not before the announcement.
 * That costs a small message to the target and one back. It is an error if the announcement was withdrawn, or if a put
 * of the caller to it does not fit. A put that was begun with STRONG is in the buffer when it is complete, with any
 * flag. */
int NEON_Wait(neon_handle handle, neon_flag_t flags);
int NEON_Test(neon_handle handle, neon_flag_t flags);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
