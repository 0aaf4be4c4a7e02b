// Given: a variable of an example whose type does not matter: a number, a buffer, a function of the reader.
//
// It converts to any type and can be called with any arguments. So the compiler still checks the functions that an
// example calls: their names, the number of their arguments and their results.
#pragma once

namespace lfc::examples {

struct Given {
  template <class T>
  operator T&() const;
  template <class... T>
  Given operator()(T&&...) const;
  template <class T>
  const Given& operator=(T&&) const;
  const Given* begin() const;
  const Given* end() const;
};

}  // namespace lfc::examples
