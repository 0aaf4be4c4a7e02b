#include "ompi_version.h"

#include <stdio.h>
#include <string.h>

static bool lists(const char* selection, const char* component) {
  const size_t length = strlen(component);
  for (const char* item = selection; *item != '\0';) {
    const size_t item_length = strcspn(item, ",");
    if (item_length == length && strncmp(item, component, length) == 0) return true;
    item += item_length;
    item += *item == ',';
  }
  return false;
}

bool lfc_chooses(const char* selection, const char* component) {
  return *selection == '^' ? !lists(selection + 1, component) : lists(selection, component);
}

bool lfc_is_selected(const char* framework, const char* component) {
  int index = -1;
  const char* const* selection = NULL;
  if (mca_base_var_find_by_name(framework, &index) != OPAL_SUCCESS || index < 0) return false;
  if (mca_base_var_get_value(index, &selection, NULL, NULL) != OPAL_SUCCESS) return false;
  return selection != NULL && *selection != NULL && **selection != '^' &&
         lists(*selection, component);
}

bool lfc_has_device_memory(void) {
  const char* const accelerator = LFC_ACCELERATOR;
  return *accelerator != '\0' && strcmp(accelerator, "null") != 0;
}

bool lfc_ompi_is_ours(void) {
  int major = -1;
  int minor = -1;
  const int fields = sscanf(opal_version_string, "%d.%d", &major, &minor);
  return fields == 2 && major == OPAL_MAJOR_VERSION && minor == OPAL_MINOR_VERSION;
}
