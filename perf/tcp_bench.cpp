// Measures the tcp link between two pinned processes, in turn with the same exchange over a bare
// socket. The figures are half round trip of small and medium frames, and bandwidth of frames, puts
// and gets.
//
//   tcp_bench [repeats=5] [milliseconds per measurement=100] [namespace namespace subnet]
//
// Without namespaces both processes use the loopback. With them, the processes enter the two named
// network namespaces and use the interfaces that `subnet` selects there. Prints the median over
// the repeats, the best, and the link's median as a multiple of the bare socket's.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "link/tcp/tcp_link.hpp"
#include "numbers.hpp"

namespace {

using namespace lfc;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBuffer = 16 << 20;
constexpr std::size_t kDepth = 8;  // frames or operations kept under way for bandwidth

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "tcp_bench: %s\n", what.c_str());
  std::exit(1);
}

void must(bool ok, const char* what) {
  if (!ok) die(std::string(what) + ": " + std::strerror(errno));
}

// The two processes of the benchmark, and the pipe between them.
struct Side {
  bool first;
  int pipe;
  Interface interface;

  template <class T>
  T exchange(const T& mine) const {
    T theirs{};
    must(::write(pipe, &mine, sizeof mine) == sizeof mine, "write");
    must(::read(pipe, &theirs, sizeof theirs) == sizeof theirs, "read");
    return theirs;
  }
  void meet() const { exchange('.'); }
};

// --- A bare socket, polled ---

class Bare {
 public:
  explicit Bare(const Side& side) {
    sockaddr_storage name;
    socklen_t length = side.interface.address.to_sockaddr(0, name);
    fd_ = ::socket(side.interface.address.family, SOCK_STREAM, 0);
    auto* as_name = reinterpret_cast<sockaddr*>(&name);
    must(::bind(fd_, as_name, length) == 0, "bind");
    if (side.first) must(::listen(fd_, 1) == 0, "listen");
    length = sizeof name;
    must(::getsockname(fd_, as_name, &length) == 0, "getsockname");
    name = side.exchange(name);
    if (side.first) {
      const int listener = fd_;
      fd_ = ::accept(listener, nullptr, nullptr);
      ::close(listener);
    } else {
      must(::connect(fd_, as_name, length) == 0, "connect");
    }
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    must(::fcntl(fd_, F_SETFL, O_NONBLOCK) == 0, "fcntl");
  }
  ~Bare() { ::close(fd_); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void send(const std::byte* data, std::size_t size) const {
    move(size, [&](std::size_t at) { return ::send(fd_, data + at, size - at, MSG_NOSIGNAL); });
  }
  void receive(std::byte* data, std::size_t size) const {
    move(size, [&](std::size_t at) { return ::recv(fd_, data + at, size - at, 0); });
  }

 private:
  template <class Call>
  static void move(std::size_t size, Call call) {
    for (std::size_t at = 0; at < size;) {
      const ssize_t moved = call(at);
      if (moved > 0) at += static_cast<std::size_t>(moved);
      if (moved == 0 || (moved < 0 && errno != EAGAIN)) die("the bare connection broke");
    }
  }
  int fd_ = -1;
};

// --- The link ---

struct Counted : Operation {
  explicit Counted(std::size_t& finished_) : finished(&finished_) {
    done = [](Operation* self, Result result) {
      if (result != Result::ok) die("a put or get failed");
      ++*static_cast<Counted*>(self)->finished;
    };
  }
  std::size_t* finished;
};

class Cable final : FrameSink {
 public:
  explicit Cable(const Side& side) : side_(side) {
    TcpOptions options;
    options.interface = side.interface;
    const Identity identity{{1, side.first ? 0u : 1u}, 77, 8};
    std::string why;
    link_ = make_tcp_link(options, identity, *this, counters_, why);
    if (!link_) die(why);
    AddressWriter writer(identity);
    link_->publish(writer);
    const std::vector<std::byte> mine = std::move(writer).finish();
    link_->set_own_address(without_key(mine));
    struct Blob {
      std::size_t size;
      std::byte bytes[kMaxAddress];
    } blob{mine.size(), {}};
    std::copy(mine.begin(), mine.end(), blob.bytes);
    blob = side.exchange(blob);
    const auto peer = Address::parse({blob.bytes, blob.size});
    if (!peer || !link_->reach(*peer, why)) die(why);
    if (side.first && !link_->connect(0, *peer, why)) die(why);
    if (side.first) send(nullptr, 0);
    while (received_ == 0 && !side.first) link_->poll();
    received_ = 0;
  }

  // Sends the bytes in as many frames as they need.
  void send(const std::byte* data, std::size_t size) {
    for (std::size_t at = 0; at == 0 || at < size; at += limits::kTcpPayload) {
      const Slice slice{data + at, std::min(size - at, limits::kTcpPayload)};
      SendStatus status;
      while ((status = link_->send(0, {FrameType::message}, &slice, 1)) == SendStatus::again)
        link_->poll();
      if (status != SendStatus::sent) die("send failed");
    }
  }
  void receive(std::size_t size = 1) {
    const std::size_t frames = (size + limits::kTcpPayload - 1) / limits::kTcpPayload;
    while (received_ < frames) link_->poll();
    received_ -= frames;
  }
  LinkRegion remote(std::byte* memory) {
    LinkRegion region;
    link_->register_memory(memory, kBuffer, region);
    return side_.exchange(region);
  }
  // Keeps some operations of `size` bytes under way until `count` have finished.
  void transfer(bool is_put, std::byte* local, const LinkRegion& remote, std::size_t size,
                std::size_t count) {
    std::size_t finished = 0;
    std::vector<Counted> operations(kDepth, Counted(finished));
    std::size_t started = 0;
    while (finished < count) {
      if (started < count && started - finished < std::max<std::size_t>(1, kBuffer / size / 2) &&
          started - finished < kDepth) {
        Operation* operation = &operations[started % kDepth];
        const Link::Start start =
            is_put ? link_->put(0, local, {}, remote.base, remote, size, operation)
                   : link_->get(0, local, {}, remote.base, remote, size, operation);
        if (start == Link::Start::started) {
          ++started;
          continue;
        }
        if (start != Link::Start::again) die("put or get is not possible");
      }
      link_->poll();
    }
  }
  // Serves the other side until its last message arrives.
  void serve() { receive(); }
  void drain() {
    while (!link_->drained()) link_->poll();
  }

 private:
  void on_frame(PeerId, Meta, std::span<const std::byte>) override { ++received_; }
  PeerId on_connect(Link&, const Address&) override { return 0; }
  void on_broken(PeerId, Link&, std::string_view why) override { die(std::string(why)); }

  const Side& side_;
  Counters counters_;
  std::unique_ptr<Link> link_;
  std::size_t received_ = 0;
};

// --- Measuring ---

// Runs `round(count)` on both sides with a growing count until it takes long enough; returns
// microseconds per count.
double timed(const Side& side, std::chrono::milliseconds least,
             const std::function<void(std::size_t)>& round) {
  for (std::size_t count = 8;; count *= 2) {
    side.meet();
    const auto start = Clock::now();
    round(count);
    const auto took = Clock::now() - start;
    const bool enough = side.exchange(took >= least) || took >= least;
    if (enough || count > (1u << 24))
      return std::chrono::duration<double, std::micro>(took).count() / static_cast<double>(count);
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Row {
  std::string name;
  std::size_t size;
  bool bandwidth;
  std::function<void(std::size_t)> bare;
  std::function<void(std::size_t)> link;
};

void run(const Side& side, int repeats, std::chrono::milliseconds least) {
  std::vector<std::byte> memory(kBuffer, std::byte{1});
  std::vector<std::byte> target(kBuffer, std::byte{2});
  const Bare bare(side);
  Cable cable(side);
  const LinkRegion remote = cable.remote(target.data());
  std::byte* data = memory.data();

  std::vector<Row> rows;
  for (const std::size_t size : {8u, 1024u, 4096u, 16384u, 49152u, 65536u, 131072u, 262144u}) {
    rows.push_back({"half round trip", size, false,
                    [&, size](std::size_t count) {
                      for (std::size_t i = 0; i < count; ++i) {
                        if (side.first) bare.send(data, size);
                        bare.receive(target.data(), size);
                        if (!side.first) bare.send(data, size);
                      }
                    },
                    [&, size](std::size_t count) {
                      for (std::size_t i = 0; i < count; ++i) {
                        if (side.first) cable.send(data, size);
                        cable.receive(size);
                        if (!side.first) cable.send(data, size);
                      }
                    }});
  }
  const auto bare_stream = [&](std::size_t size) {
    return [&, size](std::size_t count) {
      if (side.first) {
        for (std::size_t i = 0; i < count; ++i) bare.send(data, size);
        bare.receive(target.data(), 1);
      } else {
        for (std::size_t i = 0; i < count; ++i) bare.receive(target.data(), size);
        bare.send(data, 1);
      }
    };
  };
  for (const std::size_t size : {8u, 4096u, 65536u, 262144u}) {
    rows.push_back(
        {"stream of frames", size, true, bare_stream(size), [&, size](std::size_t count) {
           if (side.first) {
             for (std::size_t i = 0; i < count; ++i) cable.send(data, size);
             cable.drain();
             cable.receive();
           } else {
             for (std::size_t i = 0; i < count; ++i) cable.receive(size);
             cable.send(data, 1);
             cable.drain();
           }
         }});
  }
  for (const std::size_t size : {std::size_t{65536}, std::size_t{1} << 20, kBuffer}) {
    for (const bool is_put : {true, false}) {
      rows.push_back({is_put ? "put" : "get", size, true, bare_stream(size),
                      [&, size, is_put](std::size_t count) {
                        if (side.first) {
                          cable.transfer(is_put, data, remote, size, count);
                          cable.send(data, 1);
                          cable.drain();
                        } else {
                          cable.serve();
                        }
                      }});
    }
  }

  if (side.first)
    std::printf("%-18s %9s  %21s  %21s  ratio\n", "", "bytes", "bare: median  best",
                "link: median  best");
  for (const Row& row : rows) {
    std::vector<double> results[2];
    for (int repeat = 0; repeat < repeats; ++repeat) {
      results[0].push_back(timed(side, least, row.bare));
      results[1].push_back(timed(side, least, row.link));
    }
    if (!side.first) continue;
    std::printf("%-18s %9zu", row.name.c_str(), row.size);
    for (auto& values : results) {
      const double best = *std::min_element(values.begin(), values.end());
      const auto shown = [&](double us) {
        return row.bandwidth ? static_cast<double>(row.size) / us : us / 2;
      };
      std::printf("  %8.2f %8.2f %s", shown(median(values)), shown(best),
                  row.bandwidth ? "MB/s" : "us  ");
    }
    const double ratio = median(results[1]) / median(results[0]);
    std::printf("  %5.2f\n", row.bandwidth ? 1 / ratio : ratio);
    std::fflush(stdout);
  }
}

void enter(const char* name) {
  const int fd = ::open((std::string("/run/netns/") + name).c_str(), O_RDONLY | O_CLOEXEC);
  must(fd >= 0 && ::setns(fd, CLONE_NEWNET) == 0, name);
  ::close(fd);
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) std::perror("sched_setaffinity");
}

}  // namespace

int main(int argc, char** argv) {
  lfc::numbers_or_usage(
      argc, argv, 2,
      "tcp_bench [repeats=5] [milliseconds per measurement=100] [namespace namespace subnet]");
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::chrono::milliseconds least(argc > 2 ? std::atoi(argv[2]) : 100);
  int pipes[2];
  must(::socketpair(AF_UNIX, SOCK_STREAM, 0, pipes) == 0, "socketpair");
  const pid_t child = ::fork();
  must(child >= 0, "fork");
  const bool first = child != 0;
  if (!first) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close(pipes[first ? 1 : 0]);
  pin(first ? 0 : 1);
  if (argc > 5) enter(argv[first ? 3 : 4]);
  std::vector<Interface> chosen;
  std::string problem;
  if (!select_interfaces(argc > 5 ? argv[5] : "lo", list_interfaces(), chosen, problem))
    die(problem);
  run({first, pipes[first ? 0 : 1], chosen[0]}, repeats, least);
  if (!first) return 0;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
