#include "modex.h"

#if OPAL_MAJOR_VERSION == 4
/* Data that 5.0's libraries do not have: without this the loader would refuse the component there
 * before it could say why it declines. */
#pragma weak opal_pmix
#pragma weak opal_value_t_class
#endif

static char key[] = "lfc.address";

bool lfc_modex_publish(const void* address, size_t size) {
  int status = OPAL_ERROR;
  OPAL_MODEX_SEND_STRING(status, LFC_MODEX_GLOBAL, key, (void*)(uintptr_t)address, size);
  return status == OPAL_SUCCESS;
}

bool lfc_modex_find(const opal_process_name_t* process, uint8_t** address, size_t* size) {
  int status = OPAL_ERROR;
  *address = NULL;
  *size = 0;
  OPAL_MODEX_RECV_STRING(status, key, (opal_process_name_t*)(uintptr_t)process, address, size);
  return status == OPAL_SUCCESS && *address != NULL;
}
