/* The component: parameters, and the decision whether to serve a window. */
#include "osc_neon.h"

#include <stdio.h>

#include "fits.h"
#include "help.h"
#include "modex.h"
#include "native_service.h"
#include "parameters.h"

static int register_component(void) {
  if (!lfc_fits()) return OPAL_SUCCESS; /* open_component() declines */
  const mca_base_component_t* version = &mca_osc_neon_component.super.osc_version;
  (void)mca_base_var_group_component_register(
      version,
      "LFC: one-sided communication on the LFC engine of btl lfc. Takes part only when it "
      "is named: --mca btl lfc --mca osc neon");
  lfc_parameters_register(version, lfc_osc_parameter_table(), &mca_osc_neon_component.parameters);
  for (size_t i = 0; i < lfc_neon_counter_count(); ++i)
    (lfc_neon_counter_is_level(i) ? lfc_performance_level : lfc_performance_counter)(
        version, lfc_neon_counter_name(i), lfc_neon_counter_help(i), lfc_neon_counter, i);
  return OPAL_SUCCESS;
}

static int open_component(void) {
  if (!lfc_may_open("osc", "neon")) return OPAL_ERR_NOT_AVAILABLE;
  char text[256];
  if (!lfc_parameters_check(lfc_osc_parameter_table(), &mca_osc_neon_component.parameters, text,
                            sizeof text)) {
    lfc_help("osc declines", text, lfc_node_of(opal_proc_local_get()));
    return OPAL_ERR_NOT_AVAILABLE;
  }
  /* Where it is not published, no window is served. */
  if (lfc_has_device_memory()) return OPAL_SUCCESS;
  return lfc_modex_publish(LFC_EXCHANGE_OSC, NULL, 0) ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
}

static int close_component(void) { return OPAL_SUCCESS; }

static int init_component(bool progress_threads, bool mpi_threads) {
  (void)progress_threads;
  (void)mpi_threads;
  return OMPI_SUCCESS;
}

static int finalize_component(void) {
  if (mca_osc_neon_component.parameters.stats)
    lfc_print_counters("lfc-neon", OPAL_PROC_MY_NAME.vpid, "", lfc_neon_counter_count(),
                       lfc_neon_counter_name, lfc_neon_counter);
  lfc_neon_close();
  lfc_rma_close();
  return OMPI_SUCCESS;
}

static void progress(void) { opal_progress(); }

static const char no_interface[] =
    "needs the LFC engine of btl lfc in all processes of a window: "
    "run with --mca pml ob1 --mca btl lfc --mca osc neon";

/* Prints once, on one rank, why windows are left to other components. */
static int decline(ompi_communicator_t* comm, const char* why) {
  if (!mca_osc_neon_component.printed && ompi_comm_rank(comm) == 0) lfc_help("no window", why);
  mca_osc_neon_component.printed = true;
  return OMPI_ERR_NOT_SUPPORTED;
}

bool rma_open_windows(void) {
  static const struct lfc_rma_host host = {progress, rma_request_finished};
  return lfc_rma_open(&host);
}

/* All ranks reach the same decision. First they compare their published data. If that permits it, all of them exchange
 * their results. */
static int query(ompi_win_t* win, void** base, size_t size, int disp_unit,
                 ompi_communicator_t* comm, opal_info_t* info, int flavor) {
  (void)win, (void)base, (void)size, (void)disp_unit, (void)info;
  if (OMPI_COMM_IS_INTER(comm)) return OMPI_ERR_NOT_SUPPORTED;
  if (lfc_has_device_memory()) return decline(comm, LFC_NO_DEVICE_MEMORY);
  char why[512] = "";
  const unsigned needed = LFC_EXCHANGE_ADDRESS | LFC_EXCHANGE_OSC;
  int possible = rma_open_windows();
  bool same_host = true;
  /* A rank without a network interface has published no address, and no other rank finds one. */
  if (!possible) return decline(comm, no_interface);
  for (int rank = 0; rank < ompi_comm_size(comm); ++rank) {
    ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
    same_host &= OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
    if (rank == ompi_comm_rank(comm)) continue; /* its engine and this component are open */
    /* First the peer: that takes one look-up, which also finds the parts. */
    if (possible && rma_peer_of(comm, rank, why, sizeof why) == LFC_NO_PEER) possible = 0;
    if ((lfc_modex_parts(&proc->super) & needed) != needed) return decline(comm, no_interface);
  }
  int all = 0;
  const int status = comm->c_coll->coll_allreduce(&possible, &all, 1, MPI_INT, MPI_MIN, comm,
                                                  comm->c_coll->coll_allreduce_module);
  if (status != OMPI_SUCCESS) return status;
  if (!possible)
    lfc_help("window not served", why[0] != '\0' ? why : "the LFC engine is closed",
             lfc_node_of(opal_proc_local_get()));
  if (!all) return decline(comm, "not all processes of a window can reach each other");
  if (flavor == MPI_WIN_FLAVOR_SHARED && !same_host) return OMPI_ERR_RMA_SHARED;
  return 200; /* above all of Open MPI's own */
}

__attribute__((visibility("default"))) rma_component mca_osc_neon_component = {
    .super = {.osc_version = {OMPI_OSC_BASE_VERSION_3_0_0, .mca_component_name = "neon",
                              LFC_COMPONENT_VERSION, .mca_open_component = open_component,
                              .mca_close_component = close_component,
                              .mca_register_component_params = register_component},
              .osc_data = {MCA_BASE_METADATA_PARAM_NONE},
              .osc_init = init_component,
              .osc_query = query,
              .osc_select = rma_window_select,
              .osc_finalize = finalize_component}};
