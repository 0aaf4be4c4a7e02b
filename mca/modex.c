#include "modex.h"

#include <stdlib.h>

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

bool lfc_modex_published(const opal_process_name_t* process) {
  uint8_t* address = NULL;
  size_t size = 0;
  const bool found = lfc_modex_find(process, &address, &size);
  free(address);
  return found;
}

bool lfc_modex_mark(const char* name) {
  int status = OPAL_ERROR;
  char yes[] = "1";
  OPAL_MODEX_SEND_STRING(status, LFC_MODEX_GLOBAL, (char*)(uintptr_t)name, yes, sizeof yes);
  return status == OPAL_SUCCESS;
}

bool lfc_modex_marked(const char* name, const opal_process_name_t* process) {
  int status = OPAL_ERROR;
  uint8_t* mark = NULL;
  size_t size = 0;
  OPAL_MODEX_RECV_STRING(status, (char*)(uintptr_t)name, (opal_process_name_t*)(uintptr_t)process,
                         &mark, &size);
  free(mark);
  return status == OPAL_SUCCESS;
}
