// with_errno: a failed call and the kernel's message, for one line to the user.
//
//   if (fd < 0) why_not = with_errno("memfd");         // "memfd: Too many open files (ulimit -n)"
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace lfc {

inline std::string with_errno(std::string_view what, int error = errno) {
  const char* const limit = error == EMFILE ? " (ulimit -n)" : error == EFBIG ? " (ulimit -f)" : "";
  return std::string(what) + ": " + std::generic_category().message(error) + limit;
}

}  // namespace lfc
