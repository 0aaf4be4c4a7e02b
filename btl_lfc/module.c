/* The modules: their functions and limits, incoming messages, start and end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "btl_lfc.h"
#include "help.h"
#include "modex.h"
#include "parameters.h"
#include "registration.h"

static int finalize(mca_btl_base_module_t* btl);
static int register_error(mca_btl_base_module_t* btl, mca_btl_base_module_error_cb_fn_t callback);
static void dump(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint, int verbose);
#if LFC_BTL_HAS_FT_EVENT
static int ft_event(int state) {
  (void)state;
  return OPAL_SUCCESS;
}
#endif

lfc_btl_modules lfc_btl;

/* The operations that are offered to ob1 and osc/rdma. Not SEND_INPLACE: with it ob1 prepares a fragment for each
 * message above 256 bytes instead of trying btl_sendi, which sends from where the message lies as well. */
static const uint32_t kOffered = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_RDMA |
                                 MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS |
                                 MCA_BTL_FLAGS_RDMA_FLUSH | LFC_BTL_REMOTE_COMPLETION;

/* The parameters that Open MPI registers for each BTL, and their places in the module. */
#define OB1_PARAMETERS(each)                                                                     \
  each(exclusivity) each(eager_limit) each(rndv_eager_limit) each(max_send_size)                 \
      each(rdma_pipeline_send_length) each(rdma_pipeline_frag_size) each(min_rdma_pipeline_size) \
          each(get_limit) each(get_alignment) each(put_limit) each(put_alignment) each(latency)  \
              each(bandwidth)

void lfc_btl_module_defaults(void) {
  struct lfc_ob1_parameters defaults;
  lfc_parameters_reset(lfc_ob1_parameter_table(), &defaults);
#define DEFAULT(name) .btl_##name = defaults.name,
  lfc_btl.near = (mca_btl_base_module_t) {
    .btl_component = &mca_btl_lfc_component.super, OB1_PARAMETERS(DEFAULT).btl_flags = kOffered,
    .btl_atomic_flags = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND |
                        MCA_BTL_ATOMIC_SUPPORTS_OR | MCA_BTL_ATOMIC_SUPPORTS_XOR |
                        MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_MIN |
                        MCA_BTL_ATOMIC_SUPPORTS_MAX | MCA_BTL_ATOMIC_SUPPORTS_32BIT |
                        MCA_BTL_ATOMIC_SUPPORTS_CSWAP | MCA_BTL_ATOMIC_SUPPORTS_GLOB,
    .btl_registration_handle_size = sizeof(mca_btl_base_registration_handle_t),
    /* Local memory is registered only where registrations are kept; a link that needs it does so
     * itself. */
        .btl_get_local_registration_threshold = SIZE_MAX,
    .btl_put_local_registration_threshold = SIZE_MAX, .btl_add_procs = lfc_btl_add_procs,
    .btl_del_procs = lfc_btl_del_procs, .btl_finalize = finalize, .btl_alloc = lfc_btl_alloc,
    .btl_free = lfc_btl_free, .btl_prepare_src = lfc_btl_prepare_src, .btl_send = lfc_btl_send,
    .btl_sendi = lfc_btl_sendi, .btl_put = lfc_btl_put, .btl_get = lfc_btl_get, .btl_dump = dump,
    .btl_atomic_op = lfc_btl_atomic_op, .btl_atomic_fop = lfc_btl_atomic_fop,
    .btl_atomic_cswap = lfc_btl_atomic_cswap, .btl_register_mem = lfc_btl_register_mem,
    .btl_deregister_mem = lfc_btl_deregister_mem, .btl_register_error = register_error,
#if LFC_BTL_HAS_FT_EVENT
    .btl_ft_event = ft_event,
#endif
    .btl_flush = lfc_btl_flush,
  };
#undef DEFAULT
}

/* Whether all of them have accepted values. If not, `text` begins with the name of one. Without `send` ob1 crashes. */
static bool accepts_ob1_parameters(char* text, size_t text_size) {
  const uint32_t flags = lfc_btl.near.btl_flags;
  if ((flags & MCA_BTL_FLAGS_SEND) == 0 || (flags & ~kOffered) != 0) {
    snprintf(text, text_size,
             "btl_lfc_flags: %u (accepted: send, which is %u, and any other bits of %u)", flags,
             MCA_BTL_FLAGS_SEND, kOffered);
    return false;
  }
#define VALUE(name) .name = lfc_btl.near.btl_##name,
  const struct lfc_ob1_parameters values = {OB1_PARAMETERS(VALUE)};
#undef VALUE
  return lfc_parameters_check(lfc_ob1_parameter_table(), &values, text, text_size);
}

/* --- Calls of the NI --- */

static void receive(void* context, uint32_t peer, uint8_t tag, const void* data, size_t size) {
  if (tag >= MCA_BTL_TAG_MAX || mca_btl_base_active_message_trigger[tag].cbfunc == NULL) {
    lfc_adapter_dropped(lfc_btl.adapter);
    return;
  }
  mca_btl_base_segment_t segment = {.seg_addr.pval = (void*)(uintptr_t)data, .seg_len = size};
  struct mca_btl_base_endpoint_t* endpoint = context;
  mca_btl_base_module_t* module = endpoint != NULL ? endpoint->module : lfc_btl_module_of(peer);
  const struct lfc_visit visit = lfc_btl_visit(module);
  lfc_btl_deliver(module, endpoint, tag, &segment);
  lfc_btl_visited(visit);
}

static void print_lost(const struct mca_btl_base_endpoint_t* endpoint, const char* why) {
  const char* name = opal_process_name_print(endpoint->proc->proc_name);
  const char* lost = OPAL_VPID_PRINT(endpoint->proc->proc_name.vpid);
  const char* node = lfc_node_of(endpoint->proc);
  if (!lfc_help("lost process", name, lost, node, why, OPAL_VPID_PRINT(OPAL_PROC_MY_NAME.vpid),
                lfc_node_of(opal_proc_local_get())))
    opal_output(
        0, "btl lfc: lost process %s, rank %s on node %s: %s (no descriptor is left: ulimit -n)",
        name, lost, node, why);
}

/* ob1 ends the job: a message that was promised will never come. */
static void broken(void* context, const char* why) {
  const struct mca_btl_base_endpoint_t* endpoint = context;
  if (endpoint == NULL) return; /* ob1 does not use this peer */
  if (lfc_prints_losses()) print_lost(endpoint, why);
  if (lfc_btl.error_callback != NULL) {
    static char text[] = "btl lfc: a peer is lost"; /* taken as a format by some versions */
    lfc_btl.error_callback(endpoint->module, MCA_BTL_ERROR_FLAGS_FATAL, endpoint->proc, text);
  }
}

static void notice(const char* line) { opal_output(0, "btl lfc: %s", line); }

void lfc_btl_detour(const char* link, const char* why) {
  static bool printed = false;
  if (!printed) lfc_help("detour", lfc_node_of(opal_proc_local_get()), link, why);
  printed = true;
}

/* --- Start --- */

static size_t at_most(size_t value, size_t limit) { return value < limit ? value : limit; }
static size_t larger(size_t one, size_t other) { return one < other ? other : one; }

/* Lowers the limits, which the user or the defaults gave, to those of the links. */
static void fit_limits(mca_btl_base_module_t* module, size_t max_message) {
  module->btl_max_send_size = at_most(module->btl_max_send_size, max_message);
  module->btl_eager_limit = at_most(module->btl_eager_limit, module->btl_max_send_size);
  module->btl_rndv_eager_limit = at_most(module->btl_rndv_eager_limit, module->btl_eager_limit);
  (void)mca_btl_base_param_verify(module);
}

/* For sends, bml/r2 uses the modules of highest exclusivity that reach the peer. For windows it also uses less
 * exclusive modules that offer put, get and atomics. osc/rdma (4.1) takes the first module that has atomics, and does
 * not check which peers it reaches. */
static void make_far(size_t max_message) {
  if (lfc_btl.near.btl_exclusivity == UINT32_MAX) --lfc_btl.near.btl_exclusivity;
  lfc_btl.far = lfc_btl.near;
  ++lfc_btl.far.btl_exclusivity;
  lfc_btl.far.btl_max_send_size = max_message;
  lfc_btl.far.btl_eager_limit = at_most(mca_btl_lfc_component.options.parameters.far_eager_limit,
                                        lfc_btl.far.btl_max_send_size);
  lfc_btl.far.btl_rndv_eager_limit =
      at_most(lfc_btl.near.btl_rndv_eager_limit, lfc_btl.far.btl_eager_limit);
  lfc_btl.far.btl_flags &= ~(uint32_t)(MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS);
  lfc_btl.far.btl_atomic_flags = 0;
}

static bool make_lists(size_t largest) {
  const struct {
    opal_free_list_t* list;
    size_t size;
    opal_class_t* class;
  } lists[] = {
      {&lfc_btl.headers, sizeof(lfc_btl_fragment) + kHeaderRoom, OBJ_CLASS(lfc_btl_fragment)},
      {&lfc_btl.eager, sizeof(lfc_btl_fragment) + lfc_btl.eager_room, OBJ_CLASS(lfc_btl_fragment)},
      {&lfc_btl.large, sizeof(lfc_btl_fragment) + largest, OBJ_CLASS(lfc_btl_fragment)},
      {&lfc_btl.operations, sizeof(lfc_btl_operation), OBJ_CLASS(lfc_btl_operation)},
  };
  bool made = true;
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) {
    OBJ_CONSTRUCT(lists[i].list, opal_free_list_t);
    made &= opal_free_list_init(lists[i].list, lists[i].size, opal_cache_line_size, lists[i].class,
                                0, 0, 0, -1, 16, NULL, 0, NULL, NULL, NULL) == OPAL_SUCCESS;
  }
  return made;
}

static void drop_lists(void) {
  OBJ_DESTRUCT(&lfc_btl.headers);
  OBJ_DESTRUCT(&lfc_btl.eager);
  OBJ_DESTRUCT(&lfc_btl.large);
  OBJ_DESTRUCT(&lfc_btl.operations);
}

static void decline(const char* why) {
  lfc_help("declines", why, lfc_node_of(opal_proc_local_get()));
}

/* `state`: the policy, links and limits of the engine. */
static void print_state(const char* state) {
  char library[512];
  lfc_describe_library(library, sizeof library);
  opal_output(0, "btl lfc: %s", state);
  opal_output(0, "btl lfc: %s", library);
}

/* Opens the engine. `text`: it in words, or why it cannot open. */
static lfc_adapter* open_adapter(bool threads, char* text, size_t text_size) {
  static const struct lfc_host host = {receive, lfc_btl_sent, broken, notice, lfc_btl_detour};
  struct lfc_options* options = &mca_btl_lfc_component.options;
  if (!accepts_ob1_parameters(text, text_size)) return NULL;
  options->job = OPAL_PROC_MY_NAME.jobid;
  options->rank = OPAL_PROC_MY_NAME.vpid;
  lfc_btl.has_devices = lfc_has_device_memory();
  options->local_processes = (unsigned)opal_process_info.num_local_peers + 1;
  options->local_rank = (unsigned)opal_process_info.my_local_rank;
  options->other_nodes = lfc_job_size() != options->local_processes;
  /* The thread calls ob1 back: as with several threads of the application's own. */
  if (options->parameters.upcalls) {
    opal_set_using_threads(true);
    lfc_btl.near.btl_flags |= MCA_BTL_FLAGS_BTL_PROGRESS_THREAD_ENABLED;
  }
  options->threads = threads || opal_using_threads();
  return lfc_adapter_open(options, &host, text, text_size);
}

bool lfc_btl_module_open(bool threads) {
  struct lfc_options* options = &mca_btl_lfc_component.options;
  char text[512];
  lfc_btl.adapter = open_adapter(threads, text, sizeof text);
  if (lfc_btl.adapter == NULL) {
    decline(text);
    return false;
  }
  if (lfc_is_verbose(options->parameters.verbose, options->local_rank)) print_state(text);

  const size_t far_message =
      at_most(lfc_btl.near.btl_max_send_size, lfc_adapter_max_far_message(lfc_btl.adapter));
  const size_t near_message = lfc_adapter_max_message(lfc_btl.adapter);
  fit_limits(&lfc_btl.near, near_message);
  lfc_btl.eager_room = larger(lfc_btl.near.btl_eager_limit, at_most(kProtocolRoom, near_message));

  size_t size = 0;
  const void* address = lfc_adapter_address(lfc_btl.adapter, &size);
  const size_t cache = lfc_parameter_choice(lfc_btl_parameter_table(), &options->parameters,
                                            &options->parameters.registration_cache);
  if (!lfc_registrations_open((enum lfc_cache)cache)) {
    decline("btl_lfc_registration_cache: Open MPI has no cache to give (rcache grdma)");
  } else if (!lfc_modex_publish(LFC_EXCHANGE_ADDRESS, address, size)) {
    decline("cannot publish the address of this process");
  } else if (!make_lists(larger(lfc_btl.near.btl_max_send_size, far_message))) {
    decline("out of memory");
    drop_lists();
  } else {
    if (lfc_registrations_cached()) {
      lfc_btl.near.btl_get_local_registration_threshold = 0;
      lfc_btl.near.btl_put_local_registration_threshold = 0;
    }
    make_far(far_message);
    /* A peer may send to this process before it sends anything itself. When it sends, r2 registers this
     * function again, with high priority. */
    (void)opal_progress_register_lp(mca_btl_lfc_component.super.btl_progress);
    return true;
  }
  lfc_registrations_close();
  lfc_adapter_close(lfc_btl.adapter);
  lfc_btl.adapter = NULL;
  return false;
}

static int register_error(mca_btl_base_module_t* btl, mca_btl_base_module_error_cb_fn_t callback) {
  (void)btl;
  lfc_btl.error_callback = callback;
  return OPAL_SUCCESS;
}

/* --- The end --- */

unsigned long long lfc_btl_counter(size_t which) {
  return lfc_adapter_counter(lfc_btl.adapter, which);
}

static void print_stats(void) {
  char links[128];
  char before[190];
  lfc_adapter_links(lfc_btl.adapter, links, sizeof links);
  snprintf(before, sizeof before, "links=%s memory=%zu", links,
           lfc_adapter_memory(lfc_btl.adapter));
  lfc_print_counters("lfc-stats", mca_btl_lfc_component.options.rank, before,
                     lfc_adapter_counter_count(), lfc_adapter_counter_name, lfc_btl_counter);
}

static int finalize(mca_btl_base_module_t* btl) {
  (void)btl;
  lfc_exchange_forget(); /* also what others have published if this component has declined */
  if (lfc_btl.adapter == NULL) return OPAL_SUCCESS;
  (void)opal_progress_unregister(mca_btl_lfc_component.super.btl_progress);
  if (mca_btl_lfc_component.options.parameters.stats) print_stats();
  lfc_btl.error_callback = NULL; /* a peer that disconnects from now on ends in order */
  lfc_registrations_close();
  lfc_adapter_close(lfc_btl.adapter);
  lfc_btl.adapter = NULL;
  drop_lists();
  return OPAL_SUCCESS;
}

static void dump(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                 int verbose) {
  enum { kText = 8192 };
  (void)btl;
  (void)endpoint;
  (void)verbose;
  char* text = lfc_btl.adapter == NULL ? NULL : malloc(kText);
  if (text == NULL) return;
  lfc_adapter_describe(lfc_btl.adapter, text, kText);
  opal_output(0, "btl lfc:\n%s", text);
  free(text);
}
