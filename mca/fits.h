/* Whether a component may use what it is loaded with: the running Open MPI, and the liblfc that was found.
 *
 *   register:  if (!lfc_fits()) return OPAL_SUCCESS;
 *   open:      return lfc_may_open("btl", "lfc") ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
 *
 * `register` comes first and registers nothing where something does not fit; to decline there would make Open MPI 5.0
 * end the job, because a component that was named is missing. Held by tests/fault/mixed_build.sh, other_version.sh.
 */
#ifndef LFC_MCA_FITS_H
#define LFC_MCA_FITS_H

#include "ompi_version.h"

/* Whether the running Open MPI is of the series, and liblfc of the build, that this component was compiled with. */
bool lfc_fits(void);
/* Whether the component was asked for (`--mca FRAMEWORK COMPONENT`) and fits both. What is asked for and does not fit
 * says so in one line. */
bool lfc_may_open(const char* framework, const char* component);

#endif
