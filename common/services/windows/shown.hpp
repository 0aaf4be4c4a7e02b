// WindowShown: the records of a window for outside observers (look/records.hpp): the window, and its state of each
// member.
//
//   const WindowShown shown_{*this};              // a member of the window, which begins and ends with it
//
// Threads: any.
#pragma once

#include "look/published.hpp"

namespace lfc {

class Window;

class WindowShown {
 public:
  explicit WindowShown(const Window& window) noexcept;

 private:
  const look::Published window_;
  const look::Published routes_;   // where its frames go, by rank
  const look::Published targets_;  // its state of each member as an origin
  const look::Published origins_;  // its state of each member as a target
};

}  // namespace lfc
