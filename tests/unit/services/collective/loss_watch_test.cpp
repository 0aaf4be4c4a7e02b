// Which rank a waiting rank reports as lost.
#include "services/collective/loss_watch.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "coll_world.hpp"

namespace lfc {
namespace {

// Standard error of this process, while it exists.
class CapturedErrors {
 public:
  CapturedErrors() { ::dup2(file_, STDERR_FILENO); }
  ~CapturedErrors() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
    ::close(file_);
  }
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;
  std::string text() const {
    std::string text(4096, '\0');
    const ::ssize_t size = ::pread(file_, text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }

 private:
  const int file_ = ::memfd_create("errors", MFD_CLOEXEC);
  const int kept_ = ::dup(STDERR_FILENO);
};

// The processes of a node, as one rank sees them: a function returns true if its process has ended.
class Node final : public Environment {
 public:
  using Find = std::function<bool()>;
  explicit Node(std::map<std::uint32_t, Find> finds) : finds_(std::move(finds)) {}
  bool has_ended(ProcessName name) override {
    ++looks;
    const auto found = finds_.find(name.rank);
    return found != finds_.end() && found->second();
  }
  // Tests that run beside this one print other lines: each node prints a line once.
  std::string describe(ProcessName name) override {
    return "rank " + std::to_string(name.rank) + " of test " + std::to_string(::getpid());
  }
  std::byte* board(ProcessName, std::uint64_t, std::uint32_t, std::uint32_t, bool&) override {
    return nullptr;
  }
  PeerId peer(ProcessName) override { return kNoPeer; }
  bool read(ProcessName, std::byte*, std::uint64_t, std::size_t) override { return false; }
  int looks = 0;

 private:
  const std::map<std::uint32_t, Find> finds_;
};

void look_at_all(LossWatch& watch, Communicator& communicator, Node& node) {
  while (node.looks == 0) {
    watch.look(communicator, node);
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("a rank that has left because of a loss is not reported as lost", "[coll]") {
  constexpr std::uint32_t kRanks = 3;
  CollWorld world({.ranks = kRanks, .per_node = kRanks});
  std::vector<CollOperation> operations(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {  // rank 2 never comes
    operations[rank].kind = LFC_COLL_ALLREDUCE;
    world.communicator(rank).submit(operations[rank]);
  }
  for (int ticks = 0; ticks < 1000; ++ticks) world.step();
  REQUIRE_FALSE(world.communicator(1).has_failed());
  LossWatch first, second;
  Node of_first({{2, [] { return true; }}});
  // Rank 0 reports the loss of rank 2, and ends, while rank 1 looks.
  Node of_second({{0,
                   [&] {
                     look_at_all(first, world.communicator(0), of_first);
                     return true;
                   }},
                  {2, [] { return true; }}});
  const CapturedErrors errors;
  look_at_all(second, world.communicator(1), of_second);
  CHECK(errors.text().find("rank 2 of test") != std::string::npos);
  CHECK(errors.text().find("rank 0 of test") == std::string::npos);
  CHECK(world.communicator(1).has_failed());
  REQUIRE(world.finish(operations));
  for (const CollOperation& each : operations) CHECK(each.status == LFC_COLL_LOST);
}

TEST_CASE("a revocation that one rank knows of ends the operation at all ranks", "[coll]") {
  constexpr std::uint32_t kRanks = 6;
  CollWorld world({.ranks = kRanks, .per_node = 2});
  std::vector<CollOperation> operations(kRanks - 1);
  for (std::uint32_t rank = 0; rank < operations.size(); ++rank) {  // rank 5 never comes
    operations[rank].kind = LFC_COLL_ALLREDUCE;
    world.communicator(rank).submit(operations[rank]);
  }
  for (int ticks = 0; ticks < 1000; ++ticks) world.step();
  Node node({});
  LossWatch watch;
  lfc_coll_status status = LFC_COLL_OK;
  watch.set_fault_query([](const void* host) { return *static_cast<const lfc_coll_status*>(host); },
                        &status);
  watch.look(world.communicator(2), node);
  REQUIRE_FALSE(world.communicator(2).has_failed());
  status = LFC_COLL_REVOKED;
  watch.look(world.communicator(2), node);
  REQUIRE(world.communicator(2).has_failed());
  REQUIRE(world.finish(operations));
  for (const CollOperation& each : operations) CHECK(each.status == LFC_COLL_REVOKED);
  // The caller's communicator has ended: it is not looked at.
  watch.set_fault_query(nullptr, nullptr);
  watch.look(world.communicator(5), node);
}

}  // namespace lfc
