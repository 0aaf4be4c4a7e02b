#include "unknown_parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lfc/lfc.h"
#include "ompi_version.h"
#include "opal/mca/base/mca_base_vari.h"

extern char** environ;

enum { kMost = 128 };

/* The names, without the prefix, of Open MPI's variables that have the prefix, and of the component's own parameters:
 * the component may not have registered them yet. */
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

struct report {
  char* text;
  size_t size;
};

static bool is_listed(const char* text, const char* entry) {
  const size_t size = strlen(entry);
  const char* found = text;
  while ((found = strstr(found, entry)) != NULL) {
    if ((found == text || found[-1] == ' ') && (found[size] == ',' || found[size] == '\0'))
      return true;
    found += size;
  }
  return false;
}

struct component {
  const char* prefix;
  const struct lfc_parameter_table* table;
};

/* Adds the name, which is as long as `size`, if it begins like a parameter of the component and is none. */
static void add_unknown(const struct component* component, const char* name, size_t size,
                        struct report* report) {
  const size_t begin = strlen(component->prefix);
  if (size < begin || strncmp(name, component->prefix, begin) != 0) return;
  char written[128];
  snprintf(written, sizeof written, "%.*s", (int)(size - begin), name + begin);
  const char* names[kMost];
  const size_t count = known_names(component->prefix, component->table, names);
  const size_t meant = lfc_nearest_name(names, count, written);
  if (meant < count && strcmp(names[meant], written) == 0) return;
  char entry[512];
  snprintf(entry, sizeof entry, "%s%s", component->prefix, written);
  if (meant < count)
    snprintf(entry, sizeof entry, "%s%s (did you mean %s%s?)", component->prefix, written,
             component->prefix, names[meant]);
  if (is_listed(report->text, entry)) return; /* it stands in the environment and in a file */
  const size_t used = strlen(report->text);
  snprintf(report->text + used, report->size - used, "%s%s", used == 0 ? "" : ", ", entry);
}

static void look_at_environment(const struct component* component, struct report* report) {
  static const char set_by[] = "OMPI_MCA_";
  for (char** variable = environ; *variable != NULL; ++variable) {
    if (strncmp(*variable, set_by, strlen(set_by)) != 0) continue;
    const char* name = *variable + strlen(set_by);
    add_unknown(component, name, strcspn(name, "="), report);
  }
}

/* Reads by Open MPI's own parser the parameter files that it has read. Their names are separated by commas. */
static void read_files(opal_list_t* values) {
  char* const* files = NULL;
  const int index = mca_base_var_find("opal", "mca", "base", "param_files");
  if (index < 0 || mca_base_var_get_value(index, &files, NULL, NULL) != OPAL_SUCCESS) return;
  char* list = files == NULL || *files == NULL ? NULL : strdup(*files);
  char* rest = NULL;
  for (char* file = list == NULL ? NULL : strtok_r(list, ",", &rest); file != NULL;
       file = strtok_r(NULL, ",", &rest))
    (void)mca_base_parse_paramfile(file, values);
  free(list);
}

bool lfc_unknown_parameters(char* text, size_t text_size) {
  const struct component components[] = {{"btl_lfc_", lfc_btl_parameter_table()},
                                         {"coll_lfc_", lfc_coll_parameter_table()},
                                         {"osc_neon_", lfc_osc_parameter_table()},
                                         {"part_lfc_", lfc_part_parameter_table()}};
  struct report report = {text, text_size};
  *text = '\0';
  opal_list_t values;
  OBJ_CONSTRUCT(&values, opal_list_t);
  read_files(&values);
  for (size_t i = 0; i < sizeof components / sizeof components[0]; ++i) {
    const mca_base_var_file_value_t* value;
    look_at_environment(&components[i], &report);
    OPAL_LIST_FOREACH(value, &values, mca_base_var_file_value_t) {
      add_unknown(&components[i], value->mbvfv_var, strlen(value->mbvfv_var), &report);
    }
  }
  OPAL_LIST_DESTRUCT(&values);
  return *text != '\0';
}
