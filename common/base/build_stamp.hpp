// BuildStamp: a hash of the sizes and offsets in structures, and of the limits with which two processes compute. They
// must be equal for the use of each other's shared memory and frames. Each part of LFC adds its own while the program
// is loaded. The stamp of all parts travels in the address; an address with another stamp is refused
// (wire/address.hpp).
//
//   const BuildStamp stamp("board", {sizeof(Cell), kCells});
//   if (theirs != BuildStamp::of_all()) refuse();
//
// Threads: any.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace lfc {

class BuildStamp {
 public:
  BuildStamp(std::string_view part, std::initializer_list<std::uint64_t> facts) noexcept;
  // The stamp of all parts, in any order.
  static std::uint32_t of_all() noexcept;
};

}  // namespace lfc
