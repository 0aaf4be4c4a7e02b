/* Channel hooks: all hooks that let messages of the program use channels (common/services/channels/README.md has the
 * argument why they may).
 *
 *   lfc_channel_hooks_install(threads, false);      // at init_query: the PML is selected
 *   lfc_channel_hooks_remove();                     // at close
 *
 * Only over ob1, in programs with one thread.
 */
#ifndef LFC_CHANNEL_HOOKS_H
#define LFC_CHANNEL_HOOKS_H

#include <stdbool.h>

/* Installs the hooks; `planned`: also for the ordinary messages of the plan that is open. False: there can be no
 * channels. */
bool lfc_channel_hooks_install(bool threads, bool planned);
void lfc_channel_hooks_remove(void);

#endif
