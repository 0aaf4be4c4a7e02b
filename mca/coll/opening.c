#include "opening.h"

void lfc_coll_open_nothing(lfc_coll_opening* it, enum lfc_coll_kind kind, int root) {
  lfc_coll_operands_none(&it->operands);
  it->call = (struct lfc_coll_call){.kind = kind, .root = root};
}

bool lfc_coll_own_fits(lfc_coll_opening* it, int count, const ompi_datatype_t* type, size_t block) {
  it->call.mismatch = (size_t)count * type->super.size != block;
  return !it->call.mismatch;
}

static void settle(lfc_coll_opening* it) {
  it->call.in = it->operands.in.bytes;
  it->call.out = it->operands.out.bytes;
  it->call.blocks = it->operands.blocks;
  it->call.in_blocks = it->operands.in_blocks;
  it->call.gives = it->operands.gives.parts;
  it->call.takes = it->operands.takes.parts;
}

int lfc_coll_run_opened(lfc_coll_opening* it, bool opened) {
  if (!opened) {
    (void)lfc_coll_operands_close(&it->operands, false);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  settle(it);
  const int status = lfc_coll_run_call(it->module, &it->call);
  const bool closed = lfc_coll_operands_close(&it->operands, status == OMPI_SUCCESS);
  return status == OMPI_SUCCESS && !closed ? OMPI_ERROR : status;
}

/* A request that has taken over the operands; NULL: no memory. */
static lfc_coll_request* request_of(lfc_coll_opening* it, bool opened) {
  lfc_coll_request* made = opened ? lfc_coll_request_new() : NULL;
  if (made == NULL) {
    (void)lfc_coll_operands_close(&it->operands, false);
    return NULL;
  }
  settle(it);
  made->operands = it->operands;
  return made;
}

int lfc_coll_start_opened(lfc_coll_opening* it, bool opened, ompi_communicator_t* comm,
                          ompi_request_t** request) {
  lfc_coll_request* made = request_of(it, opened);
  return made == NULL ? OMPI_ERR_OUT_OF_RESOURCE
                      : lfc_coll_request_start(made, comm, it->module, &it->call, request);
}

int lfc_coll_keep_opened(lfc_coll_opening* it, bool opened, ompi_communicator_t* comm,
                         ompi_request_t** request) {
  return lfc_coll_request_keep(request_of(it, opened), comm, it->module, &it->call, request);
}
