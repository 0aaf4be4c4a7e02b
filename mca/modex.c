#include "modex.h"

#include <stdlib.h>

#if OPAL_MAJOR_VERSION == 4
/* Data that 5.0's libraries do not have: without this the loader would refuse the component there
 * before it could print why it declines. */
#pragma weak opal_pmix
#pragma weak opal_value_t_class
#endif

bool lfc_modex_publish(const char* key, const void* bytes, size_t size) {
  int status = OPAL_ERROR;
  OPAL_MODEX_SEND_STRING(status, LFC_MODEX_GLOBAL, (char*)(uintptr_t)key, (void*)(uintptr_t)bytes,
                         size);
  return status == OPAL_SUCCESS;
}

bool lfc_modex_find(const char* key, const opal_process_name_t* process, uint8_t** bytes,
                    size_t* size) {
  int status = OPAL_ERROR;
  *bytes = NULL;
  *size = 0;
  OPAL_MODEX_RECV_STRING(status, (char*)(uintptr_t)key, (opal_process_name_t*)(uintptr_t)process,
                         bytes, size);
  return status == OPAL_SUCCESS && *bytes != NULL;
}

void lfc_modex_publish_part(void) {
  const char* chosen = getenv("OMPI_MCA_part");
  if (LFC_HAS_PART && (chosen == NULL || lfc_chooses(chosen, "lfc")))
    (void)lfc_modex_publish(LFC_MODEX_PART, "", 1);
}

bool lfc_modex_has(const char* key, const opal_process_name_t* process) {
  uint8_t* bytes = NULL;
  size_t size = 0;
  const bool found = lfc_modex_find(key, process, &bytes, &size);
  free(bytes);
  return found;
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

unsigned lfc_modex_parts(const opal_process_name_t* process) {
  unsigned parts = 0;
  if (lfc_exchange_recall(process->jobid, process->vpid, &parts)) return parts;
  if (lfc_modex_has(LFC_MODEX_ADDRESS, process)) parts |= LFC_EXCHANGE_ADDRESS;
  if (lfc_modex_has(LFC_MODEX_OSC, process)) parts |= LFC_EXCHANGE_OSC;
  lfc_exchange_remember(process->jobid, process->vpid, parts);
  return parts;
}
