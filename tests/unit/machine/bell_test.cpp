// Bells: one socket wakes many sleeping owners. Also the limit of open files, which is raised if it is too low.
#include "machine/bell.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "machine/file_descriptor.hpp"
#include "machine/process_watch.hpp"

namespace lfc {
namespace {

struct Owner {
  BellState state{};
  std::unique_ptr<Bell> bell;
  BellCord cord;

  Owner() {
    std::string why_not;
    bell = Bell::create(state, why_not);
    INFO(why_not);
    REQUIRE(bell != nullptr);
    cord = BellCord(state);
    REQUIRE(cord);
    bell->withdraw();
  }
  bool rung() const {
    pollfd question{bell->fd(), POLLIN, 0};
    return ::poll(&question, 1, 0) > 0;
  }
};

int lowest_free() {
  const int fd = ::dup(0);
  ::close(fd);
  return fd;
}

}  // namespace

TEST_CASE("bell: a sleeper is rung once, and no other process is", "[machine]") {
  Owner owner;
  owner.cord.pull();
  CHECK_FALSE(owner.rung());
  for (int round = 0; round < 3; ++round) {
    owner.bell->arm();
    owner.cord.pull();
    CHECK(owner.rung());
    CHECK(owner.state.word.asleep() == 0);
    owner.bell->withdraw();
    CHECK_FALSE(owner.rung());
  }
}

TEST_CASE("bell: an armed word settles after a time, and stays armed until it is withdrawn or rung",
          "[machine]") {
  using Clock = std::chrono::steady_clock;
  Owner owner;
  const auto armed_for = [&] {
    const Clock::time_point begun = Clock::now();
    while (!owner.bell->arm()) {
    }
    return Clock::now() - begun;
  };
  CHECK(armed_for() >= SleepWord::kSettling);
  CHECK(owner.bell->arm());
  owner.bell->withdraw();
  CHECK(armed_for() >= SleepWord::kSettling);
  owner.cord.pull();
  REQUIRE(owner.rung());
  CHECK(armed_for() >= SleepWord::kSettling);
}

// A socket can hold some hundreds of bytes that no process has read.
TEST_CASE("bell: many sleepers that have not looked yet are all woken", "[machine]") {
  permit_descriptors(1024);
  std::vector<std::unique_ptr<Owner>> owners;
  for (int i = 0; i < 700; ++i) owners.push_back(std::make_unique<Owner>());
  for (const auto& owner : owners) owner->bell->arm();
  for (const auto& owner : owners) owner->cord.pull();
  int woken = 0;
  for (const auto& owner : owners) woken += owner->rung() && owner->state.word.asleep() == 0;
  CHECK(woken == 700);
}

TEST_CASE("bell: sleepers are woken also where no descriptor is left for the next socket",
          "[machine]") {
  permit_descriptors(2048);
  std::vector<std::unique_ptr<Owner>> owners;
  for (int i = 0; i < 700; ++i) owners.push_back(std::make_unique<Owner>());
  for (const auto& owner : owners) owner->bell->arm();
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(lowest_free());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  for (const auto& owner : owners) owner->cord.pull();
  ::setrlimit(RLIMIT_NOFILE, &before);
  int woken = 0;
  for (const auto& owner : owners) woken += owner->rung() && owner->state.word.asleep() == 0;
  CHECK(woken == 700);
}

TEST_CASE("bell: rings that the owner does not read block no sender", "[machine]") {
  Owner owner;
  for (int i = 0; i < 2000; ++i) {
    owner.state.word.arm();
    owner.cord.pull();
  }
  CHECK(owner.rung());
  owner.bell->withdraw();
  CHECK_FALSE(owner.rung());
}

TEST_CASE("bell: an owner that cannot be rung gives no cord", "[machine]") {
  BellState state{};
  CHECK_FALSE(BellCord(state));
  state.name = {"lfc-bell-of-nobody"};
  CHECK_FALSE(BellCord(state));
}

TEST_CASE(
    "process watch: all watches share a descriptor, and an earlier process of that pid is none",
    "[machine]") {
  const pid_t pid = fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  const int before = lowest_free();
  {
    const ProcessWatch first(static_cast<std::uint32_t>(pid));
    const int with_one = lowest_free();
    const ProcessWatch second(static_cast<std::uint32_t>(pid));
    CHECK(lowest_free() == with_one);
    CHECK_FALSE(second.dead());
    ::kill(pid, SIGKILL);
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) == 0);
    CHECK(first.dead());
    CHECK(second.dead());
    ::waitpid(pid, nullptr, 0);
    CHECK(ProcessWatch(static_cast<std::uint32_t>(pid)).dead());
  }
  CHECK(lowest_free() == before);
}

TEST_CASE("descriptors: the limit is raised where it is too low, and only there", "[machine]") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 100;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  rlimit now{};
  permit_descriptors(100);
  ::getrlimit(RLIMIT_NOFILE, &now);
  CHECK(now.rlim_cur == 100);
  permit_descriptors(101);
  ::getrlimit(RLIMIT_NOFILE, &now);
  CHECK(now.rlim_cur == before.rlim_max);
  CHECK(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace lfc
