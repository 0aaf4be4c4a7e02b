/* The component `part lfc`: MPI's partitioned communication (Psend_init, Pready, Parrived...) on the engine's own
 * frames. Open MPI has it since 5.0.
 *
 * component.c  life of the component: parameters, how Open MPI chooses it, open, close
 * request.c    a partitioned send or receive as MPI's request
 * buffer.c     the bytes of a request's buffer, by partitions
 * persist.c    Open MPI's own component, for peers without LFC
 */
#ifndef LFC_PART_LFC_H
#define LFC_PART_LFC_H

#include "ompi_version.h"

#include "lfc/lfc.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/info/info.h"
#include "ompi/mca/part/base/base.h"
#include "ompi/mca/part/part.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"

typedef struct lfc_part_component {
  mca_part_base_component_t super;
  struct lfc_part_parameters parameters;
} lfc_part_component;
extern lfc_part_component mca_part_lfc_component;

extern mca_part_base_module_t lfc_part_module;
extern const struct lfc_part_host lfc_part_requests;

/* The arguments of MPI_Psend_init or MPI_Precv_init. */
struct lfc_part_call {
  bool sends;
  void* address;
  size_t partitions, count; /* elements of each */
  ompi_datatype_t* type;
  int rank, tag;
  ompi_communicator_t* comm;
  ompi_info_t* info;
};

/* Keeps Open MPI's own component loaded, which is closed when this one is chosen. */
void lfc_part_keep_persist(void);
void lfc_part_close_persist(void);
/* Makes the request by it. */
int lfc_part_persist_init(const struct lfc_part_call* call, ompi_request_t** request);
/* Null until the first request. */
extern const mca_part_base_module_t* lfc_part_persist;

#endif
