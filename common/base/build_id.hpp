// build_id: an id of the contents of liblfc, which the linker wrote into it, and the file from which it was loaded.
//
//   if (build_id() != "3f62c1aa9d04b7e1") ...   // liblfc has changed
#pragma once

#include <string>

namespace lfc {

// 16 hexadecimal digits of the ELF build id of the liblfc that is loaded; "unknown" if it was linked without one.
std::string build_id();

// The path of that liblfc; empty: it is not loaded as a file of this name.
std::string library_path();

}  // namespace lfc
