// The kinds of steps, how often each is drawn, and how each is taken.
#include "step.hpp"
#include "watch.hpp"

namespace programs {

namespace {

struct Kind {
  const char* name;
  unsigned weight;
  bool several_threads;  // of each rank
  StepPointer (*draw)(Draw&, const Scale&);
};
constexpr Kind kKinds[] = {
    {"messages", 6, false, draw_messages},     {"flood", 2, false, draw_flood},
    {"persistent", 1, false, draw_persistent}, {"repeated", 2, false, draw_repeated},
    {"collective", 6, false, draw_collective}, {"communicator", 1, false, draw_communicator},
    {"windows", 6, false, draw_windows},       {"polling", 2, false, draw_polling},
    {"ordered", 1, false, draw_ordered},       {"neon", 2, false, draw_neon},
    {"threads", 30, true, draw_threads},       {"shared_window", 20, true, draw_shared_window}};

unsigned weight_of(const Kind& kind, const Scale& scale) {
  if (kind.several_threads && (!scale.threads || scale.in_thread)) return 0;
  const bool named =
      ("," + scale.kinds + ",").find("," + std::string(kind.name) + ",") != std::string::npos;
  return scale.kinds.empty() || named ? kind.weight : 0;
}

}  // namespace

StepPointer draw_step(Draw& draw, const Scale& scale) {
  unsigned sum = 0;
  for (const Kind& kind : kKinds) sum += weight_of(kind, scale);
  if (sum == 0 && scale.in_thread) {  // only kinds with several threads are named
    Scale any = scale;
    any.kinds.clear();
    return draw_step(draw, any);
  }
  if (sum == 0) fail("no such kinds of steps: %s", scale.kinds.c_str());
  std::uint64_t drawn = draw.below(sum);
  for (const Kind& kind : kKinds) {
    if (drawn < weight_of(kind, scale)) return kind.draw(draw, scale);
    drawn -= weight_of(kind, scale);
  }
  return nullptr;
}

void take_step(World& world, int step, Step& taken, const std::vector<Entry>& entries,
               const std::string& text) {
  watch_step(step, text);
  world.finish_due(step);
  taken.prepare(world, step);
  world.enter(step, entries);
  taken.begin(world, step);
  world.begun(step, entries);
  taken.end(world, step);
}

}  // namespace programs
