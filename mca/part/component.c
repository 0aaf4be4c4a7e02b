/* The component: parameters, and how Open MPI chooses it. */
#include <stdlib.h>
#include <string.h>

#include "fits.h"
#include "help.h"
#include "modex.h"
#include "parameters.h"
#include "part_lfc.h"

#include "ompi/instance/instance.h"

static unsigned long long read_counter(size_t which) { return lfc_part_counter(which); }

static int register_component(void) {
  if (!lfc_fits()) return OPAL_SUCCESS; /* open_component() declines */
  const mca_base_component_t* version = &mca_part_lfc_component.super.partm_version;
  (void)mca_base_var_group_component_register(
      version,
      "LFC: partitioned communication on the LFC engine. Takes part when btl lfc does: --mca btl "
      "lfc");
  lfc_parameters_register(version, lfc_part_parameter_table(), &mca_part_lfc_component.parameters);
  for (size_t i = 0; i < lfc_part_counter_count(); ++i)
    lfc_performance_counter(version, lfc_part_counter_name(i), lfc_part_counter_help(i),
                            read_counter, i);
  return OPAL_SUCCESS;
}

/* The framework considers only components of a list, which has one name. This adds `lfc`. */
static int open_component(void) {
  if (!lfc_may_open("btl", "lfc")) return OPAL_ERR_NOT_AVAILABLE;
  if (lfc_has_device_memory()) {
    if (mca_part_lfc_component.parameters.verbose >= 1)
      opal_output(0, "part lfc: declines: %s", LFC_NO_DEVICE_MEMORY);
    return OPAL_ERR_NOT_AVAILABLE;
  }
  char* name = strdup("lfc"); /* the framework frees it */
  if (name == NULL || opal_pointer_array_add(&mca_part_base_part, name) < 0) {
    free(name);
    return OPAL_ERR_NOT_AVAILABLE;
  }
  return OPAL_SUCCESS;
}

/* Called at the end, while the BTLs are still open. */
static void end(void* nothing) {
  (void)nothing;
  if (mca_part_lfc_component.parameters.stats)
    lfc_print_counters("lfc-part", OPAL_PROC_MY_NAME.vpid, "", lfc_part_counter_count(),
                       lfc_part_counter_name, read_counter);
  lfc_part_close_persist();
  lfc_part_close();
}

/* Open MPI 5.0 unloads this component at the end of the last session. But it leaves the framework open, with the
 * component in its list, where the next session would call it. This function closes the framework. That unloads this
 * code, so Open MPI itself has to call the function. */
#define CLOSE_FRAMEWORK (void (*)(void)) mca_base_framework_close

static mca_part_base_module_t* init_component(int* priority, bool progress_threads,
                                              bool mpi_threads) {
  (void)progress_threads;
  (void)mpi_threads;
  if (!lfc_part_open(&lfc_part_requests)) return NULL; /* btl lfc has printed the reason */
  /* The function that was registered last is called first. */
  opal_finalize_register_cleanup_arg(CLOSE_FRAMEWORK, &ompi_part_base_framework);
  ompi_mpi_instance_append_finalize(end);
  lfc_part_keep_persist();
  *priority = 50; /* persist, the only other one, has 1 */
  return &lfc_part_module;
}

__attribute__((visibility("default"))) lfc_part_component mca_part_lfc_component = {
    .super = {.partm_version = {MCA_PART_BASE_VERSION_2_0_0, .mca_component_name = "lfc",
                                LFC_COMPONENT_VERSION, .mca_open_component = open_component,
                                .mca_register_component_params = register_component},
              .partm_data = {MCA_BASE_METADATA_PARAM_NONE},
              .partm_init = init_component}};
