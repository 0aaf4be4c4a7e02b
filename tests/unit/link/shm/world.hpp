// Ends of the link shm, several in one process, and forked processes.
//
//   End a(1), b(2);
//   REQUIRE(a.connect(b));
//   a.send(2, "hello", 5);
//   CHECK(text_of(b.sink.frames.at(0)) == "hello");      // after b.link->poll()
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "deadline.hpp"
#include "link/shm/segment.hpp"
#include "link/shm/shm_link.hpp"
#include "published.hpp"

namespace lfc::shm_world {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// Records what a link delivers; a peer's index is its rank.
struct Recorder : FrameSink {
  struct Frame {
    PeerId peer;
    Meta meta;
    std::vector<std::byte> payload;
  };
  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override {
    frames.push_back({peer, meta, {payload.begin(), payload.end()}});
    if (after_frame) after_frame();
  }
  PeerId on_connect(Link&, const Address& from) override {
    connects.push_back(from.identity().name.rank);
    return refuse ? kNoPeer : connects.back();
  }
  void on_broken(PeerId peer, Link&, std::string_view why) override {
    broken.emplace_back(peer, std::string(why));
  }

  std::vector<Frame> frames;
  std::vector<PeerId> connects;
  std::vector<std::pair<PeerId, std::string>> broken;
  std::function<void()> after_frame;
  bool refuse = false;
};

// One end: a link, its sink and its address. One process may have several.
struct End {
  explicit End(std::uint32_t rank, const ShmOptions& options = {}) : identity{{1, rank}, 99, 8} {
    std::string why;
    link = make_shm_link(options, sink, why);
    INFO(why);
    REQUIRE(link != nullptr);
    blob = publish(*link, identity);
  }
  Address address() const { return *Address::parse(blob); }
  bool connect(const End& to, std::string* why = nullptr) {
    std::string reason;
    const bool done = link->connect(to.identity.name.rank, to.address(), reason);
    if (why != nullptr) *why = reason;
    return done;
  }
  SendStatus send(PeerId to, const void* data, std::size_t size,
                  FrameType type = FrameType::message) {
    const Slice slice{data, size};
    return link->send(to, {type, 3, 1}, &slice, 1);
  }
  SendStatus send(PeerId to, const std::string& text) { return send(to, text.data(), text.size()); }
  // Polls until `ready` returns true. False: two minutes have passed.
  bool poll_until(const std::function<bool()>& ready) {
    for (Deadline deadline(120s); !ready();) {
      if (link->poll() == 0) std::this_thread::yield();
      if (deadline.is_over()) return false;
    }
    return true;
  }

  Identity identity;
  Recorder sink;
  std::vector<std::byte> blob;
  std::unique_ptr<Link> link;
};

inline std::string text_of(const Recorder::Frame& frame) {
  return {reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()};
}

// A forked process, which runs `body` and must return true. Its end follows the test's soon.
class Child {
 public:
  explicit Child(const std::function<bool()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    alarm(600);
    _exit(body() ? 0 : 1);
  }
  ~Child() {
    kill();
    finished();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void kill() const {
    if (status_ < 0) ::kill(pid_, SIGKILL);
  }
  // Waits for its end. True: the body returned true.
  bool finished() {
    if (status_ < 0) waitpid(pid_, &status_, 0);
    return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
  }

 private:
  pid_t pid_;
  int status_ = -1;
};

// Memory that parent and children share, for synchronisation in the tests.
struct Board {
  std::atomic<int> step;
  std::uint32_t size;
  std::byte blob[kMaxAddress];

  void post(const std::vector<std::byte>& bytes) {
    size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(blob, bytes.data(), bytes.size());
  }
  Address address() const { return *Address::parse({blob, size}); }
  bool wait_for(int value) const {
    for (Deadline deadline(120s); step.load() < value;) {
      if (deadline.is_over()) return false;
      usleep(100);
    }
    return true;
  }
};

struct SharedBoard {
  SharedBoard()
      : board(static_cast<Board*>(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedBoard() { munmap(board, sizeof(Board)); }
  Board* operator->() const { return board; }
  Board* board;
};

inline SegmentName name_in(const Address& address) {
  SegmentName name;
  std::memcpy(&name, address.section("shm").data(), sizeof name);
  return name;
}

// The same address with another segment name.
inline Address with_name(const Address& address, const SegmentName& name) {
  AddressWriter writer(address.identity());
  writer.add("shm", std::as_bytes(std::span(&name, 1)));
  return *Address::parse(std::move(writer).finish());
}

inline std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// Counts the mappings of shared memory of LFC.
inline std::size_t shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("/memfd:lfc-") != std::string::npos;
  return count;
}

}  // namespace lfc::shm_world
