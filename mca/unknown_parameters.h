/* Unknown parameters: names like those of LFC's parameters that the user has set and that do not exist. Open MPI
 * ignores them and prints nothing.
 *
 *   char text[1024];
 *   if (lfc_unknown_parameters(text, sizeof text))
 *     ...                      // "btl_lfc_interface (did you mean btl_lfc_interfaces?), coll_lfc_colour"
 *
 * Reads the environment, in which mpirun passes the parameters of its command line, and the parameter files that Open
 * MPI reads (mca_base_param_files). To be called when the BTL's own parameters have been registered. *Held by*
 * tests/fault/bad_input.sh; the search for the nearest name: tests/unit/base/nearest_test.cpp.
 */
#ifndef LFC_MCA_UNKNOWN_PARAMETERS_H
#define LFC_MCA_UNKNOWN_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

/* Lists them. False: there are none. Names that do not fit into the text are left out. */
bool lfc_unknown_parameters(char* text, size_t text_size);

#endif
