// An engine whose policy needs a thread that the kernel refuses.
#include "refuse.h"  // first

#include <sys/wait.h>

#include <cstring>
#include <string>

#include "catch.hpp"
#include "engine/open.hpp"
#include "machine/thread_probe.hpp"

namespace lfc {
namespace {

std::string noticed;

// Opens an NI in a process that may start no thread. Returns whether `right` is true of its outcome.
template <class Right>
bool without_threads(const char* policy, Right right) {
  const pid_t child = ::fork();
  if (child == 0) {
    NiOptions options;
    options.links = "loop";
    options.policy = policy;
    options.local_processes = 1;
    options.notice = [](std::string_view line) { noticed = line; };
    std::string error;
    std::string notes;
    const bool refused = refuse_calls("clone3", EAGAIN) && !why_no_thread().empty();
    const bool opened = refused && open_ni(options, error, notes) != nullptr;
    ::_exit(refused && right(opened, error, notes) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("where no thread can be started, auto becomes single, with a notice", "[ni]") {
  REQUIRE(why_no_thread().empty());
  CHECK(without_threads("auto", [](bool opened, const std::string&, const std::string& notes) {
    // A node with one processor would have had `single` for another reason, and without a notice.
    return opened && notes.starts_with("policy single (auto: ") &&
           (noticed.empty() || has(notes, "ulimit -u"));
  }));
  CHECK(without_threads("single", [](bool opened, const std::string&, const std::string&) {
    return opened && noticed.empty();
  }));
}

TEST_CASE("where no thread can be started, a policy that needs one is refused", "[ni]") {
  for (const char* policy : {"floating", "fixed"})
    CHECK(without_threads(policy, [](bool opened, const std::string& error, const std::string&) {
      return !opened && has(error, "policy") && has(error, "ulimit -u") && has(error, "pids.max");
    }));
}

}  // namespace lfc
