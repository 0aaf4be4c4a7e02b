/* Collectives: LFC's collectives as the C code of `coll lfc` sees them.
 *
 *   lfc_coll_open(&options, &size);              publish facts, before the start-up exchange
 *   lfc_coll_start_service(threads);             when the NI of the process is open
 *   for (each process) lfc_coll_introduce(job, rank, facts, size, address, size);
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
  struct lfc_coll_parameters parameters; /* by the user */
  bool crowded;                          /* more ranks than cores on this node: waiting gives way */
  int (*progress)(void); /* Open MPI's, for a rank that waits: may give its processor away */
  int (*attend)(void);   /* the same for one that waits for nobody: keeps its processor */
};

struct lfc_coll_process {
  uint32_t job, rank;
};

/* Room for an operation that goes on by itself; lives until `done` has been called. */
typedef struct lfc_coll_operation {
  void* room[40];
} lfc_coll_operation;
typedef void (*lfc_coll_done)(lfc_coll_operation* operation, enum lfc_coll_status status);

/* The facts of this process, to be published; NULL: no memory. What the user said has been checked. */
const void* lfc_coll_open(const struct lfc_coll_options* options, size_t* size);
void lfc_coll_close(void);
/* `threads`: several call at the same time. False: this process has no NI. From here on packets for groups to come are
 * welcome. */
bool lfc_coll_start_service(bool threads);

bool lfc_coll_knows(struct lfc_coll_process process);
/* What the process has published; size 0: nothing, so it takes part in no group. */
void lfc_coll_introduce(struct lfc_coll_process process, const void* facts, size_t facts_size,
                        const void* address, size_t address_size);

/* NULL: LFC does not serve this communicator, for a reason that all its ranks have: `why`. `key` is the same at all of
 * them and used by no other communicator of any of them at this time, but such as the same ranks make in the same
 * order. */
lfc_coll_communicator* lfc_coll_join(uint64_t key, const struct lfc_coll_process* processes,
                                     int count, int self, enum lfc_coll_use use, char* why,
                                     size_t why_size);
/* For how many communicators at a time, of any process, a node has boards. */
uint32_t lfc_coll_most_communicators(void);
/* Which parts of the group this rank has found in reach. What all ranks of a job have found (and-ed)
 * is told to all of them before there are other groups: without the boards none is served, without
 * the nodes those on one node only, without the neighbours' memory no rows. LFC_COLL_ROOM is about this group only:
 * whether there is room for the board that this rank makes for it, if it makes one. */
enum { LFC_COLL_BOARDS = 1, LFC_COLL_NODES = 2, LFC_COLL_MEMORY = 4, LFC_COLL_ROOM = 8 };
unsigned lfc_coll_reach(const lfc_coll_communicator* communicator);
void lfc_coll_agree(unsigned found);
/* When all operations have finished. */
void lfc_coll_leave(lfc_coll_communicator* communicator);
/* In MPI_Finalize: a process that ends is no loss any more to groups that nobody has left. They do nothing more. */
void lfc_coll_leave_rest(void);

/* Whether the operation is defined for the type. */
bool lfc_coll_combines(enum lfc_op op, enum lfc_element type);
/* Does it, waiting; calls options.progress while it waits. */
enum lfc_coll_status lfc_coll_run(lfc_coll_communicator* communicator,
                                  const struct lfc_coll_call* call);
/* Does it if that takes no waiting. False: nothing has been done that the next two would not do again. */
LFC_SHORT_PATH bool lfc_coll_try(lfc_coll_communicator* communicator,
                                 const struct lfc_coll_call* call, enum lfc_coll_status* status);
/* Begins it; `done` follows from here or from lfc_coll_progress(). */
void lfc_coll_start(lfc_coll_communicator* communicator, const struct lfc_coll_call* call,
                    lfc_coll_operation* operation, lfc_coll_done done);
/* One pass over groups with operations that go on by themselves; the number of events. */
int lfc_coll_progress(void);

/* How many nodes the group's ranks are on. */
unsigned lfc_coll_nodes(const lfc_coll_communicator* communicator);
/* Whether it does alltoall, gatherv and scatterv: all ranks share a node and may read each other's memory. */
bool lfc_coll_reads_memory(const lfc_coll_communicator* communicator);
/* Where it reads memory: the neighbours of this rank, for their calls. They part before it leaves. NULL: no memory. */
struct lfc_coll_neighbours* lfc_coll_meet(lfc_coll_communicator* communicator,
                                          const struct lfc_coll_topology* topology);
void lfc_coll_part_from(struct lfc_coll_neighbours* neighbours);
/* Whether it does an allgather, alltoall or reduce-scatter of such blocks among its nodes, or, of a reduce-scatter,
 * on its only one. All ranks find the same. */
bool lfc_coll_exchanges(const lfc_coll_communicator* communicator, enum lfc_coll_kind kind,
                        size_t bytes);
/* One line of counters, key=value. */
void lfc_coll_describe(char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
