/* Open MPI's progress for calls that have found all that they want.
 *
 *   static int attend(void) { lfc_progress_keeping_turn(); return 0; }
 */
#ifndef LFC_MCA_PROGRESS_H
#define LFC_MCA_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "opal_config.h"

#include "opal/runtime/opal_progress.h"

/* As opal_progress(), but a rank that waits for nobody keeps its processor: with more ranks than processors
 * opal_progress() gives it away whenever nothing has come. Any thread. Once Open MPI has been seen to give way it is
 * left so, whichever thread ends first; another that waits meanwhile may look once more before it gives way.
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
