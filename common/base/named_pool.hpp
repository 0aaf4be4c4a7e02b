// NamedPool: a pool of reused objects to which peers refer by a name
// (base/name_table.hpp).
//
//   NamedPool<Pending> operations;                        // Pending has a member `name`, and stays where it is
//   Pending& made = operations.take();                    // new, or as its last user has left it
//   if (Pending* found = operations.find(name)) ...       // any name that a peer sends
//   operations.give_back(made);                           // from now on no object has that name
//
// A name has 64 bits: on the wire it may be written as an index and a generation.
// Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/name_table.hpp"
#include "base/spares.hpp"

namespace lfc {

constexpr std::uint64_t name_of(std::uint32_t index, std::uint32_t generation) noexcept {
  return std::uint64_t{generation} << 32 | index;
}
constexpr std::uint32_t index_of(std::uint64_t name) noexcept {
  return static_cast<std::uint32_t>(name);
}
constexpr std::uint32_t generation_of(std::uint64_t name) noexcept {
  return static_cast<std::uint32_t>(name >> 32);
}

template <class T>
class NamedPool {
 public:
  NamedPool() = default;
  ~NamedPool() {
    names_.for_each([](T& thing) { delete &thing; });
  }
  NamedPool(const NamedPool&) = delete;
  NamedPool& operator=(const NamedPool&) = delete;

  T& take() {
    return take([](T&) {});
  }
  // prepare(thing) initialises it, or throws: then nothing has been taken.
  template <class Prepare>
  T& take(Prepare prepare) {
    std::unique_ptr<T> thing = spares_.take();
    prepare(*thing);
    thing->name = names_.enter(*thing);
    return *thing.release();
  }
  void give_back(T& thing) {
    names_.leave(thing.name);
    spares_.keep(std::unique_ptr<T>(&thing));
  }
  // Null: no object has this name, or no longer.
  T* find(std::uint64_t name) const noexcept { return names_.find(name); }
  // Calls call(thing) for each object, which may be given back during the call.
  template <class Call>
  void for_each(Call call) {
    names_.for_each(call);
  }

 private:
  NameTable<T, std::uint64_t> names_{32};
  Spares<T> spares_;
};

}  // namespace lfc
