/* The one place that knows how Open MPI 4.1 and 5.0 differ.
 *
 * Include it before any other Open MPI header. Open MPI's loader does not check for which version a
 * component was built, and structures differ. So fits.h compares the versions first.
 */
#ifndef LFC_MCA_OMPI_VERSION_H
#define LFC_MCA_OMPI_VERSION_H

#include <stdbool.h>

#include "opal_config.h"

#include "opal/class/opal_bitmap.h"
#include "opal/class/opal_free_list.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/base/btl_base_error.h"
#include "opal/mca/btl/btl.h"
#include "opal/runtime/opal.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

/* The version of LFC's components in ompi_info: LFC's own, which CMake defines. */
#define LFC_COMPONENT_VERSION \
  MCA_BASE_MAKE_VERSION(component, LFC_VERSION_MAJOR, LFC_VERSION_MINOR, LFC_VERSION_PATCH)

#if OPAL_MAJOR_VERSION == 4 && OPAL_MINOR_VERSION == 1
#include "opal/mca/pmix/pmix.h"
#include "opal/runtime/opal_params.h"
#define LFC_MODEX_GLOBAL OPAL_PMIX_GLOBAL
#define LFC_MODEX_JOB_SIZE OPAL_PMIX_JOB_SIZE
#define LFC_MODEX_UINT32 OPAL_UINT32
/* Data that 5.0's libraries do not have. If they were not weak, the loader would refuse the component there before it
 * could print why it declines. */
#define LFC_MODEX_WEAK_DATA _Pragma("weak opal_pmix") _Pragma("weak opal_value_t_class")
#define LFC_BTL_REMOTE_COMPLETION 0u
#define LFC_BTL_HAS_FT_EVENT 1
/* Its mpirun reads a text that is being overwritten: one of six is lost, with an ORTE_ERROR_LOG in its place. */
#define LFC_SHOW_HELP_LOSES_TEXTS 1
typedef char lfc_info_text; /* in callbacks for a changed info key */
#define LFC_BTL_VERSION MCA_BTL_BASE_VERSION_3_1_0
#define LFC_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#define LFC_HAS_PART 0                /* the framework of partitioned communication */
#define LFC_HAS_SESSIONS 0            /* and MPI may start again after it has ended */
#define LFC_HAS_FAILURES 0            /* MPIX_Comm_revoke and its relatives */
#define LFC_HAS_EXTENDED_IDS 0        /* communicators have ids beside their numbers */
#define LFC_MPI_SURVIVES_FAULTS false /* the MPI of this job goes on without ranks that failed */
/* The part of Open MPI that serves the memory of accelerators, such as GPUs. `null` or empty: there is none. */
#define LFC_ACCELERATOR (opal_cuda_support ? "cuda" : "null")
/* The callback for messages of one tag between BTLs: LFC_BTL_RECEIVER(name) { ... LFC_BTL_RECEIVER_PASS(next); } */
#define LFC_BTL_RECEIVER(name)                                            \
  static void name(mca_btl_base_module_t* module, mca_btl_base_tag_t tag, \
                   mca_btl_base_descriptor_t* message, void* context)
#define LFC_BTL_RECEIVER_PASS(next) (next).cbfunc(module, tag, message, context)
#define LFC_BTL_RECEIVER_SEGMENT (message->des_segments)
#elif OPAL_MAJOR_VERSION == 5 && OPAL_MINOR_VERSION == 0
#include "opal/mca/accelerator/base/base.h"
#include "opal/mca/pmix/pmix-internal.h"
#define LFC_MODEX_GLOBAL PMIX_GLOBAL
#define LFC_MODEX_JOB_SIZE PMIX_JOB_SIZE
#define LFC_MODEX_UINT32 PMIX_UINT32
#define LFC_MODEX_WEAK_DATA
/* Our put reports completion only when the target's memory has changed. */
#define LFC_BTL_REMOTE_COMPLETION MCA_BTL_FLAGS_RDMA_REMOTE_COMPLETION
#define LFC_BTL_HAS_FT_EVENT 0
#define LFC_SHOW_HELP_LOSES_TEXTS 0
typedef const char lfc_info_text;
#define LFC_BTL_VERSION MCA_BTL_BASE_VERSION_3_3_0
#define LFC_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#define LFC_HAS_PART 1
#define LFC_HAS_SESSIONS 1
#define LFC_HAS_EXTENDED_IDS 1
#define LFC_ACCELERATOR opal_accelerator_base_selected_component.base_version.mca_component_name
#define LFC_HAS_FAILURES OPAL_ENABLE_FT_MPI
#if OPAL_ENABLE_FT_MPI
#define LFC_MPI_SURVIVES_FAULTS ompi_ftmpi_enabled /* of ompi/runtime/params.h */
#else
#define LFC_MPI_SURVIVES_FAULTS false
#endif
/* The callback for messages of one tag between BTLs, as in 4.1. */
#define LFC_BTL_RECEIVER(name) \
  static void name(mca_btl_base_module_t* module, const mca_btl_base_receive_descriptor_t* message)
#define LFC_BTL_RECEIVER_PASS(next) (next).cbfunc(module, message)
#define LFC_BTL_RECEIVER_SEGMENT (message->des_segments)
#else
#error "LFC supports Open MPI 4.1 and 5.0"
#endif

/* These work in any Open MPI version. */

/* Whether the running Open MPI is of the series this was compiled for. */
bool lfc_ompi_is_ours(void);
/* Whether a framework's selection (`lfc,self`, `^tcp`) admits the component. */
bool lfc_chooses(const char* selection, const char* component);
/* Whether the component was named in its framework's selection (`--mca btl lfc,...`). A list of
 * exclusions (`^tcp`) names nothing. */
bool lfc_is_selected(const char* framework, const char* component);
/* Whether the program's buffers may lie in the memory of an accelerator. Components that read buffers by the processor
 * then decline: MPI lets each rank choose the memory of its own buffer, so no call shows all ranks which kind it is. */
bool lfc_has_device_memory(void);
#define LFC_NO_DEVICE_MEMORY                                                                   \
  "Open MPI serves the memory of accelerators in this process, which LFC cannot read (without" \
  " GPUs: --mca accelerator null; Open MPI 4.1: --mca opal_cuda_support 0)"

/* Whether bytes have to be copied by the convertor: they have gaps, or the processor cannot read them. */
static inline bool lfc_must_pack(const opal_convertor_t* convertor) {
#if OPAL_MAJOR_VERSION >= 5 /* 4.1 examines the memory in the same function */
  if (opal_convertor_on_device(convertor)) return true;
#endif
  return opal_convertor_need_buffers(convertor) != 0;
}

/* Whether ob1 may have a message fetched into this memory although the processor cannot write to it. */
static inline bool lfc_is_device_memory(const void* address) {
#if OPAL_MAJOR_VERSION >= 5
  int device = 0;
  uint64_t flags = 0;
  return opal_accelerator.check_addr(address, &device, &flags) > 0;
#else
  (void)address; /* ob1 of 4.1 does so only if a flag of the BTL permits it */
  return false;
#endif
}
/* Copies from ordinary memory. False: the accelerator refused. */
static inline bool lfc_copy_to_device(void* to, const void* from, size_t size) {
#if OPAL_MAJOR_VERSION >= 5
  return opal_accelerator.mem_copy(MCA_ACCELERATOR_NO_DEVICE_ID, MCA_ACCELERATOR_NO_DEVICE_ID, to,
                                   from, size, MCA_ACCELERATOR_TRANSFER_HTOD) == OPAL_SUCCESS;
#else
  (void)to, (void)from, (void)size;
  return false;
#endif
}

/* Hands a message to a receiver. */
static inline void lfc_btl_deliver_to(const mca_btl_active_message_callback_t* receiver,
                                      mca_btl_base_module_t* module,
                                      struct mca_btl_base_endpoint_t* endpoint,
                                      mca_btl_base_tag_t tag, mca_btl_base_segment_t* segment) {
#if OPAL_MAJOR_VERSION == 4
  /* Receivers read only these fields of a descriptor. Clearing all of it would take longer than delivering
   * a short message. */
  mca_btl_base_descriptor_t descriptor;
  descriptor.des_segments = segment;
  descriptor.des_segment_count = 1;
  descriptor.des_flags = 0;
  (void)endpoint;
  receiver->cbfunc(module, tag, &descriptor, receiver->cbdata);
#else
  const mca_btl_base_receive_descriptor_t descriptor = {.endpoint = endpoint,
                                                        .des_segments = segment,
                                                        .des_segment_count = 1,
                                                        .tag = tag,
                                                        .cbdata = receiver->cbdata};
  receiver->cbfunc(module, &descriptor);
#endif
}

/* Hands a message to the receiver that is registered for its tag. The caller has checked that there is one. */
static inline void lfc_btl_deliver(mca_btl_base_module_t* module,
                                   struct mca_btl_base_endpoint_t* endpoint, mca_btl_base_tag_t tag,
                                   mca_btl_base_segment_t* segment) {
  lfc_btl_deliver_to(mca_btl_base_active_message_trigger + tag, module, endpoint, tag, segment);
}

#endif
