#include "unknown_parameters.h"

#include <stdio.h>
#include <string.h>

#include "lfc/lfc.h"
#include "ompi_version.h"

extern char** environ;

enum { kMost = 128 };

/* What stands behind the prefix of those variables of Open MPI that have it, and of the component's own parameters: it
 * may not have registered them yet. */
static size_t known_names(const char* prefix, const struct lfc_parameter_table* table,
                          const char** names) {
  size_t count = 0;
  for (; count < table->count && count < kMost; ++count) names[count] = table->rows[count].name;
  for (int i = 0; i < mca_base_var_get_count() && count < kMost; ++i) {
    const mca_base_var_t* variable = NULL;
    if (mca_base_var_get(i, &variable) == OPAL_SUCCESS && variable->mbv_full_name != NULL &&
        strncmp(variable->mbv_full_name, prefix, strlen(prefix)) == 0)
      names[count++] = variable->mbv_full_name + strlen(prefix);
  }
  return count;
}

static void add_unknown(const char* prefix, const struct lfc_parameter_table* table, char* text,
                        size_t text_size) {
  static const char set_by[] = "OMPI_MCA_";
  const char* names[kMost];
  const size_t count = known_names(prefix, table, names);
  for (char** variable = environ; *variable != NULL; ++variable) {
    const char* name = *variable + strlen(set_by);
    if (strncmp(*variable, set_by, strlen(set_by)) != 0) continue;
    if (strncmp(name, prefix, strlen(prefix)) != 0) continue;
    char written[128];
    name += strlen(prefix);
    snprintf(written, sizeof written, "%.*s", (int)strcspn(name, "="), name);
    const size_t meant = lfc_nearest_name(names, count, written);
    if (meant < count && strcmp(names[meant], written) == 0) continue;
    const size_t used = strlen(text);
    snprintf(text + used, text_size - used, "%s%s%s", used == 0 ? "" : ", ", prefix, written);
    const size_t named = strlen(text);
    if (meant < count)
      snprintf(text + named, text_size - named, " (did you mean %s%s?)", prefix, names[meant]);
  }
}

bool lfc_unknown_parameters(char* text, size_t text_size) {
  *text = '\0';
  add_unknown("btl_lfc_", lfc_btl_parameter_table(), text, text_size);
  add_unknown("coll_lfc_", lfc_coll_parameter_table(), text, text_size);
  add_unknown("osc_neon_", lfc_osc_parameter_table(), text, text_size);
  add_unknown("part_lfc_", lfc_part_parameter_table(), text, text_size);
  return *text != '\0';
}
