/* The component: parameters, and the decision whether to take part at all. */
#include <stdio.h>
#include <unistd.h>

#include "coll_lfc.h"
#include "modex.h"
#include "parameters.h"

#include "opal/util/proc.h"

static const char* forwarding = "ni";
static const char* tree = "monotone";
static const char* recovery = "timer";

static int progress(void) {
  opal_progress();
  return 0;
}

static int register_component(void) {
  if (!lfc_ompi_is_ours()) return OPAL_SUCCESS; /* open_component() declines */

  lfc_coll_component* own = &mca_coll_lfc_component;
  const mca_base_component_t* version = &own->super.collm_version;
  struct lfc_coll_options* options = &own->options;
  *options = lfc_coll_defaults();
  options->progress = progress;
  own->priority = 80;
  (void)mca_base_var_group_component_register(
      version,
      "LFC: broadcasts, barriers and reductions on trees that the network interface forwards, and "
      "over shared memory within a node. Takes part when btl lfc does: --mca btl lfc");

  lfc_parameter_unsigned(version, "priority", "Priority among the collective components (0 to 100)",
                         OPAL_INFO_LVL_3, &own->priority);
  lfc_parameter_text(
      version, "forwarding",
      "Who forwards packets along the trees. ni: the network interface, whatever its "
      "host does; host: the MPI process, inside collective calls (for comparison)",
      OPAL_INFO_LVL_5, &forwarding);
  lfc_parameter_text(
      version, "tree",
      "Shape of the trees: monotone, which cannot deadlock; binary, binomial, chain or kary, for "
      "comparison",
      OPAL_INFO_LVL_5, &tree);
  lfc_parameter_text(
      version, "recovery",
      "When a packet that waits on a tree that is not monotone is suspected of being in "
      "a deadlock, and recovered: never (they are the user's own risk), timer (when "
      "nothing has gone its way for coll_lfc_recovery_delay), immediate",
      OPAL_INFO_LVL_5, &recovery);
  lfc_parameter_unsigned(version, "recovery_delay",
                         "Microseconds until coll_lfc_recovery's timer suspects a deadlock; up to "
                         "twice that, at random (1 to 1000000)",
                         OPAL_INFO_LVL_5, &options->recovery_delay);
  lfc_parameter_size(
      version, "packet",
      "Bytes of a packet among nodes, which is forwarded when it has arrived (256 to "
      "61440)",
      OPAL_INFO_LVL_5, &options->packet);
  lfc_parameter_size(
      version, "window",
      "Bytes of broadcasts and reductions that a rank may be ahead of another before "
      "it waits (65536 to 1099511627776)",
      OPAL_INFO_LVL_5, &options->window);
  lfc_parameter_unsigned(
      version, "fan",
      "Children of an inner node of a tree on either side of the root (1 to 16); "
      "0: by size, from 8 for few bytes and many nodes to 1, a chain, for many bytes",
      OPAL_INFO_LVL_5, &options->fan);
  lfc_parameter_flag(version, "stats",
                     "Whether each process prints its counters at MPI_Finalize, one line on "
                     "standard error: lfc-coll rank=R key=value ...",
                     OPAL_INFO_LVL_3, &own->stats);
  lfc_parameter_unsigned(version, "verbose",
                         "1: say for each communicator whether LFC serves it, and if not, why",
                         OPAL_INFO_LVL_3, &own->verbose);
  return OPAL_SUCCESS;
}

static bool refuse(const char* parameter, const char* accepted) {
  opal_output(0, "coll lfc: coll_lfc_%s must be %s; collectives go on without LFC", parameter,
              accepted);
  return false;
}

static bool parameters_are_valid(struct lfc_coll_options* options) {
  if (options->packet < 256 || options->packet > 60 * 1024)
    return refuse("packet", "from 256 to 61440");
  if (options->window < 64 * 1024 || options->window > (size_t)1 << 40)
    return refuse("window", "from 65536 to 1099511627776");
  if (options->fan > 16) return refuse("fan", "from 0 to 16");
  if (strcmp(forwarding, "ni") != 0 && strcmp(forwarding, "host") != 0)
    return refuse("forwarding", "ni or host");
  options->host_forwarding = strcmp(forwarding, "host") == 0;
  if (!lfc_coll_find_tree(tree, &options->tree)) return refuse("tree", lfc_coll_tree_names());
  if (!lfc_coll_find_recovery(recovery, &options->recovery))
    return refuse("recovery", lfc_coll_recovery_names());
  if (options->recovery_delay < 1 || options->recovery_delay > 1000000)
    return refuse("recovery_delay", "from 1 to 1000000");
  return true;
}

static int open_component(void) {
  struct lfc_coll_options* options = &mca_coll_lfc_component.options;
  if (!lfc_may_open("btl", "lfc") || !parameters_are_valid(options)) return OPAL_ERR_NOT_AVAILABLE;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  options->crowded = cores > 0 && (long)opal_process_info.num_local_peers + 1 > cores;
  size_t size = 0;
  const void* facts = lfc_coll_open(options, &size);
  if (facts == NULL || !lfc_modex_publish(LFC_MODEX_COLL, facts, size))
    return OPAL_ERR_NOT_AVAILABLE;
  return OPAL_SUCCESS;
}

static int close_component(void) {
  if (mca_coll_lfc_component.stats) {
    char text[1024];
    lfc_coll_describe(text, sizeof text);
    if (*text != '\0') fprintf(stderr, "lfc-coll rank=%u %s\n", OPAL_PROC_MY_NAME.vpid, text);
  }
  lfc_coll_close();
  return OPAL_SUCCESS;
}

/* The BTLs are open by now. A process whose NI did not open has published no address: all see it. */
static int init_query(bool progress_threads, bool mpi_threads) {
  (void)progress_threads;
  if (!lfc_coll_start_service(mpi_threads)) return OPAL_ERR_NOT_AVAILABLE;
  lfc_coll_learn_types();
  return OPAL_SUCCESS;
}

__attribute__((visibility("default"))) lfc_coll_component mca_coll_lfc_component = {
    .super = {.collm_version = {LFC_COLL_VERSION, .mca_component_name = "lfc",
                                MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
                                .mca_open_component = open_component,
                                .mca_close_component = close_component,
                                .mca_register_component_params = register_component},
              .collm_data = {.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT},
              .collm_init_query = init_query,
              .collm_comm_query = lfc_coll_query}};
