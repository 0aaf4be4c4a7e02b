// Fields: the members of a class as fields of a schema (records.hpp), made by the compiler.
//
//   struct Flow {
//     std::uint32_t owed;
//     Flow* next;
//   };
//   template <>
//   const look::Field Insight<Flow>::kFields[] = {
//       look::number<std::uint32_t>("owed", {offsetof(Flow, owed)}),
//       look::number<std::uint32_t>("then", {offsetof(Flow, next), offsetof(Flow, owed)}),   // next->owed
//   };
//   template <>
//   const look::Schema Insight<Flow>::kSchema = look::schema("flow", kFields);
//
// The classes are not of standard layout. GCC and Clang nevertheless compute offsetof() correctly for classes without
// virtual bases; a file that uses it contains LFC_LOOK_OFFSETS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "look/records.hpp"

#define LFC_LOOK_OFFSETS _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"")

namespace lfc::look {

constexpr Field field(const char* name, Kind kind, std::size_t size,
                      std::initializer_list<std::size_t> path) {
  Field made{name, {}, static_cast<std::uint16_t>(size), kind, 0};
  std::size_t length = 0;
  for (const std::size_t offset : path) made.path[length++] = static_cast<std::uint32_t>(offset);
  made.hops = static_cast<std::uint8_t>(length - 1);
  return made;
}
template <class T>
constexpr Field number(const char* name, std::initializer_list<std::size_t> path) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  return field(name, Kind::number, sizeof(T), path);
}
constexpr Field text(const char* name, std::size_t size, std::initializer_list<std::size_t> path) {
  return field(name, Kind::text, size, path);
}
// The elements of a vector, which in the standard libraries begins with the addresses of its first element and its end.
template <class T>
constexpr Field list(const char* name, std::initializer_list<std::size_t> path) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  return field(name, Kind::list, sizeof(T), path);
}
template <std::size_t N>
constexpr Schema schema(const char* name, const Field (&fields)[N]) {
  return {name, fields, N};
}

}  // namespace lfc::look
