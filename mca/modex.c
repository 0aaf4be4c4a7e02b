#include "modex.h"

#include <stdlib.h>
#include <string.h>

LFC_MODEX_WEAK_DATA

static const char key[] = "lfc"; /* another layout of the record needs another key */

bool lfc_modex_publish(enum lfc_exchange_part part, const void* bytes, size_t size) {
  const void* record = NULL;
  size_t record_size = 0;
  if (!lfc_exchange_add(part, bytes, size, &record, &record_size)) return false;
  int status = OPAL_SUCCESS;
  if (record != NULL) {
    OPAL_MODEX_SEND_STRING(status, LFC_MODEX_GLOBAL, (char*)(uintptr_t)key,
                           (void*)(uintptr_t)record, record_size);
  }
  if (status != OPAL_SUCCESS) lfc_exchange_drop(part);
  return status == OPAL_SUCCESS;
}

void lfc_modex_publish_part(void) {
  const char* chosen = getenv("OMPI_MCA_part");
  if (LFC_HAS_PART && (chosen == NULL || lfc_chooses(chosen, "lfc")) && !lfc_has_device_memory())
    (void)lfc_modex_publish(LFC_EXCHANGE_PART, NULL, 0);
}

/* Returns the record of a process, which the caller frees, and its parts; they are 0 if it published none. Hands it to
 * all components: none needs another look-up. */
static uint8_t* look_up(const opal_proc_t* proc, struct lfc_exchange_record* found) {
  uint8_t* record = NULL;
  size_t size = 0;
  int status = OPAL_ERROR;
  OPAL_MODEX_RECV_STRING(status, (char*)(uintptr_t)key,
                         (opal_process_name_t*)(uintptr_t)&proc->proc_name, &record, &size);
  (void)lfc_exchange_read(record, status == OPAL_SUCCESS && record != NULL ? size : 0, found);
  const struct lfc_coll_process name = {proc->proc_name.jobid, proc->proc_name.vpid};
  lfc_exchange_remember(name.job, name.rank, found->parts);
  const bool same_bytes = proc->proc_arch == opal_proc_local_get()->proc_arch;
  lfc_coll_introduce(name, found->coll, same_bytes ? found->coll_size : 0, found->address,
                     found->address_size);
  return record;
}

unsigned lfc_modex_parts(const opal_proc_t* proc) {
  unsigned parts = 0;
  struct lfc_exchange_record found;
  if (proc == opal_proc_local_get()) return lfc_exchange_own().parts;
  if (lfc_exchange_recall(proc->proc_name.jobid, proc->proc_name.vpid, &parts)) return parts;
  free(look_up(proc, &found));
  return found.parts;
}

void lfc_modex_introduce(const opal_proc_t* proc) {
  struct lfc_exchange_record found;
  free(look_up(proc, &found));
}

bool lfc_modex_find_address(const opal_proc_t* proc, uint8_t** address, size_t* size) {
  const struct lfc_coll_process name = {proc->proc_name.jobid, proc->proc_name.vpid};
  unsigned parts = 0;
  struct lfc_exchange_record found;
  *address = lfc_coll_copy_address(name, size);
  if (*address != NULL) return true;
  if (lfc_exchange_recall(name.job, name.rank, &parts) && (parts & LFC_EXCHANGE_ADDRESS) == 0)
    return false;
  *address = look_up(proc, &found);
  *size = found.address_size;
  if ((found.parts & LFC_EXCHANGE_ADDRESS) != 0) {
    memmove(*address, found.address, found.address_size);
    return true;
  }
  free(*address);
  *address = NULL;
  return false;
}

uint32_t lfc_job_size(void) {
  const opal_process_name_t all = {.jobid = OPAL_PROC_MY_NAME.jobid, .vpid = OPAL_VPID_WILDCARD};
  uint32_t size = 0;
  uint32_t* place = &size;
  int status = OPAL_ERROR;
  OPAL_MODEX_RECV_VALUE_OPTIONAL(status, LFC_MODEX_JOB_SIZE, (opal_process_name_t*)&all, &place,
                                 LFC_MODEX_UINT32);
  return status == OPAL_SUCCESS ? size : 0;
}
