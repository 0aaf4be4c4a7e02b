// Memory of a process that other processes may not open: it is handed over to permitted users only. A process that may
// not be inspected does not count as ended.
#include "machine/hand_over.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <string>

#include "catch.hpp"
#include "machine/local_peer.hpp"
#include "machine/process_watch.hpp"
#include "machine/shared_memory.hpp"
#include "namespaces.hpp"

namespace lfc {
namespace {

enum Answer { no, yes, not_permitted };

// Runs `body` in a child process, and returns its result.
Answer elsewhere(const std::function<Answer()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    ::alarm(600);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? static_cast<Answer>(WEXITSTATUS(status)) : no;
}

// Another process, which has created memory and keeps running.
struct Maker {
  struct Told {
    std::atomic<int> step;
    SharedMemoryName name;
  };

  explicit Maker(
      bool serves, const std::function<bool()>& before = [] { return true; })
      : told(static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        pid(fork()) {
    if (pid == 0) {
      ::alarm(600);
      std::string why_not;
      if (!before()) told->step = 2;
      std::optional<SharedMemory> memory = SharedMemory::create(5000, why_not);
      memory->data()[4999] = std::byte{42};
      if (serves && !hand_over::serve()) told->step = 2;
      told->name = memory->name();
      if (told->step == 0) told->step = 1;
      for (;;) ::pause();
    }
    while (told->step == 0) ::usleep(100);
  }
  ~Maker() {
    end();
    ::munmap(told, sizeof(Told));
  }
  void end() {
    if (pid == 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  bool permitted() const { return told->step == 1; }

  Told* told;
  pid_t pid;
};

Answer opens(const SharedMemoryName& name) {
  std::string why_not;
  const auto memory = SharedMemory::open(name, why_not);
  return memory && memory->data()[4999] == std::byte{42} ? yes : no;
}

}  // namespace

TEST_CASE(
    "hand over: a process that may not open memory gets it from its maker, if the maker serves",
    "[machine]") {
  const bool serves = GENERATE(true, false);
  const Maker maker(serves);
  const Answer answer = elsewhere([&] {
    if (!enter_user_namespace()) return not_permitted;
    return opens(maker.told->name);
  });
  if (answer == not_permitted) return;  // the kernel permits no user namespaces
  CHECK(answer == (serves ? yes : no));
}

TEST_CASE("hand over: both in user namespaces of their own", "[machine]") {
  const Maker maker(true, enter_user_namespace);
  if (!maker.permitted()) return;
  CHECK(elsewhere([&] {
          if (!enter_user_namespace()) return not_permitted;
          return opens(maker.told->name);
        }) == yes);
}

TEST_CASE("hand over: only offered memory is handed over, and only to the same user", "[machine]") {
  const Maker maker(true);
  std::string why_not;
  hand_over::Cookie cookie = maker.told->name.cookie;
  hand_over::Handed got = hand_over::request(cookie, why_not);
  CHECK(got.memory.is_open());
  CHECK(got.pid == static_cast<std::uint32_t>(maker.pid));
  ++cookie[1];
  CHECK_FALSE(hand_over::request(cookie, why_not).memory.is_open());
  CHECK(why_not == "is not handed over: there is none");
  ++cookie[0];  // no process has this cookie
  CHECK_FALSE(hand_over::request(cookie, why_not).memory.is_open());
  CHECK(why_not.empty());
  if (::geteuid() != 0) return;
  CHECK(elsewhere([&] {
          if (::setuid(65534) != 0) return not_permitted;
          return opens(maker.told->name);
        }) == no);
}

TEST_CASE("hand over: from another pid namespace only with a pidfd, which detects the maker's exit",
          "[machine]") {
  Maker maker(true);
  SharedMemoryName name = maker.told->name;
  name.pid = 0x7ffffff0;  // a pid of another pid namespace
  std::string why_not;
  CHECK_FALSE(SharedFile::open(name, why_not));
  FileDescriptor process;
  REQUIRE(SharedFile::open(name, why_not, &process));
  const ProcessWatch watch(std::move(process));
  CHECK_FALSE(watch.dead());
  maker.end();
  CHECK(watch.dead());
  CHECK_FALSE(ProcessWatch(FileDescriptor()).dead());  // without a descriptor it cannot be known
}

TEST_CASE("gone: a process that has exited is gone, and one that cannot be inspected is not",
          "[machine]") {
  Maker maker(false);
  const SharedMemoryName name = maker.told->name;
  const auto gone = [&] { return is_gone(name) ? yes : no; };
  CHECK(gone() == no);
  const Answer from_inside =
      elsewhere([&] { return enter_user_namespace() ? gone() : not_permitted; });
  CHECK(from_inside != yes);
  if (::geteuid() == 0) {
    // A user that can see the process but not inspect its descriptors.
    CHECK(elsewhere([&] { return ::setuid(65534) == 0 ? gone() : not_permitted; }) == no);
  }
  SharedMemoryName closed = name;
  closed.fd = 9999;
  CHECK(is_gone(closed));
  SharedMemoryName other = name;
  other.pid = static_cast<std::uint32_t>(::getpid());
  other.fd = 0;
  CHECK(is_gone(other));
  SharedMemoryName unlike = name;  // memory that is there, but does not pass the checks of open()
  ++unlike.inode;
  CHECK_FALSE(is_gone(unlike));
  maker.end();
  CHECK(gone() == yes);
}

TEST_CASE(
    "local peers: between namespaces where memory can be handed over, and so only in one network",
    "[machine]") {
  std::string why_not;
  const auto own = own_space(why_not);
  REQUIRE(own);
  CHECK(may_open(*own, *own));
  const auto check = [&](auto change, bool local_peers, const std::string& reason) {
    ProcessSpace other = *own;
    change(other);
    CHECK_FALSE(may_open(*own, other));
    CHECK_FALSE(may_open(other, *own));
    CHECK(is_local_peer(*own, other, why_not = {}) == local_peers);
    CHECK(why_not == reason);
  };
  check([](ProcessSpace& other) { ++other.pid_namespace; }, true, "");
  check([](ProcessSpace& other) { ++other.user_namespace, ++other.user; }, true, "");
  check([](ProcessSpace& other) { other.hidden = 1; }, true, "");
  check([](ProcessSpace& other) { ++other.pid_namespace, ++other.net_namespace; }, false,
        "in another pid namespace and another network namespace");
  check([](ProcessSpace& other) { ++other.user_namespace, ++other.net_namespace; }, false,
        "in another user namespace and another network namespace");
  check([](ProcessSpace& other) { other.hidden = 1, ++other.net_namespace; }, false,
        "not dumpable, or hidden in /proc and another network namespace");
  CHECK(elsewhere([] {
          std::string why;
          ::prctl(PR_SET_DUMPABLE, 0);
          const auto space = own_space(why);
          return space && space->hidden == 1 ? yes : no;
        }) == yes);
}

}  // namespace lfc
