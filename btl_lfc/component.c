/* The component: parameters, and the decision whether to take part at all. */
#include <stdio.h>
#include <stdlib.h>

#include "btl_lfc.h"
#include "parameters.h"

/* The defaults; register_parameters() gives the user's values instead. */
static const char* links;
static const char* interfaces = "";
static const char* provider = "";
static const char* policy = "auto";
static const char* idle = "block";
static const char* registration_cache = "auto";

static unsigned long long read_counter(size_t which) {
  return lfc_adapter_counter(lfc_btl.adapter, which);
}

static int register_component(void) {
  if (!lfc_ompi_is_ours()) return OPAL_SUCCESS; /* open_component() declines */

  lfc_btl_component* own = &mca_btl_lfc_component;
  const mca_base_component_t* version = &own->super.btl_version;
  struct lfc_options* options = &own->options;
  *options = lfc_adapter_defaults();
  own->peer_fragments = lfc_adapter_message_limits().peer_fragments;
  (void)mca_base_var_group_component_register(
      version,
      "LFC: eager and rendezvous messages with credit flow control, put, get and atomics. "
      "Takes part only when it is named: --mca btl lfc");

  char help[512];
  snprintf(help, sizeof help,
           "Kinds of links in order of preference, of %s. The first that reaches a peer carries "
           "its traffic",
           lfc_adapter_link_kinds());
  links = options->links;
  lfc_parameter_text(version, "links", help, OPAL_INFO_LVL_3, &links);
  lfc_parameter_text(
      version, "interfaces",
      "Network interfaces for tcp and ofi: names, addresses or CIDR blocks separated "
      "by commas; a leading ^ excludes instead. Empty: all but loopback",
      OPAL_INFO_LVL_3, &interfaces);
  lfc_parameter_text(
      version, "provider",
      "libfabric provider for the link ofi, as fi_info names it. Empty: the best one "
      "that can do what LFC needs",
      OPAL_INFO_LVL_3, &provider);
  lfc_parameter_text(
      version, "policy",
      "Who drives the network interface. single: the process itself, inside MPI calls; "
      "floating: likewise, and a thread, woken by arrivals, while it computes; fixed: a "
      "thread with a processor of its own; auto: floating unless processors are short",
      OPAL_INFO_LVL_3, &policy);
  lfc_parameter_text(version, "idle",
                     "What the thread of policy fixed does when nothing arrives: spin, yield, "
                     "backoff or block",
                     OPAL_INFO_LVL_5, &idle);
  lfc_parameter_flag(version, "upcalls",
                     "Whether the thread of policies floating and fixed also runs Open MPI's "
                     "callbacks, so that rendezvous and matching go on while the process computes; "
                     "turns on Open MPI's protection for threads",
                     OPAL_INFO_LVL_4, &options->upcalls);
  lfc_parameter_unsigned(version, "intr_delay",
                         "Microseconds that what arrives may wait for the process before the "
                         "thread is woken for it. 0: twice what a wake-up is measured to take",
                         OPAL_INFO_LVL_5, &options->intr_delay);
  lfc_parameter_unsigned(version, "watch_interval",
                         "Microseconds after which the thread notices at the latest that the "
                         "process has left MPI (up to 1000000); sooner if it was there for a "
                         "shorter time. 0: 200 where a processor is to spare, else 5000",
                         OPAL_INFO_LVL_5, &options->watch_interval);
  lfc_parameter_size(version, "queue_memory",
                     "Bytes of messages that the thread keeps for a process that computes before "
                     "it stalls their senders",
                     OPAL_INFO_LVL_5, &options->queue_memory);
  lfc_parameter_unsigned(version, "initial_window",
                         "Receive buffers promised to a peer when it begins to talk (1 to 65536)",
                         OPAL_INFO_LVL_5, &options->initial_window);
  lfc_parameter_unsigned(version, "max_window",
                         "Receive buffers that one busy peer may come to hold (initial_window to "
                         "65536)",
                         OPAL_INFO_LVL_5, &options->max_window);
  lfc_parameter_size(
      version, "window_cap",
      "Receive buffers that all peers together may come to hold; beyond it new peers "
      "still get their initial window, but none grows (1 or more)",
      OPAL_INFO_LVL_5, &options->window_cap);
  lfc_parameter_unsigned(version, "shm_slots",
                         "Frames that the shared-memory ring of one local sender holds (a power of "
                         "two)",
                         OPAL_INFO_LVL_5, &options->shm_slots);
  lfc_parameter_size(version, "shm_bulk",
                     "Bytes of the shared-memory ring of one local sender for what does not fit "
                     "into a slot (a power of two)",
                     OPAL_INFO_LVL_5, &options->shm_bulk);
  lfc_parameter_unsigned(version, "rail_timeout",
                         "Milliseconds after which a network interface that makes no progress is "
                         "given up, when the same peer answers over another one",
                         OPAL_INFO_LVL_5, &options->rail_timeout);
  lfc_parameter_flag(version, "cma",
                     "Whether large transfers on one host go in one copy (process_vm_readv) where "
                     "the kernel permits it",
                     OPAL_INFO_LVL_4, &options->cma);
  lfc_parameter_size(
      version, "single_copy_from",
      "Bytes of a message on one host from which on it goes in a single copy instead "
      "of fragments through shared memory; 0: as measured on this machine at first "
      "use (see verbose), 1: always",
      OPAL_INFO_LVL_4, &options->single_copy_from);
  lfc_parameter_unsigned(version, "peer_fragments",
                         "Send fragments that may be on their way to one peer; ob1 keeps what is "
                         "beyond, and sends to other peers go on (1 or more)",
                         OPAL_INFO_LVL_7, &own->peer_fragments);
  lfc_parameter_text(version, "registration_cache",
                     "Whether registrations of memory are kept for its next use: auto (where a "
                     "provider of the link ofi makes them expensive), always or never",
                     OPAL_INFO_LVL_5, &registration_cache);
  lfc_parameter_flag(version, "stats",
                     "Whether each process prints its counters at MPI_Finalize, one line on "
                     "standard error: lfc-stats rank=R key=value ...",
                     OPAL_INFO_LVL_3, &own->stats);
  lfc_parameter_unsigned(version, "verbose",
                         "1: say at start which links are open and what bounds the memory; 2: also "
                         "each peer's link",
                         OPAL_INFO_LVL_3, &own->verbose);

  for (size_t i = 0; i < lfc_adapter_counter_count(); ++i)
    lfc_performance_counter(version, lfc_adapter_counter_name(i), lfc_adapter_counter_help(i),
                            read_counter, i);

  lfc_btl_module_defaults();
  return mca_btl_base_param_register((mca_base_component_t*)(uintptr_t)version, &lfc_btl.super);
}

static int open_component(void) {
  return lfc_may_open("btl", "lfc") ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
}

static int close_component(void) { return OPAL_SUCCESS; }

static mca_btl_base_module_t** init_component(int* count, bool progress_threads, bool mpi_threads) {
  struct lfc_options* options = &mca_btl_lfc_component.options;
  (void)progress_threads;
  *count = 0;
  options->links = links;
  options->interfaces = interfaces;
  options->provider = provider;
  options->policy = policy;
  options->idle = idle;
  mca_btl_lfc_component.registration_cache = registration_cache;

  /* When it declines it still shows a module, one that reaches nobody: with no module at all, Open
   * MPI 4.1 crashes instead of reporting that processes are unreachable. */
  mca_btl_base_module_t** modules = malloc(sizeof *modules); /* freed by the framework */
  if (modules == NULL) return NULL;
  if (!lfc_btl_module_open(mpi_threads)) lfc_btl.super.btl_flags = MCA_BTL_FLAGS_SEND;
  modules[0] = &lfc_btl.super;
  *count = 1;
  return modules;
}

static int progress_component(void) {
  return lfc_btl.adapter == NULL ? 0 : lfc_adapter_progress(lfc_btl.adapter);
}

__attribute__((visibility("default"))) lfc_btl_component mca_btl_lfc_component = {
    .super = {.btl_version = {MCA_BTL_DEFAULT_VERSION("lfc"), .mca_open_component = open_component,
                              .mca_close_component = close_component,
                              .mca_register_component_params = register_component},
              .btl_init = init_component,
              .btl_progress = progress_component}};
