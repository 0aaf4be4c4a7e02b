/* Plan: the keys of ordinary messages that get a channel, from a file that perf/tailor has written
 * (common/services/channels/protocol/plan.hpp).
 *
 *   if (!lfc_plan_open(file, ranks, why, sizeof why)) tell(why);
 *   bool may_open = lfc_plan_names(comm, 0, 1, 7);
 *   lfc_plan_close();
 *
 * Threads: one.
 */
#ifndef LFC_PLAN_H
#define LFC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the plan. False: there is none for this program and this number of ranks; `why` has the reason. */
bool lfc_plan_open(const char* file, int ranks, char* why, size_t size);
void lfc_plan_close(void);
/* Whether the plan has messages from or to this rank of MPI_COMM_WORLD. */
bool lfc_plan_concerns(int rank);
/* Whether the plan has these messages: the communicator's name, both ranks in MPI_COMM_WORLD, and the tag. */
bool lfc_plan_names(uint64_t comm, int from, int to, int tag);
/* Returns the time in us that one of these messages is expected to save. 0: the plan does not have it. */
double lfc_plan_gain_us(uint64_t comm, int from, int to, int tag);

struct lfc_plan_summary {
  bool every;     /* it names all keys */
  uint64_t keys;  /* that it names one by one */
  double gain_us; /* time that their messages are expected to save together; 0: unknown */
};
/* Returns false if no plan is open. */
bool lfc_plan_summarise(struct lfc_plan_summary* summary);

#ifdef __cplusplus
}
#endif

#endif
