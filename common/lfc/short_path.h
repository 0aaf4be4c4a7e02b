/* Short path: marks the declarations of what is called for each message or access.
 *
 * The components bind their symbols when they are first called, by a jump through a table. What is marked is bound when
 * the component is loaded and called directly (perf/profile --operations counts the difference).
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
