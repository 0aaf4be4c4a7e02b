// Lasting: an object of static storage that is never destroyed.
//
//   Lasting<std::string> text;  // at namespace scope an access costs nothing more
//   *text = reason;
//   text->clear();
//
// A program may call MPI_Finalize while its process exits: in the destructor of a static object, or in a function that
// it gave to atexit() before MPI_Init. MPI_Init loads LFC's libraries, so exit handlers that they register run before
// that call. So no object of these libraries may register one. All static objects with a destructor are Lasting.
// The component that closes releases the resources of such an object.
//
// Held by: scripts/checks/exports, tests/fault/ends.sh.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace lfc {

template <class T>
class Lasting {
 public:
  template <class... Arguments>
  explicit Lasting(Arguments&&... arguments) {
    ::new (bytes_) T(std::forward<Arguments>(arguments)...);
  }
  Lasting(const Lasting&) = delete;
  Lasting& operator=(const Lasting&) = delete;

  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(bytes_)); }
  T* operator->() noexcept { return &**this; }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

}  // namespace lfc
