// Processes over a fake port: members of communicators, payload sizes, processes out of reach, and those of other jobs.
#include "services/collective/processes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <span>
#include <vector>

#include "catch.hpp"
#include "lfc/parameters.h"
#include "services/collective/collectives.hpp"
#include "unit/services/fake_port.hpp"

namespace lfc::processes_test {
namespace {

constexpr std::uint64_t kParameters = 5;

struct Job {
  Job() { processes.use(port); }
  void introduce(std::uint32_t rank, const Facts& facts, bool with_address = true,
                 std::uint32_t job = 1) {
    const Identity identity{{job, rank}, random_key(), 4};
    const std::vector<std::byte> address =
        with_address ? AddressWriter(identity).finish() : std::vector<std::byte>();
    processes.introduce({job, rank}, std::as_bytes(std::span(&facts, 1)), address);
  }

  FakePort port;
  Processes processes{kParameters};
};

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

}  // namespace

TEST_CASE("only processes with an engine and the same parameters take part", "[processes]") {
  Job at;
  Facts facts = at.processes.facts();
  at.introduce(2, facts);
  at.introduce(3, facts, false);
  facts.parameters = kParameters + 1;
  at.introduce(0, facts);
  CHECK(at.processes.why_not({1, 2}) == nullptr);
  CHECK(at.processes.why_not({1, 3}) != nullptr);
  CHECK(at.processes.why_not({1, 0}) != nullptr);
  CHECK(at.processes.why_not({1, 7}) != nullptr);
  CHECK(at.processes.max_payload({1, 2}) ==
        at.port.max_payload_of(*Address::parse(AddressWriter({{1, 2}, {}, 4}).finish())));
}

TEST_CASE("parameters by which ranks choose differently are compared", "[processes]") {
  lfc_coll_options options{};
  lfc_parameters_reset(lfc_coll_parameter_table(), &options.parameters);
  const auto digest = [&] { return Collectives(options).processes().facts().parameters; };
  const std::uint64_t usual = digest();
  CHECK(digest() == usual);
  options.parameters.recovery_delay = 7;  // of each rank's own
  CHECK(digest() == usual);
  options.parameters.priority = 5;
  CHECK(digest() != usual);
}

TEST_CASE("a process is added to the engine's peers by its address, and may be out of reach",
          "[processes]") {
  Job at;
  const auto stranger = static_cast<std::uint32_t>(at.port.credit.size());
  at.introduce(2, at.processes.facts());
  at.introduce(stranger, at.processes.facts());
  CHECK(at.processes.peer({1, 2}) == 2);
  CHECK(at.port.added == std::vector<std::uint32_t>{2});
  CHECK(at.processes.peer({1, stranger}) == kNoPeer);
}

TEST_CASE("the board of a process that has ended is no fault of shared memory", "[processes]") {
  Job at;
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  REQUIRE(waitpid(ended, nullptr, 0) == ended);
  Facts facts = at.processes.facts();
  facts.arena.memory.pid = static_cast<std::uint32_t>(ended);
  at.introduce(2, facts);
  bool failed = false;
  CHECK(at.processes.board({1, 2}, 7, 2, 2, failed) == nullptr);
  CHECK_FALSE(failed);  // the look at the members reports the loss
  CHECK(at.processes.has_ended({1, 2}));
}

TEST_CASE("arena and watch of a process of another job are kept until its last communicator ends",
          "[processes]") {
  Job at;
  const Processes child(kParameters);
  const std::uint32_t own = at.port.identity().name.job;
  const ProcessName name{own + 1, 3};
  const Membership both({at.port.identity().name, name}, {7, 7});
  at.introduce(name.rank, child.facts(), true, name.job);
  const std::ptrdiff_t before = open_files();
  const auto use = [&] {
    REQUIRE(at.processes.reaches_boards(name));
    REQUIRE_FALSE(at.processes.has_ended(name));
    CHECK(open_files() > before);
  };
  at.processes.attach(both);
  at.processes.attach(both);
  use();
  at.processes.detach(both);
  CHECK(open_files() > before);
  at.processes.detach(both);
  CHECK(open_files() == before);
  at.processes.attach(both);  // a new communicator finds it again
  use();
  at.processes.detach(both);
  CHECK(open_files() == before);
}

}  // namespace lfc::processes_test
