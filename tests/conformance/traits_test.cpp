// The traits of each link (link/traits.hpp) are true.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "conformance/kinds.hpp"

namespace lfc {
namespace {

// Whether end 0 has reached the other's memory natively, after frames in both directions.
bool reaches_memory(Lan& lan) {
  if (!lan.connect(0, lan.other()) || !lan.send(0, lan.other(), {FrameType::message}, "x", 1))
    return false;
  if (!lan.poll_until([&] { return lan[lan.other()].frame_count == 1; })) return false;
  return lan[0].link->remote_memory(lan.id(0, lan.other()));
}

// The largest message arrives whole.
bool carries_largest(Lan& lan) {
  const std::string largest(lan[0].link->max_message(), 'l');
  if (!lan.connect(0, lan.other()) ||
      !lan.send(0, lan.other(), {FrameType::message}, largest.data(), largest.size()))
    return false;
  if (!lan.poll_until([&] { return lan[lan.other()].frame_count != 0; })) return false;
  const auto& got = lan[lan.other()].frames.back().payload;
  return got.size() == largest.size() && got.back() == std::byte{'l'};
}

std::set<int> descriptors() {
  std::set<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    open.insert(std::stoi(entry.path().filename().string()));
  return open;
}

// Replaces all descriptors opened since then by one end of a pipe without a writer.
void cut_off_all_but(const std::set<int>& before) {
  std::array<int, 2> nowhere{};
  REQUIRE(::pipe2(nowhere.data(), O_NONBLOCK | O_CLOEXEC) == 0);
  for (const int fd : descriptors())
    if (!before.contains(fd) && fd != nowhere[0] && fd != nowhere[1])
      ::dup3(nowhere[0], fd, O_CLOEXEC);
  for (const int fd : nowhere) ::close(fd);
}

// Whether the receiver alone finds the frames that send() took, after all descriptors are cut off. Frames that were
// still in the sender, the kernel or a device are lost then.
bool arrives_without_help(Lan& lan, const std::set<int>& before) {
  End& receiver = lan[lan.other()];
  const auto has = [&](std::size_t frames) { return receiver.frame_count == frames; };
  if (!lan.connect(0, lan.other()) || !lan.send(0, lan.other(), {FrameType::message}, "x", 1) ||
      !lan.poll_until([&] { return has(1); }))
    return false;
  const std::string largest(lan[0].link->max_payload(), 'l');
  if (lan.try_send(0, lan.other(), {FrameType::message}, "y", 1) != SendStatus::sent ||
      lan.try_send(0, lan.other(), {FrameType::message}, largest.data(), largest.size()) !=
          SendStatus::sent)
    return false;
  cut_off_all_but(before);
  for (int i = 0; i < 1000 && !has(3); ++i) receiver.link->poll();
  return has(3);
}

}  // namespace

TEST_CASE("the traits of a link match its behaviour", "[conformance]") {
  for (const Kind& kind : kinds()) {
    DYNAMIC_SECTION(kind.name) {
      Lan lan(kind, 2);
      if (!lan.open()) continue;  // link_test reports the reason
      const Link& link = *lan[0].link;
      const LinkTraits& traits = link.traits();
      CHECK_FALSE(traits.name.empty());
      CHECK(link.name() == traits.name);
      std::vector<int> fds;
      link.wait_fds(fds);
      CHECK(traits.wakes == !fds.empty());
      CHECK((!reaches_memory(lan) || traits.remote_memory));
      CHECK((!traits.one_sided || traits.remote_memory));
      CHECK((!traits.notified_puts || traits.remote_memory));
      CHECK((!traits.either_way || (traits.remote_memory && traits.copies_at_once)));
      CHECK((!traits.registration_costs || traits.remote_memory));
    }
  }
}

TEST_CASE("a message of the size max_message arrives whole", "[conformance]") {
  for (const Kind& kind : kinds()) {
    DYNAMIC_SECTION(kind.name) {
      Lan lan(kind, 2);
      if (!lan.open()) continue;  // link_test reports the reason
      CHECK(lan[0].link->max_message() >= lan[0].link->max_payload());
      CHECK(carries_largest(lan));
    }
  }
}

TEST_CASE("a frame of a link with arrives_in_send arrives although its sender does nothing more",
          "[conformance]") {
  for (const Kind& kind : kinds()) {
    DYNAMIC_SECTION(kind.name) {
      const std::set<int> before = descriptors();
      Lan lan(kind, 2);
      if (!lan.open() || !lan[0].link->traits().arrives_in_send) continue;
      CHECK_FALSE(kind.to_itself);
      CHECK(arrives_without_help(lan, before));
    }
  }
}

}  // namespace lfc
