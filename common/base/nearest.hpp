// Nearest: the name that a user probably meant by another one.
//
//   const std::array<const char*, 2> names{"interfaces", "idle"};
//   nearest(names, "interface");     // 0
//   nearest(names, "colour");        // names.size(): none of them is near
//
// Near: at most a third of the letters are wrong, missing, too many or swapped with the next one. Threads: a pure
// function.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace lfc {

std::size_t nearest(std::span<const char* const> names, std::string_view written);

}  // namespace lfc
