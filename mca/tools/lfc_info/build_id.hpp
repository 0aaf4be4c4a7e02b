// build_id: which build of LFC this is, told apart from all others by what the linker wrote into liblfc.
//
//   if (build_id() != "3f62c1aa9d04b7e1") ...   // liblfc was built anew
#pragma once

#include <string>

namespace lfc {

// 16 hexadecimal digits of the ELF build id of the liblfc that is loaded; "unknown" if it was linked without one.
std::string build_id();

}  // namespace lfc
