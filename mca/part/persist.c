/* Open MPI's own component `persist`, for requests with peers that have no LFC. Choosing this component closes it, so
 * the first such request opens it anew. */
#include <string.h>

#include "part_lfc.h"

#include "opal/mca/base/mca_base_component_repository.h"

const mca_part_base_module_t* lfc_part_persist;

static mca_part_base_component_t* component; /* NULL: there is none */
static ompi_request_start_fn_t start_several;

void lfc_part_keep_persist(void) {
  mca_base_component_list_item_t* item;
  OPAL_LIST_FOREACH(item, &ompi_part_base_framework.framework_components,
                    mca_base_component_list_item_t) {
    const mca_base_component_t* each = item->cli_component;
    if (strcmp(each->mca_component_name, "persist") != 0) continue;
    component = (mca_part_base_component_t*)(uintptr_t)each;
    /* If it is a file of its own, that file stays loaded. */
    (void)mca_base_component_repository_retain_component("part", "persist");
  }
}

static bool open_persist(void) {
  if (lfc_part_persist != NULL) return true;
  if (component == NULL) return false;
  int priority = 0;
  if (component->partm_version.mca_open_component() != OMPI_SUCCESS) return false;
  lfc_part_persist = component->partm_init(&priority, true, true);
  if (lfc_part_persist == NULL) return false;
  if (lfc_part_persist->part_progress != NULL)
    (void)opal_progress_register(lfc_part_persist->part_progress);
  return true;
}

void lfc_part_close_persist(void) {
  if (lfc_part_persist != NULL) {
    if (lfc_part_persist->part_progress != NULL)
      (void)opal_progress_unregister(lfc_part_persist->part_progress);
    (void)component->partm_version.mca_close_component();
  }
  lfc_part_persist = NULL;
}

/* Starts one request at a time: its own function starts only the first of several. */
static int start_each(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    const int status = start_several(1, &requests[i]);
    if (status != OMPI_SUCCESS) return status;
  }
  return OMPI_SUCCESS;
}

int lfc_part_persist_init(const struct lfc_part_call* call, ompi_request_t** request) {
  if (!open_persist()) return OMPI_ERR_NOT_SUPPORTED;
  const int status = call->sends ? lfc_part_persist->part_psend_init(
                                       call->address, call->partitions, call->count, call->type,
                                       call->rank, call->tag, call->comm, call->info, request)
                                 : lfc_part_persist->part_precv_init(
                                       call->address, call->partitions, call->count, call->type,
                                       call->rank, call->tag, call->comm, call->info, request);
  if (status != OMPI_SUCCESS) return status;
  start_several = (*request)->req_start;
  (*request)->req_start = start_each;
  return OMPI_SUCCESS;
}
