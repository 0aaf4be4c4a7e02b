// Pages: the folder of the pages that help texts name: the installed one beside the running program, else that of the
// source tree.
//
//   std::printf("Pages: %s/README.md\n", pages_folder().c_str());
//
// Held by tests/scripts/packages.sh.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace lfc {

// LFC_PAGES_FROM_BIN: the installed folder, relative to that of the programs.
inline std::string pages_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = program.parent_path() / LFC_PAGES_FROM_BIN;
  return std::filesystem::exists(folder, error) ? folder.lexically_normal().string()
                                                : LFC_SOURCE_TREE;
}

}  // namespace lfc
