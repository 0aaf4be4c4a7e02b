/* NEON as its inventor wrote it (L. Schneidenbach, 2009, 5.2): the thesis' own names, on mpix_neon.h.
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
 * Ranks are those of MPI_COMM_WORLD. A handle of 0 says that the call failed, `status` why. A put's or get's
 * handle ends with the successful NEON_Wait or NEON_Test; a post's with NEON_Unpost. The thesis
 * leaves start and end to the surroundings: NEON_Init and NEON_Finalize are ours.
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

#define NON_FINAL 0x1 /* NEON_Put: does not notify */
#define STRONG 0x2    /* NEON_Wait of a put posted with it: until delivered in the destination */
#define WEAK 0x0      /* until local completion */

int NEON_Init(void);     /* collective over MPI_COMM_WORLD */
int NEON_Finalize(void); /* likewise */

/* Memory for communication; all buffers of a call lie in one. Null: failed. */
neon_memhandle NEON_Register(void* address, size_t size, int flags);
int NEON_Unregister(neon_memhandle memory);

/* Announces the buffer as `tag` to the ranks; light again with NEON_Repost. */
neon_handle NEON_Post(void* address, size_t size, int num_ranks, const int* list_of_ranks, int tag,
                      neon_memhandle memory, neon_status* status);
int NEON_Repost(neon_handle post, neon_status* status);
int NEON_Unpost(neon_handle post);

neon_handle NEON_Put(const void* buffer, size_t size, int dest_rank, int tag, size_t offset,
                     int flags, neon_memhandle memory, neon_status* status);
neon_handle NEON_Get(void* buffer, size_t size, int source_rank, int tag, size_t offset, int flags,
                     neon_memhandle memory, neon_status* status);
/* 0: complete. NEON_Test: NEON_PENDING if not yet. Others: an error. */
int NEON_Wait(neon_handle handle, neon_flag_t flags);
int NEON_Test(neon_handle handle, neon_flag_t flags);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
