#include "parameters.h"

static void add(const mca_base_component_t* component, const char* name, const char* help,
                mca_base_var_info_lvl_t level, mca_base_var_type_t type, void* value) {
  (void)mca_base_component_var_register(component, name, help, type, NULL, 0, 0, level,
                                        MCA_BASE_VAR_SCOPE_READONLY, value);
}

void lfc_parameter_text(const mca_base_component_t* component, const char* name, const char* help,
                        mca_base_var_info_lvl_t level, const char** value) {
  add(component, name, help, level, MCA_BASE_VAR_TYPE_STRING, value);
}

void lfc_parameter_unsigned(const mca_base_component_t* component, const char* name,
                            const char* help, mca_base_var_info_lvl_t level, unsigned* value) {
  add(component, name, help, level, MCA_BASE_VAR_TYPE_UNSIGNED_INT, value);
}

void lfc_parameter_size(const mca_base_component_t* component, const char* name, const char* help,
                        mca_base_var_info_lvl_t level, size_t* value) {
  add(component, name, help, level, MCA_BASE_VAR_TYPE_SIZE_T, value);
}

void lfc_parameter_flag(const mca_base_component_t* component, const char* name, const char* help,
                        mca_base_var_info_lvl_t level, bool* value) {
  add(component, name, help, level, MCA_BASE_VAR_TYPE_BOOL, value);
}

/* What a performance variable carries as its context. Few, made once, needed as long as it. */
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

void lfc_performance_counter(const mca_base_component_t* component, const char* name,
                             const char* help, lfc_counter_read read, size_t which) {
  enum { kMost = 64 };
  static struct counter counters[kMost];
  if (which >= kMost) return;
  counters[which] = (struct counter){read, which};
  (void)mca_base_component_pvar_register(
      component, name, help, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
      MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
      MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter, NULL, NULL,
      &counters[which]);
}
