// BuildStamp: what two processes must have alike to understand each other's shared memory and frames: sizes and places
// in structures, and limits that both compute with. Each part of LFC says its own, while the program is loaded; a stamp
// of them all travels in the address, and the address of a process whose stamp differs is refused (wire/address.hpp).
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
  // Of all parts, in whatever order they were said.
  static std::uint32_t of_all() noexcept;
};

}  // namespace lfc
