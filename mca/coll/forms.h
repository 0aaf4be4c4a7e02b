/* Forms: the blocking, the nonblocking and the persistent call of a collective, around one function that opens it.
 *
 *   static bool open_gather(lfc_coll_opening* it, const void* in, ..., int root, ompi_communicator_t* comm) { ... }
 *   LFC_COLL_FORMS(gather, gather, (const void* in, ..., int root), (in, ..., root))
 *
 * makes call_gather(), call_igather() and call_gather_init(), with the signatures that Open MPI has for them.
 */
#ifndef LFC_COLL_FORMS_H
#define LFC_COLL_FORMS_H

#include "coll_lfc.h"
#include "opening.h"

#define LFC_COLL_LIST(...) __VA_ARGS__

/* `parameters` and `arguments` are in parentheses: those of MPI before the communicator. The persistent form calls the
 * component below, whose collective is called `mpi_name`, if the ranks have no room for a request. */
#define LFC_COLL_FORMS(name, mpi_name, parameters, arguments)                                  \
  static int call_##name(LFC_COLL_LIST parameters, ompi_communicator_t* comm,                  \
                         mca_coll_base_module_t* module) {                                     \
    lfc_coll_opening it;                                                                       \
    it.module = module;                                                                        \
    const bool opened = open_##name(&it, LFC_COLL_LIST arguments, comm);                       \
    return lfc_coll_run_opened(&it, opened);                                                   \
  }                                                                                            \
  static int call_i##name(LFC_COLL_LIST parameters, ompi_communicator_t* comm,                 \
                          ompi_request_t** request, mca_coll_base_module_t* module) {          \
    lfc_coll_opening it;                                                                       \
    it.module = module;                                                                        \
    const bool opened = open_##name(&it, LFC_COLL_LIST arguments, comm);                       \
    return lfc_coll_start_opened(&it, opened, comm, request);                                  \
  }                                                                                            \
  static int call_##name##_init(LFC_COLL_LIST parameters, ompi_communicator_t* comm,           \
                                struct ompi_info_t* info, ompi_request_t** request,            \
                                mca_coll_base_module_t* module) {                              \
    lfc_coll_opening it;                                                                       \
    it.module = module;                                                                        \
    const bool opened = open_##name(&it, LFC_COLL_LIST arguments, comm);                       \
    const int status = lfc_coll_keep_opened(&it, opened, comm, request);                       \
    if (status != OMPI_ERR_NOT_SUPPORTED) return status;                                       \
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, mpi_name##_init);                \
    return below->coll_##mpi_name##_init(LFC_COLL_LIST arguments, comm, info, request, below); \
  }

#endif
