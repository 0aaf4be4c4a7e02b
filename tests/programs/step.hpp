// One step of a program. All ranks draw the same steps and take them in the same order, so a program ends if each
// step ends once all have come to it. A step has three parts:
//
//   prepare  collective calls before ranks begin to come late or early
//   begin    starts operations that need no other rank (nonblocking calls); ranks that have begun may let others in
//   end      may wait for all ranks
//
// A step that leaves requests to a later one gives them to World::finish.
#ifndef LFC_TESTS_PROGRAMS_STEP_HPP
#define LFC_TESTS_PROGRAMS_STEP_HPP

#include <memory>
#include <string>
#include <vector>

#include "draw.hpp"
#include "world.hpp"

namespace programs {

// Tags of a step's own messages: 0 to 3 those of draw_messages, then those of other kinds.
enum { kHopelessTag = 4, kFloodTag, kPersistentTag, kRepeatedTag, kStepTags = kRepeatedTag + 3 };
inline int tag_of(int step, int which) { return step * kStepTags + which; }

// The parts that are left out of a program to make it smaller.
struct Cuts {
  std::vector<bool> steps;
  bool prompt;  // all ranks come to each step at once
  bool has(int step) const {
    return static_cast<std::size_t>(step) < steps.size() && steps[static_cast<std::size_t>(step)];
  }
};
// The number of a step of one thread within a step: it can be left out, and it has separate tags.
inline int number_of(int step, int thread, int index) {
  return 100 * (step + 1) + 10 * thread + index;
}

class Step {
 public:
  virtual ~Step() = default;
  virtual std::string text() const = 0;
  // Leaves out parts of the step; before text().
  virtual void cut(const Cuts&, int /*step*/) {}
  // May change the order in which ranks come, if the step aims at an order that chance would hardly bring.
  virtual void arrange(Draw&, std::vector<Entry>&) const {}
  virtual void prepare(World&, int /*step*/) {}
  virtual void begin(World&, int /*step*/) {}
  virtual void end(World&, int /*step*/) {}
};

// The limits of the drawn values.
struct Scale {
  int roles;
  std::size_t bytes;  // of one message, at most
  int count;          // messages, requests or calls that are started at once, at most
  long flood;         // messages of a flood, at most
  bool stock;         // only operations in which Open MPI's own components are right
  bool one_host;      // all ranks can share memory
  bool many_hosts;    // small collectives by the thousand, where they go through the network
  bool threads;       // MPI_THREAD_MULTIPLE: steps whose ranks have several threads
  bool in_thread;     // one thread takes this step, and others take theirs beside it
  std::string kinds;  // names of kinds, between commas; empty: all
};

using StepPointer = std::unique_ptr<Step>;
StepPointer draw_step(Draw& draw, const Scale& scale);  // of any kind
// Takes a step with all its parts.
void take_step(World& world, int step, Step& taken, const std::vector<Entry>& entries,
               const std::string& text);

StepPointer draw_messages(Draw& draw, const Scale& scale);
StepPointer draw_flood(Draw& draw, const Scale& scale);
StepPointer draw_persistent(Draw& draw, const Scale& scale);
StepPointer draw_repeated(Draw& draw, const Scale& scale);
StepPointer draw_collective(Draw& draw, const Scale& scale);
StepPointer draw_communicator(Draw& draw, const Scale& scale);
StepPointer draw_windows(Draw& draw, const Scale& scale);
StepPointer draw_polling(Draw& draw, const Scale& scale);
StepPointer draw_ordered(Draw& draw, const Scale& scale);
StepPointer draw_neon(Draw& draw, const Scale& scale);
StepPointer draw_threads(Draw& draw, const Scale& scale);
StepPointer draw_shared_window(Draw& draw, const Scale& scale);

}  // namespace programs

#endif
