// Records: a description of a process's state for `lfc-look`, which reads it from outside. Plain records contain the
// address, name and size of each number. A reader that may read the memory (process_vm_readv) finds `Root` by its magic
// bytes in the library's writable data, and follows the pointers.
//
//   Root -> Shown -> Shown -> ...                     // the objects, in the order of their construction
//             |---- Schema -> Field, Field, ...       // their kind, and the fields that are shown
//             `---- rows: `count` objects, `stride` bytes apart
//
// Records are written on slow paths only. The numbers are those by which the engine counts and waits, in their own
// places, so showing them costs nothing (CONTRIBUTING.md, rules of the short path). A reader must check everything that
// it follows, because the process may be running, and may be of another build.
// Version: changes with a record here; fields may be added and removed without it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lfc {

namespace look {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kMagicBytes = 16;
inline constexpr char kMagic[kMagicBytes + 1] = "\x7fLFC lets look\x01\n";

enum class Kind : std::uint8_t {
  number,  // unsigned, of `size` bytes
  text,    // up to `size` bytes, ends at the first zero
  list,  // numbers of `size` bytes, from the address that is stored up to the one behind it: a vector
};

// The place of a value: follows `hops` times the address at object + path[i]; from there the value is at path[hops].
// If an address is null, there is no value.
struct Field {
  static constexpr std::size_t kMostHops = 2;

  const char* name;
  std::uint32_t path[kMostHops + 1];
  std::uint16_t size;
  Kind kind;
  std::uint8_t hops;
};

struct Schema {
  const char* name;
  const Field* fields;
  std::uint64_t count;
};

// Some objects of one kind.
struct Shown {
  const Shown* next;
  const Schema* schema;
  const void* rows;
  std::uint64_t
      owner;  // common to rows of several kinds that belong together, such as those of a window
  std::uint32_t count;
  std::uint32_t stride;
};

struct Root {
  char magic[kMagicBytes];
  std::uint32_t version;
  std::uint32_t process;  // differs in a child of fork(), which has a copy of this memory
  const Shown* first;
};

}  // namespace look

// The fields of a T that are shown. The classes with these members are its friends, and it is defined beside them
// (fields.hpp).
template <class T>
struct Insight {
  static const look::Field kFields[];
  static const look::Schema kSchema;
};

}  // namespace lfc
