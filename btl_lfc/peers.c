/* Peers: which module reaches which process. */
#include <stdio.h>
#include <stdlib.h>

#include "btl_lfc.h"
#include "help.h"
#include "modex.h"

mca_btl_base_module_t* lfc_btl_module_of(uint32_t peer) {
  return lfc_adapter_is_far(lfc_btl.adapter, peer) ? &lfc_btl.far : &lfc_btl.near;
}

static uint32_t find_peer(const opal_proc_t* proc, char* why, size_t why_size) {
  *why = '\0';
  if (proc == opal_proc_local_get()) {
    size_t size = 0;
    const void* address = lfc_adapter_address(lfc_btl.adapter, &size);
    return lfc_adapter_add_peer(lfc_btl.adapter, address, size, why, why_size);
  }
  if (proc->proc_arch != opal_proc_local_get()->proc_arch) {
    snprintf(why, why_size, "its architecture differs");
    return LFC_NO_PEER;
  }
  /* Both modules add each process. */
  const uint32_t known =
      lfc_adapter_known_peer(lfc_btl.adapter, proc->proc_name.jobid, proc->proc_name.vpid);
  if (known != LFC_NO_PEER) return known;
  uint8_t* address = NULL;
  size_t size = 0;
  if (!lfc_modex_find_address(proc, &address, &size)) {
    snprintf(why, why_size, "it published no LFC address");
    return LFC_NO_PEER;
  }
  const uint32_t peer = lfc_adapter_add_peer(lfc_btl.adapter, address, size, why, why_size);
  free(address);
  return peer;
}

static void print_unreachable(const opal_proc_t* proc, const char* why) {
  static bool printed = false;
  if (!printed)
    lfc_help("cannot reach", opal_process_name_print(proc->proc_name), why,
             lfc_node_of(opal_proc_local_get()), lfc_node_of(proc));
  else if (mca_btl_lfc_component.options.parameters.verbose >= 2)
    opal_output(0, "btl lfc: cannot reach process %s: %s", opal_process_name_print(proc->proc_name),
                why);
  printed = true;
}

/* The first endpoint of a peer leads. */
static struct mca_btl_base_endpoint_t* make_endpoint(mca_btl_base_module_t* btl, opal_proc_t* proc,
                                                     uint32_t peer) {
  struct mca_btl_base_endpoint_t* endpoint = malloc(sizeof *endpoint);
  if (endpoint == NULL) return NULL;
  endpoint->proc = proc;
  endpoint->module = btl;
  endpoint->peer = peer;
  atomic_init(&endpoint->next_rts, NULL);
  lfc_shares_init(&endpoint->shares, mca_btl_lfc_component.options.parameters.peer_fragments,
                  lfc_btl_which(btl));
  endpoint->leads = lfc_adapter_set_endpoint(lfc_btl.adapter, peer, endpoint);
  if (!endpoint->leads) return endpoint;
  *(btl == &lfc_btl.far ? &lfc_btl.has_far : &lfc_btl.has_near) = true;
  if (mca_btl_lfc_component.options.parameters.verbose >= 2) {
    char link[64];
    lfc_adapter_link(lfc_btl.adapter, peer, link, sizeof link);
    opal_output(0, "btl lfc: process %s is reached over %s",
                opal_process_name_print(proc->proc_name), link);
  }
  return endpoint;
}

int lfc_btl_add_procs(mca_btl_base_module_t* btl, size_t count, opal_proc_t** procs,
                      struct mca_btl_base_endpoint_t** endpoints, opal_bitmap_t* reachable) {
  for (size_t i = 0; i < count; ++i) {
    char why[512]; /* or how */
    endpoints[i] = NULL;
    if (lfc_btl.adapter == NULL) continue; /* the reason was printed when it declined */
    const uint32_t peer = find_peer(procs[i], why, sizeof why);
    if (peer == LFC_NO_PEER) {
      if (btl == &lfc_btl.near) print_unreachable(procs[i], why);
      continue;
    }
    if (*why != '\0' && OPAL_PROC_ON_LOCAL_NODE(procs[i]->proc_flags)) {
      char link[64];
      lfc_adapter_link(lfc_btl.adapter, peer, link, sizeof link);
      lfc_btl_detour(link, why);
    }
    if (btl == &lfc_btl.far && lfc_btl_module_of(peer) != btl) continue;
    endpoints[i] = make_endpoint(btl, procs[i], peer);
    if (endpoints[i] == NULL) return OPAL_ERR_OUT_OF_RESOURCE;
    if (reachable != NULL) (void)opal_bitmap_set_bit(reachable, (int)i);
  }
  return OPAL_SUCCESS;
}

int lfc_btl_del_procs(mca_btl_base_module_t* btl, size_t count, opal_proc_t** procs,
                      struct mca_btl_base_endpoint_t** endpoints) {
  (void)btl;
  (void)procs;
  for (size_t i = 0; i < count; ++i) {
    if (endpoints[i] == NULL) continue;
    if (endpoints[i]->leads) lfc_adapter_remove_peer(lfc_btl.adapter, endpoints[i]->peer);
    free(endpoints[i]); /* the array keeps its pointer: r2 compares it with its other arrays */
  }
  return OPAL_SUCCESS;
}
