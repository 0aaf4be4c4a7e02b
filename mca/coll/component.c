/* The component: parameters, and the decision whether to take part at all. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coll_lfc.h"
#include "fits.h"
#include "help.h"
#include "modex.h"
#include "parameters.h"
#include "pml_hooks/pml_hooks.h"
#include "progress.h"

#include "opal/util/proc.h"

static int progress(void) {
  opal_progress();
  return 0;
}

static int progress_nowait(void) {
  lfc_progress_keeping_turn();
  return 0;
}

static int register_component(void) {
  if (!lfc_fits()) return OPAL_SUCCESS; /* open_component() declines */

  lfc_coll_component* own = &mca_coll_lfc_component;
  const mca_base_component_t* version = &own->super.collm_version;
  (void)mca_base_var_group_component_register(
      version,
      "LFC: broadcasts, barriers and reductions on trees that the LFC engine forwards, and "
      "over shared memory within a node. Takes part when btl lfc does: --mca btl lfc");

  lfc_parameters_register(version, lfc_coll_parameter_table(), &own->options.parameters);
  return OPAL_SUCCESS;
}

static int open_component(void) {
  struct lfc_coll_options* options = &mca_coll_lfc_component.options;
  if (!lfc_may_open("btl", "lfc")) return OPAL_ERR_NOT_AVAILABLE;
  char text[256];
  if (!lfc_parameters_check(lfc_coll_parameter_table(), &options->parameters, text, sizeof text)) {
    lfc_help("coll declines", text, lfc_node_of(opal_proc_local_get()));
    return OPAL_ERR_NOT_AVAILABLE;
  }
  if (lfc_has_device_memory()) {
    if (options->parameters.verbose >= 1)
      opal_output(0, "coll lfc: declines: %s", LFC_NO_DEVICE_MEMORY);
    return OPAL_ERR_NOT_AVAILABLE;
  }
  options->progress = progress;
  options->progress_nowait = progress_nowait;
  options->prints_losses = lfc_prints_losses;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  options->crowded = cores > 0 && (long)opal_process_info.num_local_peers + 1 > cores;
  size_t size = 0;
  const void* facts = lfc_coll_open(options, &size);
  if (facts == NULL || !lfc_modex_publish(LFC_EXCHANGE_COLL, facts, size))
    return OPAL_ERR_NOT_AVAILABLE;
  return OPAL_SUCCESS;
}

static int close_component(void) {
  if (mca_coll_lfc_component.options.parameters.stats) {
    char text[1024];
    lfc_pml_hooks_describe(text, sizeof text);
    if (*text != '\0') lfc_print_line("lfc-channels", OPAL_PROC_MY_NAME.vpid, text);
    lfc_coll_describe(text, sizeof text);
    if (*text != '\0') lfc_print_line("lfc-coll", OPAL_PROC_MY_NAME.vpid, text);
  }
  lfc_pml_hooks_remove();
  lfc_coll_close();
  return OPAL_SUCCESS;
}

/* Installs the hooks that coll_lfc_channels selects. */
static void hook_pml(bool threads) {
  const struct lfc_coll_parameters* parameters = &mca_coll_lfc_component.options.parameters;
  const enum lfc_channels_choice choice = (enum lfc_channels_choice)lfc_parameter_choice(
      lfc_coll_parameter_table(), parameters, &parameters->channels);
  const char* file = strchr(parameters->channels, ':');
  const char* why =
      lfc_pml_hooks_install(choice, file == NULL ? NULL : file + 1, (int)lfc_job_size(), threads,
                            parameters->channels_report);
  const bool uses_file = choice == LFC_CHANNELS_PLAN || choice == LFC_CHANNELS_RECORD;
  if (why == NULL || OPAL_PROC_MY_NAME.vpid != 0) return;
  if (uses_file || parameters->channels_report || parameters->verbose >= 1)
    opal_output(0, "coll lfc: coll_lfc_channels %s: %s", parameters->channels, why);
}

/* The BTLs are open by now. A process whose NI did not open has published no address, so all detect it. */
static int init_query(bool progress_threads, bool mpi_threads) {
  (void)progress_threads;
  if (!lfc_coll_start_service(mpi_threads)) return OPAL_ERR_NOT_AVAILABLE;
  hook_pml(mpi_threads);
  return OPAL_SUCCESS;
}

__attribute__((visibility("default"))) lfc_coll_component mca_coll_lfc_component = {
    .super = {.collm_version = {LFC_COLL_VERSION, .mca_component_name = "lfc",
                                LFC_COMPONENT_VERSION, .mca_open_component = open_component,
                                .mca_close_component = close_component,
                                .mca_register_component_params = register_component},
              .collm_data = {.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT},
              .collm_init_query = init_query,
              .collm_comm_query = lfc_coll_query}};
