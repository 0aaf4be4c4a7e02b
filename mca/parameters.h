/* Parameters and performance variables of a component, one call each.
 *
 *   static unsigned window = 8;
 *   lfc_parameter_unsigned(&component, "initial_window", "credits ...", OPAL_INFO_LVL_4, &window);
 *
 * The storage holds the default and receives the user's value; it must outlive the component.
 */
#ifndef LFC_MCA_PARAMETERS_H
#define LFC_MCA_PARAMETERS_H

#include "ompi_version.h"

void lfc_parameter_text(const mca_base_component_t* component, const char* name, const char* help,
                        mca_base_var_info_lvl_t level, const char** value);
void lfc_parameter_unsigned(const mca_base_component_t* component, const char* name,
                            const char* help, mca_base_var_info_lvl_t level, unsigned* value);
void lfc_parameter_size(const mca_base_component_t* component, const char* name, const char* help,
                        mca_base_var_info_lvl_t level, size_t* value);
void lfc_parameter_flag(const mca_base_component_t* component, const char* name, const char* help,
                        mca_base_var_info_lvl_t level, bool* value);

/* A counter that MPI_T tools see as <framework>_<component>_<name>. `read(which)` gives its value
 * at any time, also before and after the component is in use. */
typedef unsigned long long (*lfc_counter_read)(size_t which);
void lfc_performance_counter(const mca_base_component_t* component, const char* name,
                             const char* help, lfc_counter_read read, size_t which);

#endif
