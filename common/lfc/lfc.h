/* LFC: all that C sees of liblfc, and the only header that the components of Open MPI include of it.
 *
 * C cannot see C++ classes, and C++ cannot see Open MPI's headers (5.0 uses C11 _Atomic): this is the line between
 * them. No exception crosses it. Behind it is common/c_api/, one source for each of these:
 *
 *   lfc/messages.h      the engine itself: open, peers, messages, remote memory, counters (btl lfc)
 *   lfc/windows.h       MPI's windows (osc neon)
 *   lfc/collectives.h   collectives; lfc/collective_call.h: one as a rank calls it (coll lfc)
 *   lfc/partitioned.h   partitioned communication (part lfc)
 *   lfc/channels.h      persistent requests that need no matching (coll lfc, which sees all of MPI's calls)
 *   lfc/recording.h     which messages a program sends and expects, for perf/tailor (coll lfc)
 *   lfc/peers.h         a peer by the name of its process, for who has not opened the engine himself
 *   lfc/parameters.h    what the user may say to each component
 *   lfc/digest.h        whether the library is of the build that the component is of
 *   lfc/notices.h       what one process of a node tells the user for all of them
 *   lfc/short_path.h    the mark of what is called for each message or access
 *   lfc/numbers.h       enumerations that C, C++ and peers share; lfc/elements.h: those of types and operations
 *
 * Each enumeration stands here once; those that C++ has of its own take their values from here.
 */
#ifndef LFC_LFC_H
#define LFC_LFC_H

#include "lfc/channels.h"
#include "lfc/collectives.h"
#include "lfc/digest.h"
#include "lfc/elements.h"
#include "lfc/messages.h"
#include "lfc/notices.h"
#include "lfc/numbers.h"
#include "lfc/parameters.h"
#include "lfc/partitioned.h"
#include "lfc/peers.h"
#include "lfc/recording.h"
#include "lfc/windows.h"

#endif
