// Links that settle: the NI's thread polls again before it sleeps without a timer, and stays armed meanwhile.
#include <atomic>
#include <memory>
#include <thread>

#include "catch.hpp"
#include "deadline.hpp"
#include "engine/ni.hpp"
#include "sync/sleep_word.hpp"
#include "unit/link/fake_link.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Settles as ShmLink does. A frame of one sender becomes visible only after the link was armed, and rings no bell.
class SettlingLink final : public FakeLink {
 public:
  SettlingLink() : FakeLink({.name = "settling"}) {}
  int poll() noexcept override {
    if (!arrived.load() || taken.load()) return 0;
    taken.store(true);
    return 1;
  }
  Armed arm() noexcept override {
    if (arrived.load() && !taken.load()) return Armed::busy;
    if (!armed_) since_ = Clock::now();
    armed_ = true;
    if (Clock::now() - since_ < SleepWord::kSettling) {
      arrived.store(true);
      return Armed::settling;
    }
    settled.store(true);
    return Armed::fully;
  }
  void disarm() noexcept override { armed_ = false; }

  std::atomic<bool> arrived{false}, taken{false}, settled{false};

 private:
  bool armed_ = false;
  Clock::time_point since_;
};

}  // namespace

TEST_CASE(
    "ni thread: a frame that rang no bell is found before the thread sleeps without a limit") {
  for (const Policy policy : {Policy::fixed, Policy::floating}) {
    INFO(static_cast<int>(policy));
    Config config;
    config.name = {1, 0};
    config.policy = policy;
    Ni ni(config);
    auto link = std::make_unique<SettlingLink>();
    const SettlingLink& settling = *link;
    ni.add_link(std::move(link));
    ni.open();
    Deadline deadline(120s);
    while (!(settling.taken.load() && settling.settled.load()) && !deadline.is_over())
      std::this_thread::sleep_for(1ms);
    CHECK(settling.taken.load());
    CHECK(settling.settled.load());
  }
}

}  // namespace lfc
