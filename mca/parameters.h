/* Parameters and performance variables of a component.
 *
 *   static struct lfc_coll_parameters values;
 *   lfc_parameters_register(&component, lfc_coll_parameter_table(), &values);
 *
 * `values` receives the defaults and the user's values; it must outlive the component.
 */
#ifndef LFC_MCA_PARAMETERS_H
#define LFC_MCA_PARAMETERS_H

#include "lfc/lfc.h"
#include "ompi_version.h"

void lfc_parameters_register(const mca_base_component_t* component,
                             const struct lfc_parameter_table* table, void* values);

/* Registers a counter, which MPI_T tools see as <framework>_<component>_<name>. `read(which)` returns its value
 * at any time, also before and after the component is in use. `which` is below LFC_MOST_COUNTERS. */
typedef unsigned long long (*lfc_counter_read)(size_t which);
void lfc_performance_counter(const mca_base_component_t* component, const char* name,
                             const char* help, lfc_counter_read read, size_t which);
/* Does the same for a level, which may also fall. MPI_T shows the increase of a counter since a tool opened it. */
void lfc_performance_level(const mca_base_component_t* component, const char* name,
                           const char* help, lfc_counter_read read, size_t which);

/* Prints the line `HEAD rank=R VALUES` on standard error, in one write: lines of several processes do not mix. */
void lfc_print_line(const char* head, unsigned rank, const char* values);
/* Prints such a line of `BEFORE name=value ...`. `before` has at most 190 bytes, perhaps none. */
void lfc_print_counters(const char* head, unsigned rank, const char* before, size_t count,
                        const char* (*name)(size_t which), lfc_counter_read read);

#endif
