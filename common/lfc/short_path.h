/* Short path: the mark of functions that are called for each message or access.
 *
 * Without it the dynamic linker binds a symbol at its first call, and each call jumps through a table. Marked functions
 * are bound when the component is loaded, and called directly (perf/profile --operations counts the difference).
 */
#ifndef LFC_SHORT_PATH_H
#define LFC_SHORT_PATH_H

#if defined(__has_attribute)
#if __has_attribute(noplt)
#define LFC_SHORT_PATH __attribute__((noplt))
#endif
#endif
#ifndef LFC_SHORT_PATH
#define LFC_SHORT_PATH
#endif

#endif
