/* LFC: the C API of liblfc, and the only header that the components of Open MPI include of it.
 *
 * C cannot parse C++ classes, and C++ cannot parse Open MPI's headers (5.0 uses C11 _Atomic). This header is the
 * boundary between them, and no exception crosses it. Its functions are in common/c_api/, one source for each header:
 *
 *   lfc/messages.h      the engine itself: open, peers, messages, remote memory, counters (btl lfc)
 *   lfc/windows.h       MPI's windows (osc neon)
 *   lfc/collectives.h   collectives; lfc/collective_call.h: the arguments of one collective call (coll lfc)
 *   lfc/partitioned.h   partitioned communication (part lfc)
 *   lfc/channels.h      messages that need no matching (coll lfc, which sees all of MPI's calls)
 *   lfc/recording.h     the messages that a program sends and expects, recorded for perf/tailor (coll lfc)
 *   lfc/plan.h          the ordinary messages that a plan of perf/tailor names (coll lfc)
 *   lfc/exchange.h      the parts of LFC that other processes have, as published at the start
 *   lfc/peers.h         peers by the names of their processes, for components that have not opened the engine
 *   lfc/parameters.h    the parameters of each component
 *   lfc/digest.h        the check that the library and the component come from the same build
 *   lfc/notices.h       lines for the user that only one process of each node prints
 *   lfc/short_path.h    the mark of functions that are called for each message or access
 *   lfc/numbers.h       enumerations that C, C++ and peers share; lfc/elements.h: those of types and operations
 *   lfc/words.h         enumerations whose values are words
 *
 * Each enumeration is defined here once; the C++ enumerations take their values from these.
 */
#ifndef LFC_LFC_H
#define LFC_LFC_H

#include "lfc/channels.h"
#include "lfc/collectives.h"
#include "lfc/digest.h"
#include "lfc/elements.h"
#include "lfc/exchange.h"
#include "lfc/messages.h"
#include "lfc/notices.h"
#include "lfc/numbers.h"
#include "lfc/parameters.h"
#include "lfc/partitioned.h"
#include "lfc/peers.h"
#include "lfc/plan.h"
#include "lfc/recording.h"
#include "lfc/windows.h"
#include "lfc/words.h"

#endif
