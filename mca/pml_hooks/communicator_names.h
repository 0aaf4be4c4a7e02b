/* Names of communicators that are the same at all their ranks, and in another run of the program.
 *
 *   lfc_names_add(comm);                              // when ob1 gets it
 *   uint64_t name = lfc_name_of(comm);
 *   int from = lfc_world_rank(comm, rank);
 *   lfc_names_drop(comm);                             // when it is freed
 *
 * A name is made of the members, in their order, and of how many communicators of these members this process had
 * before. Open MPI's own number of a communicator is used again after that one was freed. Two MPI_Comm_idup may end in
 * different orders at different ranks, and exchange their names. Then plans fit these two badly. They also fit badly
 * once a process has had communicators of more than 4,096 lists of members: it has forgotten the oldest lists.
 *
 * Time of the first two: that of a look at each member, and at each list. Memory: 64 KiB for the lists. Threads: the
 * one that calls MPI.
 */
#ifndef LFC_COMMUNICATOR_NAMES_H
#define LFC_COMMUNICATOR_NAMES_H

#include <stdint.h>

#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"

/* Intercommunicators get no name. */
void lfc_names_add(const ompi_communicator_t* comm);
/* 0: none. Adds a communicator that was made before the first call. */
uint64_t lfc_name_of(const ompi_communicator_t* comm);
void lfc_names_drop(const ompi_communicator_t* comm);
void lfc_names_clear(void);
/* The rank in MPI_COMM_WORLD of a rank of `comm`, which is no intercommunicator. < 0: it has none. */
int lfc_world_rank(const ompi_communicator_t* comm, int rank);

#endif
