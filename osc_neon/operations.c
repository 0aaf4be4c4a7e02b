/* Put, get, accumulate and their relatives: MPI's arguments as the engine's. */
#include "osc_neon.h"

/* The target's side. */
static enum lfc_rma_status describe_target(struct rma_memory* memory, const rma_module* module,
                                           int target, ptrdiff_t disp, int count,
                                           ompi_datatype_t* datatype) {
  int64_t offset;
  if (!lfc_rma_window_offset(module->window, (uint32_t)target, disp, &offset)) return LFC_RMA_RANGE;
  return rma_describe(memory, NULL, offset, (size_t)count, datatype) ? LFC_RMA_OK
                                                                     : LFC_RMA_NO_MEMORY;
}

/* Whether that many elements lie one after the other from their address on. */
static inline bool is_plain(ompi_datatype_t* datatype, int count) {
  return datatype->super.true_lb == 0 &&
         opal_datatype_is_contiguous_memory_layout(&datatype->super, count);
}

static int transfer(bool is_put, void* address, int count, ompi_datatype_t* datatype, int target,
                    ptrdiff_t disp, int there_count, ompi_datatype_t* there_datatype,
                    ompi_win_t* win, ompi_request_t* request) {
  const rma_module* module = rma_module_of(win);
  struct rma_memory here, there;
  if (!rma_describe(&here, address, 0, (size_t)count, datatype)) return OMPI_ERR_OUT_OF_RESOURCE;
  enum lfc_rma_status status =
      describe_target(&there, module, target, disp, there_count, there_datatype);
  if (status == LFC_RMA_OK) {
    status = is_put
                 ? lfc_rma_put(module->window, (uint32_t)target, &here.view, &there.view, request)
                 : lfc_rma_get(module->window, (uint32_t)target, &here.view, &there.view, request);
    rma_release(&there);
  }
  rma_release(&here);
  return rma_error(status);
}

/* The element that both sides are made of. Replace and no_op do with bytes if they must. */
static enum lfc_element common_element(ompi_datatype_t* datatype, enum lfc_op op) {
  const enum lfc_element element = rma_element_of(datatype);
  const bool bytes_do = op == LFC_OP_REPLACE || op == LFC_OP_NO_OP;
  return element == LFC_NO_ELEMENT && bytes_do ? LFC_ELEMENT_U8 : element;
}

static int combine(const void* origin, int count, ompi_datatype_t* datatype, void* result,
                   int result_count, ompi_datatype_t* result_datatype, int target, ptrdiff_t disp,
                   int there_count, ompi_datatype_t* there_datatype, ompi_op_t* op, bool fetch,
                   ompi_win_t* win, ompi_request_t* request) {
  const rma_module* module = rma_module_of(win);
  const enum lfc_op what = lfc_op_of(op);
  const enum lfc_element element = common_element(there_datatype, what);
  struct rma_memory from, to, there;
  if (what == LFC_OP_NO_OP) count = 0, datatype = MPI_BYTE; /* the origin's values are ignored */
  if (!fetch) result_count = 0, result_datatype = MPI_BYTE;
  enum lfc_rma_status status = LFC_RMA_NO_MEMORY;
  if (!rma_describe(&from, origin, 0, (size_t)count, datatype)) return OMPI_ERR_OUT_OF_RESOURCE;
  if (rma_describe(&to, result, 0, (size_t)result_count, result_datatype)) {
    status = describe_target(&there, module, target, disp, there_count, there_datatype);
    if (status == LFC_RMA_OK) {
      const uint32_t rank = (uint32_t)target;
      status = fetch ? lfc_rma_fetch(module->window, rank, what, element, &from.view, &to.view,
                                     &there.view, request)
                     : lfc_rma_accumulate(module->window, rank, what, element, &from.view,
                                          &there.view, request);
      rma_release(&there);
    }
    rma_release(&to);
  }
  rma_release(&from);
  return rma_error(status);
}

bool rma_combine_notified(const lfc_neon_combination* call, ompi_win_t* win, uint32_t counter,
                          int* error) {
  const rma_module* module = rma_module_of(win);
  const enum lfc_op what = lfc_op_of(call->op);
  if (what == LFC_NO_OPERATION) return false;
  const enum lfc_element element = common_element(call->there_type, what);
  const uint32_t rank = (uint32_t)call->target;
  const bool reads_only = what == LFC_OP_NO_OP; /* the origin's values are ignored */
  struct rma_memory from, to, there;
  enum lfc_rma_status status = LFC_RMA_NO_MEMORY;
  bool done = true;
  if (rma_describe(&from, call->origin, 0, reads_only ? 0 : (size_t)call->count,
                   reads_only ? MPI_BYTE : call->type)) {
    if (rma_describe(&to, call->result, 0, (size_t)call->result_count, call->result_type)) {
      status = describe_target(&there, module, call->target, call->disp, call->there_count,
                               call->there_type);
      if (status == LFC_RMA_OK) {
        done = lfc_rma_combine_notified(module->window, rank, what, element, &from.view,
                                        call->fetches ? &to.view : NULL, &there.view, counter,
                                        &status);
        rma_release(&there);
      }
      rma_release(&to);
    }
    rma_release(&from);
  }
  /* The result is there, and the origin's memory is the caller's again, when the call returns. */
  if (done && status == LFC_RMA_OK) status = lfc_rma_flush_local(module->window, rank);
  *error = ompi_errcode_get_mpi_code(rma_error(status));
  return done;
}

/* A predefined type without gaps: no pair. */
static inline bool is_single(enum lfc_element element) { return element < LFC_ELEMENT_I16_I32; }

/* Accumulates contiguous single elements on all sides. `result` may be NULL. */
static inline int combine_plain(const void* origin, void* result, ompi_datatype_t* datatype,
                                enum lfc_element element, int count, int target, ptrdiff_t disp,
                                ompi_op_t* op, ompi_win_t* win) {
  return rma_error(lfc_rma_accumulate_plain(rma_module_of(win)->window, (uint32_t)target,
                                            lfc_op_of(op), element, origin, result,
                                            datatype->super.size, (uint64_t)count, disp));
}

/* Runs `call` with a new request, which is the caller's when that went well. */
#define WITH_REQUEST(call)                             \
  do {                                                 \
    *out = rma_request_new(win);                       \
    if (*out == NULL) return OMPI_ERR_OUT_OF_RESOURCE; \
    ompi_request_t* request = *out;                    \
    const int status = (call);                         \
    if (status == OMPI_SUCCESS) return OMPI_SUCCESS;   \
    rma_request_finished(request, LFC_RMA_OK);         \
    (void)ompi_request_free(out);                      \
    return status;                                     \
  } while (0)

static int put(const void* origin, int count, ompi_datatype_t* datatype, int target, ptrdiff_t disp,
               int there_count, ompi_datatype_t* there_datatype, ompi_win_t* win) {
  const size_t bytes = datatype->super.size * (size_t)count;
  if (is_plain(datatype, count) && is_plain(there_datatype, there_count) &&
      bytes <= there_datatype->super.size * (size_t)there_count)
    return rma_error(
        lfc_rma_put_plain(rma_module_of(win)->window, (uint32_t)target, origin, bytes, disp));
  return transfer(true, (void*)(uintptr_t)origin, count, datatype, target, disp, there_count,
                  there_datatype, win, NULL);
}

static int get(void* result, int count, ompi_datatype_t* datatype, int target, ptrdiff_t disp,
               int there_count, ompi_datatype_t* there_datatype, ompi_win_t* win) {
  const size_t bytes = there_datatype->super.size * (size_t)there_count;
  if (is_plain(datatype, count) && is_plain(there_datatype, there_count) &&
      bytes <= datatype->super.size * (size_t)count)
    return rma_error(
        lfc_rma_get_plain(rma_module_of(win)->window, (uint32_t)target, result, bytes, disp));
  return transfer(false, result, count, datatype, target, disp, there_count, there_datatype, win,
                  NULL);
}

static int rput(const void* origin, int count, ompi_datatype_t* datatype, int target,
                ptrdiff_t disp, int there_count, ompi_datatype_t* there_datatype, ompi_win_t* win,
                ompi_request_t** out) {
  WITH_REQUEST(transfer(true, (void*)(uintptr_t)origin, count, datatype, target, disp, there_count,
                        there_datatype, win, request));
}

static int rget(void* result, int count, ompi_datatype_t* datatype, int target, ptrdiff_t disp,
                int there_count, ompi_datatype_t* there_datatype, ompi_win_t* win,
                ompi_request_t** out) {
  WITH_REQUEST(transfer(false, result, count, datatype, target, disp, there_count, there_datatype,
                        win, request));
}

static int accumulate(const void* origin, int count, ompi_datatype_t* datatype, int target,
                      ptrdiff_t disp, int there_count, ompi_datatype_t* there_datatype,
                      ompi_op_t* op, ompi_win_t* win) {
  if (datatype == there_datatype && count == there_count) {
    const enum lfc_element element = lfc_element_of(datatype);
    if (is_single(element))
      return combine_plain(origin, NULL, datatype, element, count, target, disp, op, win);
    if (element != LFC_NO_ELEMENT &&
        lfc_rma_accumulate_pairs(rma_module_of(win)->window, (uint32_t)target, lfc_op_of(op),
                                 element, origin, (size_t)(datatype->super.ub - datatype->super.lb),
                                 (uint64_t)count, disp))
      return OMPI_SUCCESS;
  }
  return combine(origin, count, datatype, NULL, 0, MPI_BYTE, target, disp, there_count,
                 there_datatype, op, false, win, NULL);
}

static int raccumulate(const void* origin, int count, ompi_datatype_t* datatype, int target,
                       ptrdiff_t disp, int there_count, ompi_datatype_t* there_datatype,
                       ompi_op_t* op, ompi_win_t* win, ompi_request_t** out) {
  WITH_REQUEST(combine(origin, count, datatype, NULL, 0, MPI_BYTE, target, disp, there_count,
                       there_datatype, op, false, win, request));
}

static int get_accumulate(const void* origin, int count, ompi_datatype_t* datatype, void* result,
                          int result_count, ompi_datatype_t* result_datatype, int target,
                          ptrdiff_t disp, int there_count, ompi_datatype_t* there_datatype,
                          ompi_op_t* op, ompi_win_t* win) {
  const enum lfc_element element = lfc_element_of(there_datatype);
  const bool alike = result_datatype == there_datatype && result_count == there_count &&
                     ((datatype == there_datatype && count == there_count) || op == MPI_NO_OP);
  if (alike && is_single(element))
    return combine_plain(origin, result, there_datatype, element, there_count, target, disp, op,
                         win);
  return combine(origin, count, datatype, result, result_count, result_datatype, target, disp,
                 there_count, there_datatype, op, true, win, NULL);
}

static int rget_accumulate(const void* origin, int count, ompi_datatype_t* datatype, void* result,
                           int result_count, ompi_datatype_t* result_datatype, int target,
                           ptrdiff_t disp, int there_count, ompi_datatype_t* there_datatype,
                           ompi_op_t* op, ompi_win_t* win, ompi_request_t** out) {
  WITH_REQUEST(combine(origin, count, datatype, result, result_count, result_datatype, target, disp,
                       there_count, there_datatype, op, true, win, request));
}

static int fetch_and_op(const void* origin, void* result, ompi_datatype_t* datatype, int target,
                        ptrdiff_t disp, ompi_op_t* op, ompi_win_t* win) {
  const enum lfc_element element = lfc_element_of(datatype);
  if (is_single(element))
    return combine_plain(origin, result, datatype, element, 1, target, disp, op, win);
  return combine(origin, 1, datatype, result, 1, datatype, target, disp, 1, datatype, op, true, win,
                 NULL);
}

static int compare_and_swap(const void* origin, const void* compare, void* result,
                            ompi_datatype_t* datatype, int target, ptrdiff_t disp,
                            ompi_win_t* win) {
  return rma_error(lfc_rma_compare_and_swap(rma_module_of(win)->window, (uint32_t)target, compare,
                                            origin, result, datatype->super.size, disp));
}

void rma_fill_operations(ompi_osc_base_module_t* module) {
  module->osc_put = put;
  module->osc_get = get;
  module->osc_accumulate = accumulate;
  module->osc_compare_and_swap = compare_and_swap;
  module->osc_fetch_and_op = fetch_and_op;
  module->osc_get_accumulate = get_accumulate;
  module->osc_rput = rput;
  module->osc_rget = rget;
  module->osc_raccumulate = raccumulate;
  module->osc_rget_accumulate = rget_accumulate;
}
