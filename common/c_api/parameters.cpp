// The rows of the tables of parameters, and the functions on them.
#include "lfc/parameters.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <forward_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/choice.hpp"
#include "base/lasting.hpp"
#include "base/limits.hpp"
#include "base/nearest.hpp"
#include "engine/open.hpp"
#include "lfc/words.h"
#include "link/ring.hpp"
#include "services/multicast/multicast.hpp"
#include "services/multicast/protocol/tree.hpp"

namespace lfc {
namespace {

constexpr std::array kCacheNames{LFC_CACHES(LFC_WORD)};
constexpr std::array kForwardingNames{LFC_FORWARDINGS(LFC_WORD)};
constexpr std::array kChannelsNames{LFC_CHANNELS_CHOICES(LFC_WORD)};

// Bytes of the longest header of ob1, which it requires of a BTL's limits (Open MPI 5.0; that of 4.1 is shorter).
constexpr std::uint64_t kSmallestMessage = 80;
constexpr std::uint64_t kPage = 4096;
// The protocol counts such bytes in 32 bits.
constexpr std::uint64_t kMostNeonBytes = std::uint64_t{1} << 30;

struct Accepted {
  std::uint64_t smallest = 0;
  std::uint64_t largest = UINT64_MAX;
  bool power_of_two = false;
  std::span<const lfc_text> words{};
};
constexpr Accepted any;
constexpr Accepted from(std::uint64_t smallest, std::uint64_t largest) {
  return {smallest, largest};
}
constexpr Accepted at_least(std::uint64_t smallest) { return {smallest}; }
constexpr Accepted powers_of_two(std::uint64_t smallest, std::uint64_t largest) {
  return {smallest, largest, true};
}
constexpr Accepted one_of(std::span<const lfc_text> words) { return {.words = words}; }

// Returns a text that exists as long as the library.
const char* lasting(std::string text) {
  static lfc::Lasting<std::forward_list<std::string>> texts;
  return texts->emplace_front(std::move(text)).c_str();
}

template <class T>
constexpr lfc_parameter_type type_of() {
  if (std::is_same_v<T, bool>) return LFC_FLAG;
  if (std::is_same_v<T, lfc_text>) return LFC_TEXT;
  return std::is_same_v<T, unsigned> ? LFC_UNSIGNED : LFC_SIZE;
}

template <class T>
lfc_parameter row(const char* name, std::size_t offset, T standard, const Accepted& accepted,
                  int level, const char* help) {
  lfc_parameter made{};
  made.name = name;
  made.help = help;
  made.level = level;
  made.type = type_of<T>();
  made.offset = offset;
  if constexpr (std::is_same_v<T, lfc_text>) {
    made.text = standard;
  } else {
    made.number = standard;
  }
  made.words = accepted.words.data();
  made.word_count = accepted.words.size();
  made.smallest = accepted.smallest;
  made.largest = accepted.largest;
  made.power_of_two = accepted.power_of_two;
  return made;
}

// The table of the parameters whose values are `Values`. The rows exist as long as the library.
template <class Values>
const lfc_parameter_table* table_of(const char* component, std::span<const lfc_parameter> rows) {
  static const lfc_parameter_table table{component, rows.data(), rows.size()};
  return &table;
}

const lfc_parameter& row_of(const lfc_parameter_table& table, const void* values,
                            const void* member) noexcept {
  const auto offset =
      static_cast<std::size_t>(static_cast<const char*>(member) - static_cast<const char*>(values));
  std::size_t which = 0;
  while (table.rows[which].offset != offset) ++which;
  return table.rows[which];
}

const void* member_of(const lfc_parameter& row, const void* values) noexcept {
  return static_cast<const char*>(values) + row.offset;
}

std::uint64_t number_of(const lfc_parameter& row, const void* values) noexcept {
  const void* const member = member_of(row, values);
  switch (row.type) {
    case LFC_UNSIGNED: return *static_cast<const unsigned*>(member);
    case LFC_SIZE: return *static_cast<const std::size_t*>(member);
    case LFC_FLAG: return *static_cast<const bool*>(member) ? 1 : 0;
    case LFC_TEXT: break;
  }
  return 0;
}

// A word like record:FILE stands for all longer texts that begin with the part up to its colon.
bool fits(std::string_view word, std::string_view text) noexcept {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return text == word;
  return text.size() > colon + 1 && text.starts_with(word.substr(0, colon + 1));
}

// The index of the text among the words, or their number if it is none of them.
std::size_t place_of(const lfc_parameter& row, lfc_text text) noexcept {
  const std::string_view sought = text == nullptr ? "" : text;
  std::size_t place = 0;
  while (place < row.word_count && !fits(row.words[place], sought)) ++place;
  return place;
}

// The accepted values in words; empty: all texts are accepted.
std::string accepted_of(const lfc_parameter& row) {
  if (row.type == LFC_FLAG) return "0 or 1";
  if (row.type == LFC_TEXT) return list_choices({row.words, row.word_count});
  return (row.power_of_two ? "powers of two from " : "") + std::to_string(row.smallest) +
         (row.largest == UINT64_MAX ? " or more" : " to " + std::to_string(row.largest));
}

// The fault of the value; empty: there is none.
std::string fault_of(const char* component, const lfc_parameter& row, const void* values) {
  std::string value;
  if (row.type == LFC_TEXT) {
    const lfc_text text = *static_cast<const lfc_text*>(member_of(row, values));
    if (row.word_count == 0 || place_of(row, text) < row.word_count) return {};
    value = "'" + std::string(text == nullptr ? "" : text) + "'";
  } else {
    const std::uint64_t number = number_of(row, values);
    if (number >= row.smallest && number <= row.largest &&
        (!row.power_of_two || std::has_single_bit(number)))
      return {};
    value = std::to_string(number);
  }
  return std::string(component) + "_" + row.name + ": " + value +
         " (accepted: " + accepted_of(row) + ")";
}

}  // namespace
}  // namespace lfc

#define LFC_PARAMETER(type, name, standard, accepted, level, help) \
  row<type>(#name, offsetof(Values, name), standard, accepted, level, help),
using namespace lfc;  // the rows name its limits and functions

const lfc_parameter_table* lfc_btl_parameter_table() {
  using Values = lfc_btl_parameters;
  static const lfc_parameter rows[] = {
#include "lfc/parameters/btl_lfc.def"
  };
  return table_of<Values>("btl_lfc", rows);
}
const lfc_parameter_table* lfc_ob1_parameter_table() {
  using Values = lfc_ob1_parameters;
  static const lfc_parameter rows[] = {
#include "lfc/parameters/btl_lfc_ob1.def"
  };
  return table_of<Values>("btl_lfc", rows);
}
const lfc_parameter_table* lfc_coll_parameter_table() {
  using Values = lfc_coll_parameters;
  static const lfc_parameter rows[] = {
#include "lfc/parameters/coll_lfc.def"
  };
  return table_of<Values>("coll_lfc", rows);
}
const lfc_parameter_table* lfc_osc_parameter_table() {
  using Values = lfc_osc_parameters;
  static const lfc_parameter rows[] = {
#include "lfc/parameters/osc_neon.def"
  };
  return table_of<Values>("osc_neon", rows);
}
const lfc_parameter_table* lfc_part_parameter_table() {
  using Values = lfc_part_parameters;
  static const lfc_parameter rows[] = {
#include "lfc/parameters/part_lfc.def"
  };
  return table_of<Values>("part_lfc", rows);
}
#undef LFC_PARAMETER

void lfc_parameters_reset(const lfc_parameter_table* table, void* values) {
  for (const lfc_parameter& row : std::span(table->rows, table->count)) {
    void* const member = static_cast<char*>(values) + row.offset;
    switch (row.type) {
      case LFC_UNSIGNED: *static_cast<unsigned*>(member) = static_cast<unsigned>(row.number); break;
      case LFC_SIZE: *static_cast<std::size_t*>(member) = row.number; break;
      case LFC_FLAG: *static_cast<bool*>(member) = row.number != 0; break;
      case LFC_TEXT: *static_cast<lfc_text*>(member) = row.text; break;
    }
  }
}

bool lfc_parameters_check(const lfc_parameter_table* table, const void* values, char* text,
                          std::size_t text_size) try {
  for (const lfc_parameter& row : std::span(table->rows, table->count)) {
    const std::string fault = lfc::fault_of(table->component, row, values);
    if (fault.empty()) continue;
    std::snprintf(text, text_size, "%s", fault.c_str());
    return false;
  }
  return true;
} catch (const std::exception& failure) {
  std::snprintf(text, text_size, "%s", failure.what());
  return false;
}

std::size_t lfc_parameter_choice(const lfc_parameter_table* table, const void* values,
                                 const lfc_text* member) {
  return lfc::place_of(lfc::row_of(*table, values, member), *member);
}

void lfc_parameter_accepted(const lfc_parameter* row, char* text, std::size_t text_size) try {
  std::snprintf(text, text_size, "%s", lfc::accepted_of(*row).c_str());
} catch (const std::exception& failure) {
  std::snprintf(text, text_size, "%s", failure.what());
}

std::size_t lfc_nearest_name(const char* const* names, std::size_t count, const char* written) try {
  return lfc::nearest({names, count}, written);
} catch (const std::exception&) {
  return count;  // no memory left to compare them
}

const char* lfc_parameter_name(const lfc_parameter_table* table, const void* values,
                               const void* member) {
  return lfc::row_of(*table, values, member).name;
}
