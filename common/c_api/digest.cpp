#include "lfc/digest.h"

#include <lfc_headers_digest.inc>

#include <cstdio>
#include <exception>

#include "base/build_id.hpp"

uint64_t lfc_library_headers(void) { return LFC_HEADERS_DIGEST; }

void lfc_describe_library(char* text, size_t size) try {
  std::snprintf(text, size, "build %s, %s", lfc::build_id().c_str(), lfc::library_path().c_str());
} catch (const std::exception& failure) {
  std::snprintf(text, size, "%s", failure.what());
}
