// Published: a record that shows objects to lfc-look (records.hpp) from its construction to its destruction. It is a
// base or a member of the shown object, so the object's memory exists longer.
//
//   class Window {
//     ...
//     const look::Published shown_{Insight<Window>::kSchema, this};
//   };
//   look::Published all(Insight<Window>::kSchema, windows.data(), windows.size(), sizeof(Window), this);
//
// Threads: any. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "look/records.hpp"

namespace lfc::look {

class Published {
 public:
  // One object, its own owner.
  Published(const Schema& kind, const void* object) noexcept
      : Published(kind, object, 1, 0, object) {}
  // `belongs_to`: an address that objects which belong together have in common.
  Published(const Schema& kind, const void* first, std::size_t number, std::size_t bytes_apart,
            const void* belongs_to) noexcept;
  ~Published();
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

 private:
  static Published* of(const Shown* shown) noexcept;

  static Published* last_;
  Shown shown_;  // first: a pointer to it is one to the whole object
  Published* before_ = nullptr;
};

// The record at which a reader begins.
const Root& root() noexcept;

}  // namespace lfc::look
