// The link verbs with a device: killed processes, ports that go down, and counters of the device. Other conformance
// tests cannot cover these. Without a device all cases are skipped.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "conformance/kinds.hpp"
#include "deadline.hpp"
#include "flight.hpp"

#ifdef LFC_VERBS
#include "link/verbs/ports.hpp"
#include "link/verbs/verbs_link.hpp"
#include "published.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr Meta kMessage{FrameType::message, 7, 0};

VerbsOptions impatient() {
  VerbsOptions options;
  options.interfaces = list_interfaces();
  options.timeout = 60ms;  // half a second in all
  options.connect_timeout = 300ms;
  return options;
}

// One process's link, published; null: there is no device.
std::unique_ptr<End> open_end(std::uint32_t rank, std::vector<std::byte>& blob,
                              const VerbsOptions& options = impatient()) {
  auto end = std::make_unique<End>();
  end->identity = {{1, rank}, Key{rank + 1, 9}, 8};
  std::string why_not;
  end->link = make_verbs_link(options, end->identity, *end, end->counters, why_not);
  if (end->link == nullptr) return nullptr;
  blob = publish(*end->link, end->identity);
  end->address = Address::parse(blob);
  return end;
}

bool has_device() {
  std::vector<std::byte> blob;
  if (open_end(0, blob) != nullptr) return true;
  std::puts("no RDMA device: nothing to see");
  return false;
}

// Another process with a link, which polls or computes without end.
class Process {
 public:
  Process(std::uint32_t rank, bool polls) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    id_ = ::fork();
    if (id_ == 0) run(rank, polls, ends[1]);
    ::close(ends[1]);
    std::vector<std::byte> blob(kMaxAddress);
    const ssize_t size = ::read(ends[0], blob.data(), blob.size());
    ::close(ends[0]);
    REQUIRE(size > 0);
    blob.resize(static_cast<std::size_t>(size));
    address = Address::parse(blob);
    REQUIRE(address.has_value());
  }
  ~Process() { kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  void kill() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
    id_ = -1;
  }

  std::optional<Address> address;

 private:
  [[noreturn]] static void run(std::uint32_t rank, bool polls, int out) {
    std::vector<std::byte> blob;
    const auto end = open_end(rank, blob);
    if (end == nullptr || ::write(out, blob.data(), blob.size()) < 0) ::_exit(1);
    for (;;)
      if (!polls || end->link->poll() == 0) ::usleep(100);
  }

  pid_t id_ = -1;
};

bool poll_until(End& end, Clock::duration limit, const std::function<bool()>& condition) {
  Deadline deadline(limit);
  while (!condition()) {
    if (deadline.is_over()) return false;
    if (end.link->poll() == 0) ::usleep(50);
  }
  return true;
}

bool send(End& end, PeerId peer, Clock::duration limit = 20s) {
  const Slice slice{"x", 1};
  SendStatus status = SendStatus::again;
  static_cast<void>(poll_until(end, limit, [&] {
    status = end.link->send(peer, kMessage, &slice, 1);
    return status != SendStatus::again;
  }));
  return status == SendStatus::sent;
}

void require_lost_once(End& end, PeerId peer) {
  static_cast<void>(poll_until(end, 300ms, [] { return false; }));
  INFO(end.last_why);
  REQUIRE(end.broken[peer] == 1);
  const Slice slice{"x", 1};
  REQUIRE(end.link->send(peer, kMessage, &slice, 1) == SendStatus::broken);
  // The message names the device, the port and the destination.
  std::string problem;
  const std::vector<verbs::Port> ports = verbs::list_ports(*verbs::load_api(problem));
  REQUIRE(end.last_why.starts_with(ports.front().name() + ", "));
  const std::string ip = ports.front().gids.back().ip().text();
  REQUIRE(end.last_why.find("GID " + ip + " to GID " + ip + ": ") != std::string::npos);
}

long device_counter(const char* name) {
  std::string problem;
  const std::vector<verbs::Port> ports = verbs::list_ports(*verbs::load_api(problem));
  std::ifstream file("/sys/class/infiniband/" + ports.front().device + "/ports/1/hw_counters/" +
                     name);
  long count = -1;
  file >> count;
  REQUIRE(count >= 0);
  return count;
}

// The device's count of receivers that were not ready.
long not_ready() { return device_counter("rcvd_rnr_err") + device_counter("send_rnr_err"); }

bool in_guest() { return std::getenv("LFC_RDMA_SHARE") != nullptr; }

}  // namespace

TEST_CASE("verbs: a process that ends before its reply is lost once, one that computes is not",
          "[verbs][device]") {
  if (!has_device()) return;
  Process dead(1, false);
  Process busy(2, false);
  std::vector<std::byte> blob;
  const auto end = open_end(0, blob);
  std::string why_not;
  REQUIRE(end->link->connect(1, *dead.address, why_not));
  REQUIRE(end->link->connect(2, *busy.address, why_not));
  REQUIRE_FALSE(poll_until(*end, 1s, [&] { return !end->broken.empty(); }));
  dead.kill();
  REQUIRE(poll_until(*end, 10s, [&] { return !end->broken.empty(); }));
  require_lost_once(*end, 1);
  REQUIRE_FALSE(poll_until(*end, 1s, [&] { return end->broken.count(2) != 0; }));
}

TEST_CASE("verbs: a peer that does not reply is left to another link, and may connect later",
          "[verbs][device]") {
  if (!has_device()) return;
  // The other end also connects: before it receives the request (0), after that (1), or not at all (2).
  const auto wants = GENERATE(0, 1, 2);
  INFO("wants " << wants);
  std::vector<std::byte> blob;
  const auto end = open_end(0, blob);
  const auto other = open_end(1, blob);
  end->turns = true;
  std::string why_not;
  REQUIRE(end->link->connect(7, *other->address, why_not));
  REQUIRE(poll_until(*end, 5s, [&] { return end->unanswered[7] != 0; }));
  const Slice slice{"x", 1};
  REQUIRE(end->link->send(7, kMessage, &slice, 1) == SendStatus::broken);
  // The other link has received several requests, and then the notice that they are withdrawn.
  if (wants == 0) REQUIRE(other->link->connect(0, *end->address, why_not));
  REQUIRE(poll_until(*other, 5s, [&] { return other->connected[0] != 0; }));
  if (wants == 1) REQUIRE(other->link->connect(0, *end->address, why_not));
  SendStatus status = SendStatus::again;
  Deadline deadline(3s);
  while (!deadline.is_over() && end->frame_count == 0) {
    if (wants != 2 && status == SendStatus::again)
      status = other->link->send(0, kMessage, &slice, 1);
    end->link->poll();
    other->link->poll();
  }
  REQUIRE(end->frame_count == (wants == 2 ? 0 : 1));
  REQUIRE(end->unanswered[7] == 1);
  REQUIRE(end->broken.empty());
  REQUIRE(other->broken.empty());
}

TEST_CASE("verbs: a killed peer is lost once when something is sent to it", "[verbs][device]") {
  if (!has_device()) return;
  Process other(1, true);
  Process living(2, true);
  std::vector<std::byte> blob;
  const auto end = open_end(0, blob);
  std::string why_not;
  REQUIRE(end->link->connect(1, *other.address, why_not));
  REQUIRE(end->link->connect(2, *living.address, why_not));
  REQUIRE(send(*end, 1));
  REQUIRE(send(*end, 2));
  REQUIRE(poll_until(*end, 10s, [&] { return end->link->drained(); }));
  other.kill();
  REQUIRE(send(*end, 1));
  REQUIRE(poll_until(*end, 10s, [&] { return end->broken.count(1) != 0; }));
  require_lost_once(*end, 1);
  REQUIRE(send(*end, 2));
  REQUIRE(end->broken.count(2) == 0);
}

TEST_CASE(
    "verbs: a port that is down for a moment costs nothing, and one that stays down its peers",
    "[verbs][device][port]") {
  if (!in_guest() || !has_device()) return;
  Process other(1, true);
  std::vector<std::byte> blob;
  const auto end = open_end(0, blob, {});  // the limit is four seconds here
  std::string why_not;
  REQUIRE(end->link->connect(1, *other.address, why_not));
  REQUIRE(send(*end, 1));
  REQUIRE(std::system("ip link set eth0 down") == 0);
  REQUIRE_FALSE(poll_until(*end, 100ms, [&] { return !end->broken.empty(); }));
  REQUIRE(std::system("ip link set eth0 up") == 0);
  REQUIRE_FALSE(poll_until(*end, 1s, [&] { return !end->broken.empty(); }));
  REQUIRE(send(*end, 1));
  REQUIRE(poll_until(*end, 10s,
                     [&] { return end->link->drained(); }));  // the device retransmits nothing
  REQUIRE(std::system("ip link set eth0 down") == 0);
  const bool noticed = poll_until(*end, 20s, [&] { return !end->broken.empty(); });
  REQUIRE(std::system("ip link set eth0 up") == 0);
  REQUIRE(noticed);
  require_lost_once(*end, 1);
  INFO(end->last_why);
  REQUIRE(end->last_why.ends_with(": the port is down"));
}

TEST_CASE("verbs: a port that is down is the reason, also if the device has given up by itself",
          "[verbs][device][port]") {
  if (!in_guest() || !has_device()) return;
  Process other(1, true);
  std::vector<std::byte> blob;
  const auto end = open_end(0, blob);
  std::string why_not;
  REQUIRE(end->link->connect(1, *other.address, why_not));
  REQUIRE(send(*end, 1));
  REQUIRE(poll_until(*end, 10s, [&] { return end->link->drained(); }));
  REQUIRE(std::system("ip link set eth0 down") == 0);
  REQUIRE(send(*end, 1));
  ::sleep(5);  // no poll while the device retries; then the completions are polled before the port
  const bool noticed = poll_until(*end, 20s, [&] { return !end->broken.empty(); });
  const std::string why = end->last_why;
  REQUIRE(std::system("ip link set eth0 up") == 0);
  INFO(why);
  REQUIRE(noticed);
  REQUIRE(why.ends_with(": the port is down"));
}

TEST_CASE("verbs: no receiver is ever found not ready in a flood", "[verbs][device]") {
  if (!has_device()) return;
  const long before = not_ready();
  std::vector<std::byte> blob;
  std::vector<std::unique_ptr<End>> ends;
  for (std::uint32_t rank = 0; rank < 4; ++rank) ends.push_back(open_end(rank, blob));
  for (const auto& end : ends) end->keep_frames = false;
  std::string why_not;
  for (PeerId sender = 1; sender < 4; ++sender)
    REQUIRE(ends[sender]->link->connect(100, *ends[0]->address, why_not));
  std::vector<std::byte> bytes(20000);
  std::size_t sent = 0;
  for (int round = 0; round < 300; ++round) {
    // Each sends until nothing more is taken, while the receiver does not poll.
    for (PeerId sender = 1; sender < 4; ++sender)
      for (int i = 0; i < 200; ++i) {
        const Slice slice{bytes.data(), static_cast<std::size_t>(
                                            (i * 37 + round) % 9 == 0 ? 20000 : (i * 7) % 600)};
        if (ends[sender]->link->send(100, kMessage, &slice, 1) != SendStatus::sent) break;
        ++sent;
      }
    for (int i = 0; i < 20; ++i)
      for (const auto& end : ends) end->link->poll();
  }
  for (int i = 0; i < 100000 && ends[0]->frame_count != sent; ++i)
    for (const auto& end : ends) end->link->poll();
  std::printf("verbs: %zu frames, and %ld times a receiver was not ready\n", sent,
              not_ready() - before);
  REQUIRE(ends[0]->frame_count == sent);
  REQUIRE(sent > 1000);
  REQUIRE(not_ready() == before);
}

// The device counts packets of both ends. A request of one packet and its acknowledgement are two.
TEST_CASE("verbs: a put with a notification is one request of the device", "[verbs][device]") {
  if (!has_device()) return;
  std::vector<std::byte> blob;
  const auto from = open_end(0, blob);
  const auto to = open_end(1, blob);
  std::string why_not;
  REQUIRE(from->link->connect(1, *to->address, why_not));
  const auto poll_both = [&](const std::function<bool()>& condition) {
    for (int i = 0; i < 1000000; ++i) {
      if (condition()) return true;  // it may send, so it is called once more only if it is false
      from->link->poll();
      to->link->poll();
    }
    return false;
  };
  const Slice slice{"x", 1};
  REQUIRE(poll_both([&] { return from->link->send(1, kMessage, &slice, 1) == SendStatus::sent; }));
  REQUIRE(poll_both([&] { return to->frame_count == 1; }));
  std::array<std::byte, 64> here{}, there{};
  LinkRegion local, remote;
  REQUIRE(from->link->register_memory(here.data(), here.size(), local));
  REQUIRE(to->link->register_memory(there.data(), there.size(), remote));
  constexpr std::size_t kPuts = 200;
  const auto packets_of = [&](bool notifies) {
    const long before = device_counter("sent_pkts");
    for (std::size_t i = 0; i < kPuts; ++i) {
      Flight put;
      const auto base = reinterpret_cast<std::uint64_t>(there.data());
      REQUIRE(poll_both([&] {
        put.start = notifies
                        ? from->link->put_notified(1, here.data(), local, base, remote, here.size(),
                                                   7, &put)
                        : from->link->put(1, here.data(), local, base, remote, here.size(), &put);
        return put.start != Link::Start::again;
      }));
      REQUIRE(put.start == Link::Start::started);
      REQUIRE(poll_both([&] { return put.calls == 1; }));
      REQUIRE(put.result == Result::ok);
    }
    return device_counter("sent_pkts") - before;
  };
  const long notified = packets_of(true);
  REQUIRE(poll_both([&] { return to->notified.size() == kPuts; }));
  const long plain = packets_of(false);
  std::printf("verbs: %zu puts are %ld packets with notifications, %ld without\n", kPuts, notified,
              plain);
  // Each half window of receive buffers is returned by a packet of its own.
  CHECK(notified <= static_cast<long>(2 * kPuts + kPuts / 4));
  CHECK(plain >= static_cast<long>(3 * kPuts));
  from->link->deregister_memory(local);
  to->link->deregister_memory(remote);
}

}  // namespace lfc
#endif
