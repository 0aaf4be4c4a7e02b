// WindowShown: what is shown of a window from outside (look/records.hpp): itself, and what it has of each member.
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
  const look::Published targets_;  // what it knows of each as their origin
  const look::Published origins_;  // and as their target
};

}  // namespace lfc
