#include "parameters.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void lfc_parameters_register(const mca_base_component_t* component,
                             const struct lfc_parameter_table* table, void* values) {
  static const mca_base_var_type_t types[] = {[LFC_UNSIGNED] = MCA_BASE_VAR_TYPE_UNSIGNED_INT,
                                              [LFC_SIZE] = MCA_BASE_VAR_TYPE_SIZE_T,
                                              [LFC_FLAG] = MCA_BASE_VAR_TYPE_BOOL,
                                              [LFC_TEXT] = MCA_BASE_VAR_TYPE_STRING};
  lfc_parameters_reset(table, values);
  for (size_t i = 0; i < table->count; ++i) {
    const struct lfc_parameter* row = &table->rows[i];
    char accepted[256];
    char help[1024]; /* Open MPI copies it */
    lfc_parameter_accepted(row, accepted, sizeof accepted);
    snprintf(help, sizeof help, *accepted == '\0' ? "%s" : "%s (accepted: %s)", row->help,
             accepted);
    (void)mca_base_component_var_register(
        component, row->name, help, types[row->type], NULL, 0, 0,
        OPAL_INFO_LVL_1 + (mca_base_var_info_lvl_t)(row->level - 1), MCA_BASE_VAR_SCOPE_READONLY,
        (char*)values + row->offset);
  }
}

/* The context of a performance variable: made once, and needed as long as the variable exists. */
struct counter {
  lfc_counter_read read;
  size_t which;
};

static int read_counter(const struct mca_base_pvar_t* variable, void* value, void* object) {
  const struct counter* counter = variable->ctx;
  (void)object;
  *(unsigned long long*)value = counter->read(counter->which);
  return OPAL_SUCCESS;
}

static void register_variable(const mca_base_component_t* component, const char* name,
                              const char* help, int class, lfc_counter_read read, size_t which) {
  static struct counter counters[LFC_MOST_COUNTERS];
  counters[which] = (struct counter){read, which};
  (void)mca_base_component_pvar_register(
      component, name, help, OPAL_INFO_LVL_4, class, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
      MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
      read_counter, NULL, NULL, &counters[which]);
}

void lfc_performance_counter(const mca_base_component_t* component, const char* name,
                             const char* help, lfc_counter_read read, size_t which) {
  register_variable(component, name, help, MCA_BASE_PVAR_CLASS_COUNTER, read, which);
}

void lfc_performance_level(const mca_base_component_t* component, const char* name,
                           const char* help, lfc_counter_read read, size_t which) {
  register_variable(component, name, help, MCA_BASE_PVAR_CLASS_LEVEL, read, which);
}

void lfc_print_line(const char* head, unsigned rank, const char* values) {
  char line[LFC_COUNTERS_LINE + 256];
  int used = snprintf(line, sizeof line - 1, "%s rank=%u %s", head, rank, values);
  if (used > (int)sizeof line - 2) used = (int)sizeof line - 2;
  line[used++] = '\n';
  if (write(STDERR_FILENO, line, (size_t)used) < 0) return; /* nowhere to complain */
}

void lfc_print_counters(const char* head, unsigned rank, const char* before, size_t count,
                        const char* (*name)(size_t which), lfc_counter_read read) {
  char values[LFC_COUNTERS_LINE + 192];
  int used = snprintf(values, sizeof values, "%s", before);
  for (size_t i = 0; i < count && used < (int)sizeof values; ++i)
    used += snprintf(values + used, sizeof values - (size_t)used, "%s%s=%llu", used == 0 ? "" : " ",
                     name(i), read(i));
  lfc_print_line(head, rank, values);
}
