/* The OSC component `neon`: MPI's one-sided communication on the engine's windows.
 *
 * component.c   life of the component: parameters, open, the decision to serve a window
 * window.c      a window's life: create, free, attach, shared_query
 * operations.c  put, get, accumulate and their relatives
 * epochs.c      fence, post/start/complete/wait, lock, flush
 * datatype.c    datatypes and operations as the engine wants them
 * request.c     requests of rput and its relatives
 *
 * The C files translate arguments; the engine makes all decisions (common/services/windows/window_service.hpp).
 */
#ifndef LFC_OSC_NEON_H
#define LFC_OSC_NEON_H

#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/datatype/ompi_datatype_internal.h"
#include "ompi/errhandler/errcode-internal.h"
#include "ompi/info/info.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "ompi/win/win.h"

#include "combination.h"
#include "failures.h"
#include "lfc/lfc.h"
#include "mpi_types.h"

typedef struct rma_component {
  ompi_osc_base_component_t super;
  struct lfc_osc_parameters parameters;
  bool printed;      /* the reason for declining has been printed */
  bool printed_lock; /* the warning of a locked window with no_locks has been printed */
} rma_component;
extern rma_component mca_osc_neon_component;

typedef struct rma_module {
  ompi_osc_base_module_t super;
  ompi_communicator_t* comm; /* of our own */
  lfc_rma_window* window;
  uint32_t ranks;
  int flavor;
  bool all_mapped;  /* every member's memory at every member: no frame ever carries an operation */
  bool no_locks;    /* the info key promises that no rank locks */
  uint32_t* counts; /* room for a number per rank */
  /* Ends what NEON has under way in the window, before its memory goes; collective. NULL: no NEON. */
  void (*end_neon)(void* endpoint);
  void* endpoint;
} rma_module;

static inline rma_module* rma_module_of(const ompi_win_t* win) {
  return (rma_module*)win->w_osc_module;
}

/* From the engine's status to Open MPI's. */
static inline int rma_error(enum lfc_rma_status status) {
  if (__builtin_expect(status == LFC_RMA_OK, true)) return OMPI_SUCCESS;
  switch (status) {
    case LFC_RMA_SYNC: return OMPI_ERR_RMA_SYNC;
    case LFC_RMA_RANGE: return OMPI_ERR_RMA_RANGE;
    case LFC_RMA_TRUNCATED: return MPI_ERR_TRUNCATE;
    case LFC_RMA_INVALID: return MPI_ERR_OP;
    case LFC_RMA_NO_MEMORY: return OMPI_ERR_OUT_OF_RESOURCE;
    default: return lfc_loss_error(MPI_ERR_OTHER); /* a member of the window is lost */
  }
}

/* window.c */
int rma_window_select(ompi_win_t* win, void** base, size_t size, int disp_unit,
                      ompi_communicator_t* comm, opal_info_t* info, int flavor, int* model);
/* Returns the peer of that rank; LFC_NO_PEER for this process itself, and for an unreachable one, whose reason is
 * stored in `why`. */
uint32_t rma_peer_of(ompi_communicator_t* comm, int rank, char* why, size_t why_size);
/* Whether the window is one of ours. */
bool rma_serves(const ompi_win_t* win);

/* component.c: opens the process's windows; false when no engine is open. */
bool rma_open_windows(void);

/* datatype.c */
struct rma_memory {
  struct lfc_rma_view view;
  struct lfc_rma_run runs[2]; /* of one or two pieces */
  lfc_rma_runs* many;         /* or of more */
};
/* Describes `count` elements at `base`; false when memory is short. To be released. */
bool rma_describe(struct rma_memory* memory, const void* base, int64_t offset, size_t count,
                  ompi_datatype_t* datatype);
void rma_release(struct rma_memory* memory);
/* The only predefined type in it; LFC_NO_ELEMENT when there is none or it is none of ours. */
enum lfc_element rma_element_of(ompi_datatype_t* datatype);

/* request.c */
ompi_request_t* rma_request_new(ompi_win_t* win);
void rma_request_finished(void* request, enum lfc_rma_status status);

/* operations.c: an accumulate and a notification in one frame. False: that is not possible, and nothing was done. Else
 * `error` is an MPI error code. */
bool rma_combine_notified(const lfc_neon_combination* call, ompi_win_t* win, uint32_t counter,
                          int* error);

/* operations.c and epochs.c: the module's functions */
void rma_fill_epochs(ompi_osc_base_module_t* module);
void rma_fill_operations(ompi_osc_base_module_t* module);

#endif
