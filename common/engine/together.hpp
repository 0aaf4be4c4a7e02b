// Together: while it lives, frames that the host sends may wait for each other; at its end they have left. For short
// callbacks: the answers to what one pass has finished then cost one system call, and nobody has to watch what is kept.
//
//   const Together together(ni);
//   for (Operation* operation : finished) operation->done(operation, Result::ok);
//
// Held by tests/unit/engine/ni_thread/streams_test.cpp. Threads: the host's only one; where there are several it does
// nothing.
#pragma once

#include "engine/ni.hpp"

namespace lfc {

class Together {
 public:
  explicit Together(Ni& ni) noexcept
      : ni_(ni),
        begun_(!ni.config().threads && ni.config().policy != Policy::fixed &&
               !ni.turn().activity().is_together()) {
    if (begun_) ni.turn().activity().set_together(true);
  }
  ~Together() {
    if (!begun_) return;
    Activity& activity = ni_.turn().activity();
    activity.set_together(false);
    const Ni::Access access(ni_);
    if (!activity.take_kept()) return;
    for (const auto& link : ni_.turn().links()) link->push();
  }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

 private:
  Ni& ni_;
  const bool begun_;
};

}  // namespace lfc
