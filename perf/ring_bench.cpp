// Measures the shared-memory path between two pinned processes. The figures are half round trip and
// message rate, for the bare ring and for the shm link (virtual calls, peer table, place scan).
//
//   ring_bench [repeats=9] [milliseconds per measurement=20] [first core=0] [second core=1]
//
// Prints the median over the repeats and the lowest value. Each message is a 16-byte header and
// the payload, and the receiver copies the payload out, as an MPI library does.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "link/ring.hpp"
#include "link/shm/shm_link.hpp"
#include "numbers.hpp"

namespace {

using namespace lfc;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kHeader = 16;
constexpr std::size_t kLargest = 32 * 1024 - kHeader;

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::perror("sched_setaffinity");
}

// One direction each way over bare rings.
class RingChannel {
 public:
  RingChannel(std::byte* to, std::byte* from, const RingShape& shape)
      : writer_(to, shape), reader_(from, shape) {}

  void send(const std::byte* data, std::size_t size) {
    const Slice slices[] = {{header_.data(), kHeader}, {data, size}};
    while (writer_.send({FrameType::message, 0, 0}, slices, 2) != SendStatus::sent) {
    }
  }
  // Polls until one message has been copied out.
  void receive(std::byte* data) {
    RingFrame frame;
    while (reader_.peek(frame) != RingReader::Peek::frame) {
    }
    std::memcpy(data, frame.payload.data() + kHeader, frame.payload.size() - kHeader);
    reader_.pop();
  }

 private:
  std::array<std::byte, kHeader> header_{};
  RingWriter writer_;
  RingReader reader_;
};

// The same over the shm link of two processes.
class LinkChannel : private FrameSink {
 public:
  LinkChannel() : link_(make_shm_link({}, *this, why_)) {}

  std::vector<std::byte> address() {
    AddressWriter writer({{1, 0}, 1, 8});
    link_->publish(writer);
    std::vector<std::byte> bytes = std::move(writer).finish();
    link_->set_own_address(bytes);
    return bytes;
  }
  bool connect(std::span<const std::byte> peer) {
    return link_->connect(0, *Address::parse(peer), why_);
  }
  const std::string& why() const { return why_; }

  void send(const std::byte* data, std::size_t size) {
    const Slice slices[] = {{header_.data(), kHeader}, {data, size}};
    while (link_->send(0, {FrameType::message, 0, 0}, slices, 2) != SendStatus::sent) {
    }
  }
  void receive(std::byte* data) {
    destination_ = data;
    while (received_ == taken_) link_->poll();
    ++taken_;
  }

 private:
  void on_frame(PeerId, Meta, std::span<const std::byte> payload) override {
    std::memcpy(destination_, payload.data() + kHeader, payload.size() - kHeader);
    ++received_;
  }
  PeerId on_connect(Link&, const Address&) override { return 0; }
  void on_broken(PeerId, Link&, std::string_view why) override {
    std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(why.size()), why.data());
    std::_Exit(1);
  }

  std::string why_;
  std::array<std::byte, kHeader> header_{};
  std::unique_ptr<Link> link_;
  std::byte* destination_ = nullptr;
  long received_ = 0;
  long taken_ = 0;
};

struct Work {
  std::size_t size;
  std::uint32_t window;  // messages in one direction before the reply; 1: ping-pong
};

struct Plan {
  int repeats = 9;
  double seconds = 0.02;
  int cores[2] = {0, 1};
};

// Returns seconds per round of `window` messages and one reply; both sides run the same rounds.
template <class Channel>
double measure(Channel& channel, bool first, Work work, long rounds) {
  static std::byte source[kLargest], destination[kLargest];
  const std::size_t answer = work.window == 1 ? work.size : 8;
  const auto start = Clock::now();
  for (long round = 0; round < rounds; ++round) {
    if (first) {
      for (std::uint32_t i = 0; i < work.window; ++i) channel.send(source, work.size);
      channel.receive(destination);
    } else {
      for (std::uint32_t i = 0; i < work.window; ++i) channel.receive(destination);
      channel.send(source, answer);
    }
  }
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(rounds);
}

// The two sides agree on the number of rounds because it is computed from the size alone.
long rounds_for(const Plan& plan, Work work) {
  const double per_message = 0.15e-6 + static_cast<double>(work.size) * 0.1e-9;
  return std::max(10L, static_cast<long>(plan.seconds / (per_message * (work.window + 1))));
}

template <class Channel>
void run(const char* name, const Plan& plan, Channel& channel, bool first) {
  for (const std::uint32_t window : {1u, 64u}) {
    for (const std::size_t size : {0ul, 8ul, 32ul, 64ul, 128ul, 200ul, 512ul, 1024ul, 2048ul,
                                   4096ul, 8192ul, 16384ul, kLargest}) {
      if (window != 1 && size > 8192) continue;
      const Work work{size, window};
      const long rounds = rounds_for(plan, work);
      measure(channel, first, work, rounds / 10);
      std::vector<double> times;
      for (int i = 0; i < plan.repeats; ++i) times.push_back(measure(channel, first, work, rounds));
      if (!first) continue;
      std::sort(times.begin(), times.end());
      const double median = times[times.size() / 2];
      if (window == 1) {
        std::printf("%-5s half round trip %6zu B  median %8.3f us  lowest %8.3f us\n", name, size,
                    median / 2 * 1e6, times[0] / 2 * 1e6);
      } else {
        std::printf("%-5s rate, %3u flying %5zu B  median %8.3f M/s  highest %8.3f M/s\n", name,
                    window, size, window / median * 1e-6, window / times[0] * 1e-6);
      }
      std::fflush(stdout);
    }
  }
}

// Runs `body(first)` in two pinned processes; if one fails, the other is ended.
template <class Body>
int in_two_processes(const Plan& plan, Body body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(plan.cores[1]);
    alarm(300);
    body(false);
    _exit(0);
  }
  pin(plan.cores[0]);
  body(true);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  lfc::numbers_or_usage(
      argc, argv, 2,
      "ring_bench [repeats=9] [milliseconds per measurement=20] [first core=0] [second core=1]");
  Plan plan;
  if (argc > 1) plan.repeats = std::atoi(argv[1]);
  if (argc > 2) plan.seconds = std::atof(argv[2]) / 1000;
  if (argc > 3) plan.cores[0] = std::atoi(argv[3]);
  if (argc > 4) plan.cores[1] = std::atoi(argv[4]);
  alarm(300);

  // Both processes share this memory: two rings, and the addresses of the two links.
  struct Meeting {
    std::atomic<std::uint32_t> size[2];
    std::byte address[2][kMaxAddress];
  };
  const RingShape shape;
  const std::size_t size = shape.bytes();
  auto* memory =
      static_cast<std::byte*>(mmap(nullptr, 2 * size + sizeof(Meeting), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  auto& meeting = *reinterpret_cast<Meeting*>(memory + 2 * size);

  const int ring_status = in_two_processes(plan, [&](bool first) {
    RingChannel channel(first ? memory : memory + size, first ? memory + size : memory, shape);
    run("ring", plan, channel, first);
  });
  const int link_status = in_two_processes(plan, [&](bool first) {
    LinkChannel channel;
    const std::vector<std::byte> own = channel.address();
    const int me = first ? 0 : 1;
    std::copy(own.begin(), own.end(), meeting.address[me]);
    meeting.size[me] = static_cast<std::uint32_t>(own.size());
    while (meeting.size[1 - me] == 0) sched_yield();
    if (!channel.connect({meeting.address[1 - me], meeting.size[1 - me]})) {
      std::fprintf(stderr, "connect: %s\n", channel.why().c_str());
      std::_Exit(1);
    }
    run("link", plan, channel, first);
  });
  return ring_status != 0 || link_status != 0;
}
