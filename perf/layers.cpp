// layers: half round trip of the layers below MPI, between two pinned processes of this node.
//
//   layers [seconds per point=0.05]
//
// Prints the same JSON lines as mpi_bench: layer_ring is a bare ring in shared memory each way,
// layer_ni the LFC engine over its link shm. In both the receiver copies the payload out, as MPI
// must. Some rounds before and after the timed ones check every byte.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "engine/ni.hpp"
#include "link/ring.hpp"
#include "link/shm/shm_link.hpp"
#include "numbers.hpp"

namespace {

using namespace lfc;
using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 8> kSizes{1, 8, 64, 256, 1024, 4096, 8192, 16384};
constexpr std::size_t kLargest = kSizes.back();
constexpr int kRepeats = 5;
constexpr unsigned kLimit = 30;  // seconds after which a point counts as hung

// The two processes exchange this information outside of the measured rounds.
struct Control {
  std::atomic<long> rounds{0};  // of the next batch; negative: the end
  std::atomic<std::size_t> size{0};
  std::atomic<bool> verify{false};  // of the next batch
  std::atomic<int> batch{0};
  std::array<std::atomic<std::size_t>, 2> address_bytes{};
  std::array<std::array<std::byte, kMaxAddress>, 2> address{};
};

std::array<char, 64> where;  // the current measurement, for the report of a hang

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "layers: %s: %s\n", where.data(), why.c_str());
  _exit(1);
}

void give_up(const char* text) {
  const bool told = write(2, text, std::strlen(text)) > 0 &&
                    write(2, where.data(), std::strlen(where.data())) > 0 && write(2, "\n", 1) > 0;
  _exit(told ? 75 : 74);
}

void on_alarm(int) { give_up("layers: TOO LONG, giving up: "); }

volatile std::sig_atomic_t other_has_ended = 0;

// Handles the end of the other process. If that ends early, this one must not wait for it.
void on_child(int) {
  int status = 0;
  if (waitpid(-1, &status, WNOHANG) <= 0) return;
  if (status != 0) give_up("layers: the other side has failed: ");
  other_has_ended = 1;
}

// Bare rings, one each way.
class RingChannel {
 public:
  RingChannel(std::byte* to, std::byte* from, const RingShape& shape)
      : writer_(to, shape), reader_(from, shape) {}

  void send(const std::byte* data, std::size_t size) {
    const Slice slice{data, size};
    while (writer_.send({FrameType::message, 0, 0}, &slice, 1) == SendStatus::again) continue;
  }
  void receive(std::byte* data, std::size_t size) {
    RingFrame frame;
    while (reader_.peek(frame) == RingReader::Peek::empty) continue;
    if (frame.payload.size() != size) fail("wrong length");
    std::memcpy(data, frame.payload.data(), size);
    reader_.pop();
  }

 private:
  RingWriter writer_;
  RingReader reader_;
};

// An LFC engine with one peer.
class NiChannel {
 public:
  NiChannel(Control& control, int side)
      : ni_(Config{.name = {1, static_cast<std::uint32_t>(side)}}) {
    std::string why_not;
    std::unique_ptr<Link> link = make_shm_link(ShmOptions{}, ni_.sink(), why_not);
    if (!link) fail(why_not);
    ni_.add_link(std::move(link));
    ni_.set_message_handler(handler_of<deliver>(this));
    const std::vector<std::byte> own = ni_.open();
    const auto me = static_cast<std::size_t>(side);
    std::copy(own.begin(), own.end(), control.address[me].begin());
    control.address_bytes[me].store(own.size(),
                                    std::memory_order_release);  // pairs with the load below
    std::size_t size = 0;
    while ((size = control.address_bytes[1 - me].load(std::memory_order_acquire)) == 0)
      sched_yield();
    const auto peer = Address::parse(std::span(control.address[1 - me]).first(size));
    if (!peer) fail("malformed address");
    peer_ = ni_.add_peer(*peer, why_not);
    if (peer_ == kNoPeer) fail(why_not);
  }

  void send(const std::byte* data, std::size_t size) {
    const Slice slice{data, size};
    if (ni_.try_send(peer_, 0, &slice, 1)) return;
    // Not connected yet, or no credit.
    Posted message;
    message.slices[0] = slice;
    message.slice_count = 1;
    message.done = [](Message* self, Result) { static_cast<Posted*>(self)->finished = true; };
    ni_.post(peer_, message);
    while (!message.finished) ni_.progress();
    if (message.result != Result::ok) fail(to_string(message.result));
  }
  void receive(std::byte* data, std::size_t size) {
    destination_ = data;
    expected_ = size;
    while (destination_ != nullptr) ni_.progress();
  }

 private:
  struct Posted : Message {
    bool finished = false;
  };
  static void deliver(void* context, const Delivery& delivery) {
    auto& self = *static_cast<NiChannel*>(context);
    if (self.destination_ == nullptr || delivery.bytes.size() != self.expected_)
      fail("unexpected message");
    std::memcpy(self.destination_, delivery.bytes.data(), delivery.bytes.size());
    self.destination_ = nullptr;
  }

  Ni ni_;
  PeerId peer_ = kNoPeer;
  std::byte* destination_ = nullptr;
  std::size_t expected_ = 0;
};

std::byte pattern(long round, std::size_t at) {
  return static_cast<std::byte>(static_cast<std::size_t>(round) * 37 + at * 7 + (at >> 8) + 1);
}

// Makes `rounds` round trips; returns seconds.
template <class Channel>
double play(Channel& channel, bool first, std::size_t size, long rounds, bool verify) {
  alignas(64) static std::byte source[kLargest];
  alignas(64) static std::byte destination[kLargest];
  const auto start = Clock::now();
  for (long round = 0; round < rounds; ++round) {
    if (!first) channel.receive(destination, size);
    if (verify) {
      for (std::size_t i = 0; i < size; ++i) source[i] = pattern(first ? round : ~round, i);
    }
    channel.send(source, size);
    if (first) channel.receive(destination, size);
    if (!verify) continue;
    for (std::size_t i = 0; i < size; ++i)
      if (destination[i] != pattern(first ? ~round : round, i)) fail("wrong contents");
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Plays a batch with the other side, which waits in follow().
template <class Channel>
double lead(Control& control, Channel& channel, std::size_t size, long rounds,
            bool verify = false) {
  control.rounds.store(rounds, std::memory_order_relaxed);
  control.size.store(size, std::memory_order_relaxed);
  control.verify.store(verify, std::memory_order_relaxed);
  control.batch.fetch_add(1, std::memory_order_release);  // pairs with the load in follow()
  return rounds < 0 ? 0 : play(channel, true, size, rounds, verify);
}

// Plays every batch; `seen` is the number of batches before the first.
template <class Channel>
void follow(Control& control, Channel& channel, int seen) {
  for (;; ++seen) {
    // Pairs with the fetch_add in lead(). The next batch cannot begin before this one has been
    // played.
    while (control.batch.load(std::memory_order_acquire) == seen) continue;
    const long rounds = control.rounds.load(std::memory_order_relaxed);
    if (rounds < 0) return;
    alarm(kLimit);
    const std::size_t size = control.size.load(std::memory_order_relaxed);
    play(channel, false, size, rounds, control.verify.load(std::memory_order_relaxed));
  }
}

template <class Channel>
void measure(Control& control, Channel& channel, const char* layer, std::size_t size,
             double seconds) {
  alarm(kLimit);
  lead(control, channel, size, 20, true);
  // Uses the fastest of several trials, because a single one may have been interrupted.
  const double target = seconds / kRepeats;
  double each = 1, spent = 0;
  for (long look = 10; look < 100000 && spent < target; look *= 3) {
    const double took = lead(control, channel, size, look);
    each = std::min(each, took / static_cast<double>(look));
    spent += took;
  }
  const long rounds = std::max(10L, static_cast<long>(target / each));
  std::array<double, kRepeats> us;
  for (double& value : us)
    value = lead(control, channel, size, rounds) / static_cast<double>(rounds) / 2 * 1e6;
  lead(control, channel, size, 20, true);
  std::sort(us.begin(), us.end());
  std::printf(
      "{\"bench\":\"%s\",\"size\":%zu,\"depth\":1,\"ranks\":2,\"median\":%.6g,\"min\":%.6g,", layer,
      size, us[kRepeats / 2], us[0]);
  std::printf("\"p25\":%.6g,\"p75\":%.6g,\"repeats\":%d,\"unit\":\"us\",\"units\":%ld}\n",
              us[kRepeats / 4], us[kRepeats - 1 - kRepeats / 4], kRepeats, rounds);
}

// Returns the first two cores that this process may use; the same one twice if there is only one.
std::array<int, 2> cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::array<int, 2> found{0, 0};
  int count = 0;
  for (int core = 0; core < CPU_SETSIZE && count < 2; ++core)
    if (CPU_ISSET(core, &allowed)) found[static_cast<std::size_t>(count++)] = core;
  if (count == 1) found[1] = found[0];
  return found;
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) fail("cannot pin to a core");
}

// Runs make(side) and the measurements of one layer in two processes.
template <class Make>
void layer(Control& control, std::array<int, 2> places, const char* name, double seconds,
           Make make) {
  std::snprintf(where.data(), where.size(), "%s", name);
  std::fflush(stdout);
  const int seen = control.batch.load(std::memory_order_relaxed);
  other_has_ended = 0;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("cannot fork");
  alarm(kLimit);
  const bool first = child != 0;
  if (!first) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
  }
  pin(places[first ? 0 : 1]);
  auto channel = make(first ? 0 : 1);
  if (!first) {
    follow(control, *channel, seen);
    _exit(0);
  }
  for (const std::size_t size : kSizes) measure(control, *channel, name, size, seconds);
  lead(control, *channel, 0, -1);
  while (!other_has_ended) usleep(1000);
}

void* shared(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no shared memory");
  return memory;
}

}  // namespace

int main(int argc, char** argv) {
  lfc::numbers_or_usage(argc, argv, 1, "layers [seconds per point=0.05]");
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.05;
  const std::array<int, 2> places = cores();  // before this process is pinned to one of them
  std::signal(SIGALRM, on_alarm);
  std::signal(SIGCHLD, on_child);
  auto* control = new (shared(sizeof(Control))) Control;
  const RingShape shape;
  auto* rings = static_cast<std::byte*>(shared(2 * shape.bytes()));
  layer(*control, places, "layer_ring", seconds, [&](int side) {
    std::byte* to = side == 0 ? rings : rings + shape.bytes();
    std::byte* from = side == 0 ? rings + shape.bytes() : rings;
    return std::make_unique<RingChannel>(to, from, shape);
  });
  layer(*control, places, "layer_ni", seconds,
        [&](int side) { return std::make_unique<NiChannel>(*control, side); });
  return 0;
}
