#include "machine/first_of_node.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"

using lfc::first_of_node;

namespace {

// Calls first_of_node() in another process, which then exits.
bool other_is_first(std::uint32_t job, std::string_view what) {
  const pid_t other = ::fork();
  if (other == 0) ::_exit(first_of_node(job, what) ? 1 : 0);
  int status = 0;
  ::waitpid(other, &status, 0);
  return WEXITSTATUS(status) == 1;
}

}  // namespace

TEST_CASE("first of node: one process of a node reports each line of a job", "[machine]") {
  const auto job = static_cast<std::uint32_t>(::getpid());
  CHECK(other_is_first(job, "a rail is lost"));  // that process has exited
  CHECK(first_of_node(job, "a rail is lost"));
  CHECK_FALSE(first_of_node(job, "a rail is lost"));
  CHECK_FALSE(other_is_first(job, "a rail is lost"));
  CHECK(other_is_first(job, "another rail is lost"));
  CHECK(other_is_first(job + 1, "a rail is lost"));
}
