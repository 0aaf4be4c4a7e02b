/* Progress without yielding: Open MPI's progress for calls that wait for no other rank.
 *
 *   static int attend(void) { lfc_progress_keeping_turn(); return 0; }
 */
#ifndef LFC_MCA_PROGRESS_H
#define LFC_MCA_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "opal_config.h"

#include "opal/runtime/opal_progress.h"

/* Calls opal_progress(), but keeps the processor: with more ranks than processors opal_progress() yields whenever it
 * has found nothing. Any thread. If Open MPI has once been set to yield, it is set so again afterwards, whichever
 * thread ends first. Another thread that waits meanwhile may poll once more before it yields.
 * Held by tests/progress/keep_turn.c. */
static inline void lfc_progress_keeping_turn(void) {
  static atomic_bool gives_way;
  if (opal_progress_yield_when_idle) atomic_store_explicit(&gives_way, true, memory_order_relaxed);
  if (!atomic_load_explicit(&gives_way, memory_order_relaxed)) {
    opal_progress();
    return;
  }
  (void)opal_progress_set_yield_when_idle(false);
  opal_progress();
  (void)opal_progress_set_yield_when_idle(true);
}

#endif
