/* The component: parameters, and the decision whether to take part at all. */
#include <stdio.h>
#include <stdlib.h>

#include "btl_lfc.h"
#include "fits.h"
#include "help.h"
#include "modex.h"
#include "parameters.h"
#include "unknown_parameters.h"

static int register_component(void) {
  if (!lfc_fits()) return OPAL_SUCCESS; /* open_component() declines */

  lfc_btl_component* own = &mca_btl_lfc_component;
  const mca_base_component_t* version = &own->super.btl_version;
  (void)mca_base_var_group_component_register(
      version,
      "LFC: eager and rendezvous messages with credit flow control, put, get and atomics. "
      "Takes part only when it is named: --mca btl lfc");

  lfc_parameters_register(version, lfc_btl_parameter_table(), &own->options.parameters);
  for (size_t i = 0; i < lfc_adapter_counter_count(); ++i)
    lfc_performance_counter(version, lfc_adapter_counter_name(i), lfc_adapter_counter_help(i),
                            lfc_btl_counter, i);

  lfc_btl_module_defaults();
  return mca_btl_base_param_register((mca_base_component_t*)(uintptr_t)version, &lfc_btl.near);
}

static int open_component(void) {
  char unknown[1024];
  if (!lfc_may_open("btl", "lfc")) return OPAL_ERR_NOT_AVAILABLE;
  if (lfc_unknown_parameters(unknown, sizeof unknown)) lfc_help("unknown parameters", unknown);
  return OPAL_SUCCESS;
}

static int close_component(void) { return OPAL_SUCCESS; }

static mca_btl_base_module_t** init_component(int* count, bool progress_threads, bool mpi_threads) {
  (void)progress_threads;
  *count = 0;

  /* A component that declines still offers a module, one that reaches no process: with no module at all,
   * Open MPI 4.1 crashes instead of reporting that processes are unreachable. */
  mca_btl_base_module_t** modules = malloc(2 * sizeof *modules); /* freed by the framework */
  if (modules == NULL) return NULL;
  modules[0] = &lfc_btl.near;
  modules[1] = &lfc_btl.far;
  lfc_modex_publish_part();
  if (lfc_btl_module_open(mpi_threads)) {
    *count = 2;
  } else {
    lfc_btl.near.btl_flags = MCA_BTL_FLAGS_SEND;
    *count = 1;
  }
  return modules;
}

static int progress_component(void) {
  return lfc_btl.adapter == NULL ? 0 : lfc_adapter_progress(lfc_btl.adapter);
}

__attribute__((visibility("default"))) lfc_btl_component mca_btl_lfc_component = {
    .super = {.btl_version = {LFC_BTL_VERSION, .mca_component_name = "lfc", LFC_COMPONENT_VERSION,
                              .mca_open_component = open_component,
                              .mca_close_component = close_component,
                              .mca_register_component_params = register_component},
              .btl_init = init_component,
              .btl_progress = progress_component}};
