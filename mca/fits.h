/* Compatibility: whether the running Open MPI and the liblfc that was found are those of the component.
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
/* Whether the user requested the component (`--mca FRAMEWORK COMPONENT`) and it fits both. A component that was
 * requested but does not fit prints one line. */
bool lfc_may_open(const char* framework, const char* component);

#endif
