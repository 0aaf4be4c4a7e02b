// Records: what a process shows of itself to those who look from outside (`lfc-look`), without doing anything for it:
// plain records that say where in its memory which number lies, what it is called, and how many bytes it has. Whoever
// may read the memory (process_vm_readv) finds `Root` by its magic bytes in the library's writable data, and follows.
//
//   Root -> Shown -> Shown -> ...                     // what there is, in the order in which it came to be
//             |---- Schema -> Field, Field, ...       // its kind, and what of it is shown
//             `---- rows: `count` objects, `stride` bytes apart
//
// All of it is written on slow paths only; the numbers themselves are those that the engine counts and waits by, where
// they are, so showing them costs nothing (CONTRIBUTING.md, rules of the short path). A reader has to check all that he
// follows: the process may be running, and may have been built from other sources.
// Version: changes when a record here does; fields may come and go without.
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
  list,  // numbers of `size` bytes, from the address that is there up to the one behind it: a vector
};

// Where a value lies: `hops` times the address that is found at object + path[i]; then, from there, path[hops]. An
// address that is null: there is no value.
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
  std::uint64_t owner;  // what rows of several kinds have in common: a window, for one
  std::uint32_t count;
  std::uint32_t stride;
};

struct Root {
  char magic[kMagicBytes];
  std::uint32_t version;
  std::uint32_t process;  // a child that a fork has left the memory to is another
  const Shown* first;
};

}  // namespace look

// What is shown of a T. Befriended by the classes whose members that are, and defined beside them (fields.hpp).
template <class T>
struct Insight {
  static const look::Field kFields[];
  static const look::Schema kSchema;
};

}  // namespace lfc
