/* Marks on objects that Open MPI hands from thread to thread, for the thread sanitizer. Open MPI orders the writes of
 * one thread before the reads of the next by fences, and in libraries that are not instrumented. The sanitizer sees
 * neither.
 *
 *   LFC_PASSED_ON(item);   the thread that has written it
 *   LFC_TAKEN_OVER(item);  the thread that will read it
 *
 * Nothing in a build without the thread sanitizer.
 */
#ifndef LFC_MCA_HANDED_OVER_H
#define LFC_MCA_HANDED_OVER_H

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define LFC_PASSED_ON(item) __tsan_release(item)
#define LFC_TAKEN_OVER(item) __tsan_acquire(item)
#else
#define LFC_PASSED_ON(item) ((void)(item))
#define LFC_TAKEN_OVER(item) ((void)(item))
#endif

#endif
