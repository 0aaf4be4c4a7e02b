/* Collectives: LFC's collectives for the C code of `coll lfc`.
 *
 *   lfc_coll_open(&options, &size);              publish facts, before the start-up exchange
 *   lfc_coll_start_service(threads);             when the NI of the process is open
 *   for (int i = 0; i < count; ++i) lfc_coll_introduce(processes[i], facts, size, address, size);
 *   lfc_coll_communicator* communicator =
 *       lfc_coll_join(key, processes, count, self, LFC_COLL_COMMUNICATOR, why, sizeof why);
 *   enum lfc_coll_status status = lfc_coll_run(communicator, &call);
 *   lfc_coll_leave(communicator);
 *
 * Threads: any, except that open, start_service and close are called alone.
 */
#ifndef LFC_COLLECTIVES_H
#define LFC_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/collective_call.h"
#include "lfc/parameters.h"
#include "lfc/short_path.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lfc_coll_communicator lfc_coll_communicator;

struct lfc_coll_options {
  struct lfc_coll_parameters parameters; /* of the component, set by the user */
  bool crowded;          /* more ranks than cores on this node: a waiting rank yields its core */
  int (*progress)(void); /* one pass of Open MPI, for a rank that waits: may yield the core */
  int (*progress_nowait)(void); /* the same for a rank that does not wait: keeps the core */
  bool (*prints_losses)(void);  /* whether a lost rank is worth a line on standard error */
};

struct lfc_coll_process {
  uint32_t job, rank;
};

/* Room for an operation that lfc_coll_start() begins. It must stay valid until `done` has been called. */
typedef struct lfc_coll_operation {
  void* room[40];
} lfc_coll_operation;
typedef void (*lfc_coll_done)(lfc_coll_operation* operation, enum lfc_coll_status status);
/* Returns why the caller's communicator can do no collective any more, LFC_COLL_LOST or LFC_COLL_REVOKED; LFC_COLL_OK:
 * it can. Called by any thread that waits. */
typedef enum lfc_coll_status (*lfc_coll_fault)(const void* host);

/* Opens the collectives of the process with checked parameters. Returns the facts that this process must publish, and
 * their size; they belong to the library. Returns NULL if memory is short. */
const void* lfc_coll_open(const struct lfc_coll_options* options, size_t* size);
/* Closes the collectives of the process. */
void lfc_coll_close(void);
/* Starts the service in the engine of the process, which accepts packets for groups to come from now on. `threads`:
 * several threads call at the same time. Returns false if no engine is open. */
bool lfc_coll_start_service(bool threads);

/* Returns whether lfc_coll_introduce() was called for this process. */
bool lfc_coll_knows(struct lfc_coll_process process);
/* Stores the facts and the address that a process has published. With `facts_size` 0 it takes part in no group. Does
 * nothing if the collectives are not open, or know the process. */
void lfc_coll_introduce(struct lfc_coll_process process, const void* facts, size_t facts_size,
                        const void* address, size_t address_size);
/* Returns a copy of the address of a process that takes part, which the caller frees, and its size. NULL: it is not
 * known, or memory is short. */
void* lfc_coll_copy_address(struct lfc_coll_process process, size_t* size);

/* A number of a communicator. If it is unique, only the groups of that communicator's requests have it later. Otherwise
 * the process stores how often it was used, for each list of ranks. */
struct lfc_coll_key {
  uint64_t number;
  bool is_unique;
};
/* Makes the state of a communicator: `self` is this rank among the `count` processes. Returns NULL if LFC does not
 * serve it, for a reason in `why` that all its ranks have. `key` is the same at all its ranks. No other communicator of
 * any of them has it at this time, except communicators that the same ranks make in the same order. */
lfc_coll_communicator* lfc_coll_join(struct lfc_coll_key key,
                                     const struct lfc_coll_process* processes, int count, int self,
                                     enum lfc_coll_use use, char* why, size_t why_size);
/* Returns for how many communicators at a time, of any process, a node has boards. */
uint32_t lfc_coll_most_communicators(void);
/* Returns which parts of the group this rank can reach. Its ranks combine the results by AND, and pass them to
 * lfc_coll_agree(). Without LFC_COLL_BOARDS no group is served, and without LFC_COLL_NODES none of several nodes.
 * Without LFC_COLL_MEMORY no rank reads the memory of local peers. Without LFC_COLL_ROOM this group is not served: a
 * node has no board left, or a rank has too little address space to map one. Without LFC_COLL_UNLIMITED the address
 * space of a rank is limited, so each group has to agree on its room. */
enum {
  LFC_COLL_BOARDS = 1,
  LFC_COLL_NODES = 2,
  LFC_COLL_MEMORY = 4,
  LFC_COLL_ROOM = 8,
  LFC_COLL_UNLIMITED = 16
};
unsigned lfc_coll_reach(const lfc_coll_communicator* communicator);
/* Sets the parts that all ranks of the group can reach. Returns whether LFC serves it. */
bool lfc_coll_agree(lfc_coll_communicator* communicator, unsigned found);
/* Sets the parts that all ranks of the job can reach. */
void lfc_coll_agree_for_job(unsigned found);
/* Calls lfc_coll_agree() with the parts that all ranks of the job can reach. Returns false if the ranks of the group
 * have to agree for themselves: these parts are not set, the group has ranks of other jobs, or it would be served and
 * LFC_COLL_UNLIMITED is missing. */
bool lfc_coll_agree_as_job(lfc_coll_communicator* communicator);
/* Returns whether its ranks have agreed that LFC serves it. */
bool lfc_coll_serves(const lfc_coll_communicator* communicator);
/* Combines a word of all ranks of the job by AND in shared memory, and waits for them asleep. Call it at most once in
 * the life of the process, for a communicator of the whole job, before there are other threads. Returns false at all
 * ranks alike in these cases: they run on several nodes; some rank cannot reach the memory of another one; some rank
 * has ended; no rank has arrived for 5 s while others waited. Combine the words by other means then. */
bool lfc_coll_combine_on_node(const lfc_coll_communicator* communicator, uint32_t* word);
/* Calls fault(host) now and then while a rank waits for a collective, until lfc_coll_leave(). If it returns a fault,
 * the active and all later operations end with that status, at all ranks. */
void lfc_coll_watch(lfc_coll_communicator* communicator, lfc_coll_fault fault, const void* host);
/* Frees the communicator. All its operations must have finished. */
void lfc_coll_leave(lfc_coll_communicator* communicator);
/* Leaves the remaining groups, in MPI_Finalize. They do nothing more, and a process that exits is no loss to them. */
void lfc_coll_leave_rest(void);

/* Returns whether the operation is defined for the type. */
bool lfc_coll_combines(enum lfc_op op, enum lfc_element type);
/* Runs the collective and waits for its end; calls options.progress() meanwhile. */
enum lfc_coll_status lfc_coll_run(lfc_coll_communicator* communicator,
                                  const struct lfc_coll_call* call);
/* Runs the collective if that takes no waiting. Returns false otherwise; lfc_coll_run() or lfc_coll_start() must follow
 * and repeats everything that was done. */
LFC_SHORT_PATH bool lfc_coll_try(lfc_coll_communicator* communicator,
                                 const struct lfc_coll_call* call, enum lfc_coll_status* status);
/* Starts the collective. This call or lfc_coll_progress() calls `done`. Buffers stay in use until then. */
void lfc_coll_start(lfc_coll_communicator* communicator, const struct lfc_coll_call* call,
                    lfc_coll_operation* operation, lfc_coll_done done);
/* Makes one pass over all groups with started operations. Returns the number of events. */
int lfc_coll_progress(void);

/* Returns the number of nodes that the group's ranks run on. */
unsigned lfc_coll_nodes(const lfc_coll_communicator* communicator);
/* Returns whether the group serves alltoall, gatherv and scatterv: all ranks share a node, and have agreed that they
 * read each other's memory. */
bool lfc_coll_reads_memory(const lfc_coll_communicator* communicator);
/* Returns whether the group serves calls among neighbours: lfc_coll_reads_memory(), and LFC_COLL_UNLIMITED. */
bool lfc_coll_meets_neighbours(const lfc_coll_communicator* communicator);
/* Returns the edges of a process topology for calls among neighbours, or NULL if memory is short. Needs
 * lfc_coll_meets_neighbours(). lfc_coll_part_from() frees it, before lfc_coll_leave(). */
struct lfc_coll_neighbours* lfc_coll_meet(lfc_coll_communicator* communicator,
                                          const struct lfc_coll_topology* topology);
void lfc_coll_part_from(struct lfc_coll_neighbours* neighbours);
/* Returns whether the group serves an allgather, alltoall or reduce-scatter with blocks of `bytes`. It does so among
 * several nodes, and a reduce-scatter also on one. The result is the same at all ranks. */
bool lfc_coll_exchanges(const lfc_coll_communicator* communicator, enum lfc_coll_kind kind,
                        size_t bytes);
/* Writes one line of counters, key=value. */
void lfc_coll_describe(char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
