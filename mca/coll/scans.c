/* Scans among ranks that share a node, blocking, nonblocking and persistent. The component below serves other
 * communicators, and operations and types that the engine does not have. */
#include "coll_lfc.h"
#include "request.h"

/* Describes the scan. False: LFC does not serve it. */
static bool describe(struct lfc_coll_call* call, enum lfc_coll_kind kind, const void* in, void* out,
                     int count, const ompi_datatype_t* type, const ompi_op_t* op) {
  *call = (struct lfc_coll_call){.kind = kind, .in = in == MPI_IN_PLACE ? out : in, .out = out};
  return count > 0 && lfc_coll_describe_reduction(op, type, count, call);
}

static int start(const struct lfc_coll_call* call, ompi_communicator_t* comm,
                 ompi_request_t** request, mca_coll_base_module_t* module) {
  lfc_coll_request* made = lfc_coll_request_new();
  return made == NULL ? OMPI_ERR_OUT_OF_RESOURCE
                      : lfc_coll_request_start(made, comm, module, call, request);
}

static int keep(const struct lfc_coll_call* call, ompi_communicator_t* comm,
                ompi_request_t** request, mca_coll_base_module_t* module) {
  return lfc_coll_request_keep(lfc_coll_request_new(), comm, module, call, request);
}

static int call_scan(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                     ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  struct lfc_coll_call call;
  if (!describe(&call, LFC_COLL_SCAN, in, out, count, type, op)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, scan);
    return below->coll_scan(in, out, count, type, op, comm, below);
  }
  return lfc_coll_run_call(module, &call);
}

static int call_exscan(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                       ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  struct lfc_coll_call call;
  if (!describe(&call, LFC_COLL_EXSCAN, in, out, count, type, op)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, exscan);
    return below->coll_exscan(in, out, count, type, op, comm, below);
  }
  return lfc_coll_run_call(module, &call);
}

static int call_iscan(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                      ompi_communicator_t* comm, ompi_request_t** request,
                      mca_coll_base_module_t* module) {
  struct lfc_coll_call call;
  if (!describe(&call, LFC_COLL_SCAN, in, out, count, type, op)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, iscan);
    return below->coll_iscan(in, out, count, type, op, comm, request, below);
  }
  return start(&call, comm, request, module);
}

static int call_iexscan(const void* in, void* out, int count, ompi_datatype_t* type, ompi_op_t* op,
                        ompi_communicator_t* comm, ompi_request_t** request,
                        mca_coll_base_module_t* module) {
  struct lfc_coll_call call;
  if (!describe(&call, LFC_COLL_EXSCAN, in, out, count, type, op)) {
    mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, iexscan);
    return below->coll_iexscan(in, out, count, type, op, comm, request, below);
  }
  return start(&call, comm, request, module);
}

static int call_scan_init(const void* in, void* out, int count, ompi_datatype_t* type,
                          ompi_op_t* op, ompi_communicator_t* comm, struct ompi_info_t* info,
                          ompi_request_t** request, mca_coll_base_module_t* module) {
  struct lfc_coll_call call;
  int status = OMPI_ERR_NOT_SUPPORTED;
  if (describe(&call, LFC_COLL_SCAN, in, out, count, type, op))
    status = keep(&call, comm, request, module);
  if (status != OMPI_ERR_NOT_SUPPORTED) return status;
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, scan_init);
  return below->coll_scan_init(in, out, count, type, op, comm, info, request, below);
}

static int call_exscan_init(const void* in, void* out, int count, ompi_datatype_t* type,
                            ompi_op_t* op, ompi_communicator_t* comm, struct ompi_info_t* info,
                            ompi_request_t** request, mca_coll_base_module_t* module) {
  struct lfc_coll_call call;
  int status = OMPI_ERR_NOT_SUPPORTED;
  if (describe(&call, LFC_COLL_EXSCAN, in, out, count, type, op))
    status = keep(&call, comm, request, module);
  if (status != OMPI_ERR_NOT_SUPPORTED) return status;
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(module, exscan_init);
  return below->coll_exscan_init(in, out, count, type, op, comm, info, request, below);
}

void lfc_coll_offer_scans(lfc_coll_module* module) {
  if (lfc_coll_nodes(module->communicator) > 1) return;
  module->super.coll_scan = call_scan;
  module->super.coll_exscan = call_exscan;
  module->super.coll_iscan = call_iscan;
  module->super.coll_iexscan = call_iexscan;
  if (LFC_COLL_BELOW_OF(&module->super, scan_init) != NULL)
    module->super.coll_scan_init = call_scan_init;
  if (LFC_COLL_BELOW_OF(&module->super, exscan_init) != NULL)
    module->super.coll_exscan_init = call_exscan_init;
}
