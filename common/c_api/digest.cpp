#include "lfc/digest.h"

#include <lfc_headers_digest.inc>

uint64_t lfc_library_headers(void) { return LFC_HEADERS_DIGEST; }
