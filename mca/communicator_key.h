/* Keys: the names of communicators in the engine and in frames of ob1.
 *
 *   uint64_t key = lfc_communicator_key(comm);
 */
#ifndef LFC_MCA_COMMUNICATOR_KEY_H
#define LFC_MCA_COMMUNICATOR_KEY_H

#include "ompi_version.h"

#include "ompi/communicator/communicator.h"
#include "ompi/runtime/params.h"

/* The same number at all ranks of the communicator. No other communicator has this number and these members. */
static inline uint64_t lfc_communicator_key(const ompi_communicator_t* comm) {
#if !LFC_HAS_EXTENDED_IDS
  return comm->c_contextid;
#else
  const uint64_t index = OMPI_COMM_IS_GLOBAL_INDEX(comm) ? (uint64_t)comm->c_index : 0;
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t epoch = 0;
#if LFC_HAS_FAILURES
  /* If a communicator is revoked while its ranks duplicate it, only some of them get the duplicate. They count it as
   * one of this number, and the others do not. Open MPI's epoch distinguishes it from later ones. */
  if (LFC_MPI_SURVIVES_FAULTS) epoch = comm->c_epoch;
#endif
  return ((comm->c_contextid.cid_base * odd + comm->c_contextid.cid_sub.u64) * odd + index) * odd +
         epoch;
#endif
}

/* Whether no later communicator has this key. Open MPI never uses the number of a communicator that was made from a
 * group again; an epoch it may, for a communicator of other ranks. */
static inline bool lfc_communicator_key_is_unique(const ompi_communicator_t* comm) {
#if !LFC_HAS_EXTENDED_IDS
  (void)comm;
  return false;
#else
  return !OMPI_COMM_IS_GLOBAL_INDEX(comm);
#endif
}

/* The same number at all ranks of the communicator, and no rank has two communicators of one number. Open MPI takes the
 * lowest that is free. LFC_NO_NUMBER: it has none; those that are made from groups have none. */
#define LFC_NO_NUMBER UINT32_MAX
static inline uint32_t lfc_communicator_number(const ompi_communicator_t* comm) {
#if !LFC_HAS_EXTENDED_IDS
  return comm->c_contextid;
#else
  return OMPI_COMM_IS_GLOBAL_INDEX(comm) ? (uint32_t)comm->c_index : LFC_NO_NUMBER;
#endif
}

/* The number of the communicator in messages that ob1 gets in this process. */
static inline uint32_t lfc_communicator_index(const ompi_communicator_t* comm) {
#if !LFC_HAS_EXTENDED_IDS
  return comm->c_contextid;
#else
  return comm->c_index;
#endif
}

#endif
