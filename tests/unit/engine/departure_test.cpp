// Departure: a host that leaves MPI during a long rest of the NI thread, with a simulated clock.
#include "engine/departure.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "catch.hpp"

namespace {

using namespace lfc;
using namespace std::chrono_literals;
using Action = Watchdog::Action;
using Time = Watchdog::Time;

constexpr Watchdog::Limits kLimits{50us, 5ms};
constexpr Time kPoll = 10us;

// An NI thread and its host. The thread handles all that is due before the host's next action.
struct Simulation {
  Simulation() {
    departure.set_delay(kLimits.delay);
    go_on(dog.begin(lock.visits()));
  }
  void poll() { lock.leave_visit(lock.try_enter()); }
  void leave() {
    if (!departure.leave()) return;
    timer = now + kLimits.delay;
    ++timers;
  }
  void poll_for(Time time) {
    for (const Time until = now + time; now < until; run(kPoll)) poll();
  }
  // Polls during a rest, and leaves so long before its end.
  void leave_before_end(Time before) {
    while (end - now > 100us) poll_for(kPoll);
    run(end - now - before);
    poll();
    leave();
  }
  // The host is back, and an event that it has found has woken the thread.
  void come_back() {
    poll();
    if (step.action == Action::sleep) go_on(dog.woken(now, lock.visits()));
  }
  void frame_arrives() {
    ++frames;
    if (step.action == Action::sleep) go_on(dog.woken(now, lock.visits()));
  }
  void run(Time time) {
    const Time until = now + time;
    for (Time next = std::min(end, timer); next <= until; next = std::min(end, timer)) {
      now = next;
      const bool by_timer = next == timer;
      if (by_timer) {
        timer = Watchdog::kForever;
        departure.take_timer();
      } else {
        ++looks;
      }
      go_on(step.action == Action::rest ? departure.after_rest(dog, by_timer, lock.visits())
                                        : dog.woken(now, lock.visits()));
    }
    now = until;
  }
  // Runs until the thread has served again. Returns how long that took.
  Time until_served() {
    const Time from = now;
    for (const int before = serves; serves == before && now - from < 1s;) run(1us);
    return now - from;
  }

  SendLock lock{SendLock::Kind::biased};
  Activity activity;
  Departure departure{lock, activity};
  Watchdog dog{kLimits};
  Watchdog::Step step{};
  Time now{0};
  Time end{0};  // of the thread's step
  Time timer = Watchdog::kForever;
  int timers = 0, looks = 0, serves = 0, reports_served = 0, frames = 0;

 private:
  void go_on(Watchdog::Step next) {
    for (step = next; step.action == Action::serve;) {
      ++serves;
      const bool worked = std::exchange(frames, 0) > 0;
      if (worked && departure.has_served()) ++reports_served;
      step = dog.served(now, lock.visits(), Watchdog::Outcome::quiet, worked);
    }
    if (step.action == Action::rest)
      step = departure.before_rest(dog, step, [this] { return lock.visits(); });
    end = step.time == Watchdog::kForever ? Watchdog::kForever : now + step.time;
  }
};

// Many absences that are over sooner than a delay.
void leave_in_vain(Simulation& simulation, int times) {
  for (int i = 0; i < times; ++i) {
    simulation.poll();
    simulation.run(1us);
    simulation.leave();
    simulation.run(22us);
  }
}

TEST_CASE("departure: a host that leaves at any time of a long rest is served two delays later") {
  for (Time offset{0}; offset < 2 * kLimits.longest_rest; offset += 130us) {
    INFO(offset.count());
    Simulation simulation;
    simulation.poll_for(100ms);
    simulation.poll_for(offset);
    REQUIRE(simulation.serves == 0);
    simulation.leave();
    CHECK(simulation.until_served() <= 2 * kLimits.delay);
  }
}

TEST_CASE("departure: a host that leaves just before the end of a rest is served as well") {
  for (const Time before : {0us, 1us, 20us, 49us, 50us, 51us, 99us}) {
    INFO(before.count());
    Simulation simulation;
    simulation.poll_for(100ms);
    simulation.leave_before_end(before);
    CHECK(simulation.until_served() <= 2 * kLimits.delay);
  }
}

TEST_CASE("departure: 10^5 absences that are over at once set few timers") {
  constexpr int kTimes = 100'000;
  Simulation simulation;
  simulation.poll_for(100ms);
  const int looks = simulation.looks;
  leave_in_vain(simulation, kTimes);
  CHECK(simulation.timers >= 1);
  CHECK(simulation.timers <= kTimes / 64 + 16);
  // At the limit, of two rests in a row at most one ends before its time.
  const auto rests = static_cast<int>(kTimes * 23us / kLimits.longest_rest);
  CHECK(simulation.looks - looks + simulation.timers <= 5 * rests / 2);
  CHECK(simulation.serves == 0);
}

TEST_CASE("departure: each absence in which frames come is served soon") {
  Simulation simulation;
  for (int i = 0; i < 100; ++i) {
    simulation.come_back();
    simulation.poll_for(20ms);
    simulation.leave();
    simulation.frame_arrives();
    CHECK(simulation.until_served() <= 2 * kLimits.delay);
    simulation.run(2ms);
  }
  CHECK(simulation.reports_served == 100);
}

TEST_CASE("departure: absences in vain are forgotten as soon as frames come in one") {
  Simulation simulation;
  simulation.poll_for(100ms);
  leave_in_vain(simulation, 1000);
  simulation.poll();
  simulation.leave();
  simulation.frame_arrives();
  CHECK(simulation.until_served() <= kLimits.longest_rest + 2 * kLimits.delay);
  CHECK(simulation.reports_served == 0);  // by the end of the rest, and not by a timer
  simulation.run(2ms);
  simulation.come_back();
  simulation.poll_for(20ms);
  const int timers = simulation.timers;
  simulation.leave();
  CHECK(simulation.timers == timers + 1);
  CHECK(simulation.until_served() <= 2 * kLimits.delay);
}

TEST_CASE("departure: a host that leaves again while the timer is set is served as well") {
  Simulation simulation;
  simulation.poll_for(100ms);
  // The timer fires in the shortened rest that follows the long one.
  simulation.leave_before_end(20us);
  REQUIRE(simulation.timers == 1);
  simulation.run(40us);
  REQUIRE(simulation.end - simulation.now == 30us);
  simulation.poll();
  simulation.leave();
  CHECK(simulation.timers == 1);
  CHECK(simulation.until_served() <= 2 * kLimits.delay);
}

TEST_CASE("departure: a host that leaves while it is found inside is served as well") {
  Simulation simulation;
  simulation.poll_for(100ms);
  simulation.leave_before_end(20us);
  REQUIRE(simulation.until_served() <= 2 * kLimits.delay);
  // The next rest is long, and the thread has not begun it.
  Watchdog::Step step = simulation.dog.served(simulation.now, simulation.lock.visits(),
                                              Watchdog::Outcome::host_inside);
  REQUIRE(step.time > 2 * kLimits.delay);
  simulation.poll();
  simulation.leave();
  const auto polls = [&] { return simulation.lock.visits(); };
  step = simulation.departure.before_rest(simulation.dog, step, polls);
  CHECK(step.action == Action::rest);
  CHECK(step.time == kLimits.delay);
}

TEST_CASE("departure: while another thread of the host polls, no timer is set") {
  Simulation simulation;
  simulation.poll_for(100ms);
  simulation.activity.begin_polling();
  simulation.leave();
  CHECK(simulation.timers == 0);
  simulation.activity.leave();
  simulation.leave();
  CHECK(simulation.timers == 1);
}

}  // namespace
