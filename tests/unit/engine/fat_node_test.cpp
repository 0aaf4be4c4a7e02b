// A node with hundreds of ranks, all of which can send to one by shared memory. The limit of open files is raised.
#include <sys/resource.h>

#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "engine/open.hpp"
#include "link/shm/segment.hpp"

namespace {

using namespace lfc;

std::unique_ptr<Ni> open_on_node(std::uint32_t local_processes) {
  NiOptions options;
  options.name = {1, 0};
  options.links = "shm";
  options.policy = "single";
  options.local_processes = local_processes;
  std::string error, notes;
  std::unique_ptr<Ni> ni = open_ni(options, error, notes);
  INFO(error);
  REQUIRE(ni != nullptr);
  return ni;
}

SegmentName segment_of(const Address& address) {
  SegmentName name;
  const std::span<const std::byte> section = address.section("shm");
  REQUIRE(section.size() == sizeof name);
  std::memcpy(&name, section.data(), sizeof name);
  return name;
}

}  // namespace

TEST_CASE("fat node: every rank of it has a place for its messages to one", "[shm]") {
  constexpr std::uint32_t kRanks = 600;
  const std::unique_ptr<Ni> ni = open_on_node(kRanks);
  const std::vector<std::byte> blob = ni->open();
  const SegmentName name = segment_of(*Address::parse(blob));
  std::vector<RemotePlace> senders;
  std::string why;
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    std::optional<RemotePlace> place = RemotePlace::claim(name, 0, blob, why);
    INFO("sender " << rank << ": " << why);
    REQUIRE(place);
    senders.push_back(std::move(*place));
  }
}

TEST_CASE("fat node: a process with many peers may open many files", "[shm]") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 512;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const std::unique_ptr<Ni> ni = open_on_node(1);
  const std::vector<std::byte> blob = ni->open();
  const SegmentName name = segment_of(*Address::parse(blob));
  std::vector<rlim_t> limits;
  for (std::uint32_t rank = 1; rank <= 256; ++rank) {
    AddressWriter writer(Identity{{1, rank}, random_key(), 8});
    writer.add("shm", std::as_bytes(std::span(&name, 1)));
    std::string why;
    CHECK(ni->add_peer(*Address::parse(std::move(writer).finish()), why) != kNoPeer);
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    limits.push_back(now.rlim_cur);
  }
  CHECK(limits[7] == 512);
  CHECK(limits[255] == before.rlim_max);
  CHECK(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}
