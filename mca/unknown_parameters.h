/* Parameters of ours that somebody has set and that do not exist: Open MPI ignores them without a word, and a letter
 * that is missing in a name costs an afternoon.
 *
 *   char text[1024];
 *   if (lfc_unknown_parameters(text, sizeof text))
 *     ...                      // "btl_lfc_interface (did you mean btl_lfc_interfaces?), coll_lfc_colour"
 *
 * Looks at the environment, through which mpirun hands on what its command line says, and into the parameter files that
 * Open MPI reads (mca_base_param_files). To be called when the BTL's own parameters have been registered. *Held by*
 * tests/fault/bad_input.sh; the search for the nearest name: tests/unit/base/nearest_test.cpp.
 */
#ifndef LFC_MCA_UNKNOWN_PARAMETERS_H
#define LFC_MCA_UNKNOWN_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

/* False: there are none. What does not fit into the text is left out. */
bool lfc_unknown_parameters(char* text, size_t text_size);

#endif
