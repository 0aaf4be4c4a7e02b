#include "failures.h"

#if LFC_HAS_FAILURES

#include <stdatomic.h>

#include "ompi/group/group.h"

#pragma weak ompi_group_afp_mutex /* as ompi_ftmpi_enabled */
#pragma weak ompi_group_all_failed_procs

/* Calls of progress between two looks, so that a look costs nothing in a wait. */
#define CALLS_PER_LOOK 256u

/* Reports all of them each time: the engine may have met one of them as a peer since. */
void lfc_report_failures(void) {
  static atomic_uint calls;
  if (!LFC_MPI_SURVIVES_FAULTS ||
      atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) % CALLS_PER_LOOK != 0)
    return;
  opal_mutex_lock(&ompi_group_afp_mutex);
  for (int i = 0; i < ompi_group_size(ompi_group_all_failed_procs); ++i) {
    const opal_process_name_t name = ompi_group_get_proc_name(ompi_group_all_failed_procs, i);
    lfc_report_failure(name.jobid, name.vpid, "Open MPI has reported that it failed");
  }
  opal_mutex_unlock(&ompi_group_afp_mutex);
}

#else

void lfc_report_failures(void) {}

#endif
