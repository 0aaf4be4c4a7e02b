// Choice: the names of the values of an enumeration, for what users write and read.
//
//   inline constexpr std::array kColourNames{"red", "green", "blue"};   // in the order of the values
//   const auto colour = find_choice<Colour>(kColourNames, "green");     // empty: none of them
//   list_choices(kColourNames);                                         // "red, green or blue"
//
// Threads: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lfc {

template <class Value, std::size_t count>
std::optional<Value> find_choice(const std::array<const char*, count>& names,
                                 std::string_view text) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    if (text == names[i]) return static_cast<Value>(i);
  return {};
}

template <std::size_t count>
std::string list_choices(const std::array<const char*, count>& names) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) list += i + 1 < count ? ", " : " or ";
    list += names[i];
  }
  return list;
}

}  // namespace lfc
