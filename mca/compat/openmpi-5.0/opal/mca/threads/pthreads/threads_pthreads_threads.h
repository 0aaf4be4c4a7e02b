/* What opal/mca/threads/threads.h needs: how a thread that waits gives up its core. */
#ifndef LFC_COMPAT_THREADS_PTHREADS_THREADS_H
#define LFC_COMPAT_THREADS_PTHREADS_THREADS_H

#include <pthread.h>
#include <signal.h>

#include "opal_config.h"

#define OPAL_THREAD_YIELD_WHEN_IDLE_DEFAULT false

OPAL_DECLSPEC extern void (*opal_threads_pthreads_yield_fn)(void);

static inline void opal_thread_yield(void) { opal_threads_pthreads_yield_fn(); }

#endif
