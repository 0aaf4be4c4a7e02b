// Choice: the names of an enumeration's values, as users write and read them.
//
//   inline constexpr std::array kColourNames{LFC_COLOURS(LFC_WORD)};    // lfc/words.h
//   const auto colour = find_choice<Colour>(kColourNames, "green");     // empty: none of them
//   list_choices(kColourNames);                                         // "red, green or blue"
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lfc {

template <class Value>
std::optional<Value> find_choice(std::span<const char* const> names,
                                 std::string_view text) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text == names[i]) return static_cast<Value>(i);
  return {};
}

inline std::string list_choices(std::span<const char* const> names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 < names.size() ? ", " : " or ";
    list += names[i];
  }
  return list;
}

}  // namespace lfc
