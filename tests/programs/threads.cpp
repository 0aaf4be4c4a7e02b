// Several threads of each rank, each with a separate program. Its collectives and windows are on separate
// communicators. Its messages are as well, or have separate tags on a communicator that all threads share.
#include <deque>
#include <thread>

#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

class Threads : public Step {
 public:
  Threads(Draw& draw, const Scale& scale) : threads_(2 + draw.below(3)) {
    Scale inside = scale;
    inside.in_thread = true;
    inside.bytes /= 2;
    inside.count /= 2;
    shares_messages_ = draw.one_in(2);
    for (std::deque<Part>& parts : threads_) {
      for (int i = draw.in(1, 3); i > 0; --i) {
        parts.emplace_back();
        parts.back().entries = draw_entries(draw, scale.roles);
        parts.back().step = draw_step(draw, inside);
        parts.back().step->arrange(draw, parts.back().entries);
      }
    }
  }

  void cut(const Cuts& cuts, int step) override {
    step_ = step;
    for (std::size_t t = 0; t < threads_.size(); ++t)
      for (std::size_t i = 0; i < threads_[t].size(); ++i) {
        Part& part = threads_[t][i];
        part.number = number_of(step, static_cast<int>(t), static_cast<int>(i));
        part.left_out = cuts.has(part.number);
        if (cuts.prompt) part.entries.assign(part.entries.size(), Entry());
      }
  }

  std::string text() const override {
    std::string text = std::to_string(threads_.size()) + " threads" +
                       (shares_messages_ ? " that share a communicator" : "");
    for (const std::deque<Part>& parts : threads_)
      for (const Part& part : parts)
        if (!part.left_out)
          text += "\n" + std::to_string(part.number) + ": thread " +
                  std::to_string(&parts - &threads_[0]) + ": " + text_of(part);
    return text;
  }

  void prepare(World& world, int) override {
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      comms_.push_back(MPI_COMM_NULL);
      MPI_Comm_dup(world.all.comm, &comms_.back());
    }
  }

  void end(World& world, int) override {
    std::vector<std::thread> others;
    std::vector<std::uint64_t> digests(threads_.size());
    const auto work = [&](std::size_t t) { digests[t] = run(world, t); };
    for (std::size_t t = 1; t < threads_.size(); ++t)
      others.emplace_back([&, t] {
        watch_thread(static_cast<int>(t), world.seed);
        work(t);
        watch_thread_end();
      });
    work(0);
    watch_step(step_, text());
    watch_call("waits for its threads");
    for (std::thread& other : others) other.join();
    for (std::uint64_t digest : digests) world.note(&digest, sizeof digest, 0);
  }

 private:
  struct Part {
    int number = 0;
    bool left_out = false;
    std::vector<Entry> entries;
    StepPointer step;
  };

  std::string text_of(const Part& part) const {
    return part.step->text() + programs::text_of(part.entries);
  }

  std::uint64_t run(const World& whole, std::size_t t) {
    const int thread = static_cast<int>(t);
    World world(whole, thread, comms_[t], shares_messages_, number_of(step_ + 1, 0, 0));
    for (Part& part : threads_[t])
      if (!part.left_out) take_step(world, part.number, *part.step, part.entries, text_of(part));
    world.finish_all();
    return world.digest();
  }

  std::vector<std::deque<Part>> threads_;
  bool shares_messages_;
  int step_ = 0;
  std::vector<MPI_Comm> comms_;
};

}  // namespace

StepPointer draw_threads(Draw& draw, const Scale& scale) {
  return std::make_unique<Threads>(draw, scale);
}

}  // namespace programs
