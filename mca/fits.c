#include "fits.h"

#include <lfc_headers_digest.inc>
#include "lfc/lfc.h"

static bool library_is_ours(void) { return lfc_library_headers() == LFC_HEADERS_DIGEST; }

bool lfc_fits(void) { return lfc_ompi_is_ours() && library_is_ours(); }

bool lfc_may_open(const char* framework, const char* component) {
  if (!lfc_is_selected(framework, component)) return false;
  if (!lfc_ompi_is_ours()) {
    opal_output(0,
                "%s %s: built for Open MPI %d.%d, but Open MPI %s is running; the job goes on "
                "without it. Install the LFC built for this version.",
                framework, component, OPAL_MAJOR_VERSION, OPAL_MINOR_VERSION, opal_version_string);
    return false;
  }
  if (library_is_ours()) return true;
  opal_output(0,
              "%s %s: the liblfc that was found beside it is of another build of LFC; the job goes "
              "on without it. "
              "Install all of LFC anew.",
              framework, component);
  return false;
}
