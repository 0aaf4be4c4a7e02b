// The shared-memory link and the loopback link: connections, deaths, places, single copy.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "descriptors.hpp"
#include "link/loop/loop_link.hpp"
#include "link/shm/segment.hpp"
#include "link/shm/shm_link.hpp"

namespace {

using namespace lfc;
using std::chrono::seconds;
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

// A process's end: a link, its sink and its address. Several may live in one process.
struct End {
  explicit End(std::uint32_t rank, const ShmOptions& options = {}) : identity{{1, rank}, 99, 8} {
    std::string why;
    link = make_shm_link(options, sink, why);
    INFO(why);
    REQUIRE(link != nullptr);
    AddressWriter writer(identity);
    link->publish(writer);
    blob = std::move(writer).finish();
    link->set_own_address(without_key(blob));
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
  // Polls until `ready` or twenty seconds have passed.
  bool poll_until(const std::function<bool()>& ready) {
    for (const auto deadline = steady_clock::now() + seconds(20); !ready();) {
      if (link->poll() == 0) std::this_thread::yield();
      if (steady_clock::now() > deadline) return false;
    }
    return true;
  }

  Identity identity;
  Recorder sink;
  std::vector<std::byte> blob;
  std::unique_ptr<Link> link;
};

std::string text_of(const Recorder::Frame& frame) {
  return {reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()};
}

// Another process, which runs `body` and must answer true. It never outlives the test for long.
class Child {
 public:
  explicit Child(const std::function<bool()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    alarm(60);
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
  // Waits for the end; true when the body answered true.
  bool finished() {
    if (status_ < 0) waitpid(pid_, &status_, 0);
    return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
  }

 private:
  pid_t pid_;
  int status_ = -1;
};

// Memory that parent and children share, for what the tests themselves agree on.
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
    for (const auto deadline = steady_clock::now() + seconds(20); step.load() < value;) {
      if (steady_clock::now() > deadline) return false;
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

SegmentName name_in(const Address& address) {
  SegmentName name;
  std::memcpy(&name, address.section("shm").data(), sizeof name);
  return name;
}

// The same address with another segment name.
Address with_name(const Address& address, const SegmentName& name) {
  AddressWriter writer(address.identity());
  writer.add("shm", std::as_bytes(std::span(&name, 1)));
  return *Address::parse(std::move(writer).finish());
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("shm: frames of all sizes reach a peer, announced once", "[shm]") {
  End a(1), b(2);
  REQUIRE(a.connect(b));
  CHECK(a.connect(b));
  std::vector<std::string> sent;
  for (std::size_t size : {0, 1, 8, 631, 632, 633, 1000, 4096, 32768}) {
    sent.emplace_back(size, static_cast<char>('a' + sent.size()));
    REQUIRE(a.send(2, sent.back()) == SendStatus::sent);
  }
  REQUIRE(b.poll_until([&] { return b.sink.frames.size() == sent.size(); }));
  CHECK(b.sink.connects == std::vector<PeerId>{1});
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CHECK(b.sink.frames[i].peer == 1);
    CHECK(b.sink.frames[i].meta.tag == 3);
    CHECK(b.sink.frames[i].meta.credits == 1);
    CHECK(text_of(b.sink.frames[i]) == sent[i]);
  }
  CHECK(a.link->poll() == 0);
  CHECK(b.link->poll() == 0);
  CHECK(a.send(7, "nobody") == SendStatus::broken);
}

TEST_CASE("shm: two processes exchange frames both ways under load", "[shm][process]") {
  SharedBoard board;
  constexpr std::uint32_t kFrames = 30'000;
  // Each answers every frame with the next number, and floods besides.
  const auto play = [](End& end, PeerId other) {
    std::uint32_t next = 0;
    std::vector<std::uint32_t> words(2048);
    return end.poll_until([&] {
      if (next < kFrames) {
        const std::size_t size = next % 16 == 0 ? words.size() : 1 + next % 60;
        words[0] = words[size - 1] = next;
        if (end.send(other, words.data(), size * sizeof words[0]) == SendStatus::sent) ++next;
      }
      return next == kFrames && end.sink.frames.size() == kFrames;
    });
  };
  const auto in_order = [](const End& end) {
    if (end.sink.frames.size() != kFrames) return false;
    for (std::uint32_t i = 0; i < kFrames; ++i) {
      const auto& payload = end.sink.frames[i].payload;
      std::uint32_t first = 0, last = 0;
      std::memcpy(&first, payload.data(), sizeof first);
      std::memcpy(&last, payload.data() + payload.size() - sizeof last, sizeof last);
      if (first != i || last != i) return false;
    }
    return true;
  };
  End a(1);
  Child child([&] {
    End b(2);
    std::string why;
    if (!b.link->connect(1, a.address(), why)) return false;
    board->post(b.blob);
    board->step = 1;
    return play(b, 1) && in_order(b) && board->wait_for(2);
  });
  REQUIRE(board->wait_for(1));
  std::string why;
  REQUIRE(a.link->connect(2, board->address(), why));
  CHECK(play(a, 2));
  CHECK(in_order(a));
  board->step = 2;
  CHECK(child.finished());
}

TEST_CASE("shm: one poll is bounded and fair among senders", "[shm]") {
  End receiver(0);
  std::vector<std::unique_ptr<End>> senders;
  for (std::uint32_t rank = 1; rank <= 6; ++rank) {
    senders.push_back(std::make_unique<End>(rank));
    REQUIRE(senders.back()->connect(receiver));
    for (int i = 0; i < 40; ++i) REQUIRE(senders.back()->send(0, "x") == SendStatus::sent);
  }
  CHECK(receiver.link->poll() == 64);
  for (int i = 0; i < 2; ++i) receiver.link->poll();
  std::vector<int> heard(7);
  for (const auto& frame : receiver.sink.frames) ++heard[frame.peer];
  for (std::uint32_t rank = 1; rank <= 6; ++rank) CHECK(heard[rank] >= 16);
}

TEST_CASE("shm: a full ring refuses data, keeps room for control, and recovers", "[shm]") {
  End a(1), b(2);
  REQUIRE(a.connect(b));
  int sent = 0;
  while (a.send(2, "data") == SendStatus::sent) ++sent;
  CHECK(sent == 56);
  for (int i = 0; i < 8; ++i) CHECK(a.send(2, "c", 1, FrameType::credit) == SendStatus::sent);
  REQUIRE(b.poll_until([&] { return b.sink.frames.size() == 64; }));
  CHECK(a.send(2, "data") == SendStatus::sent);
}

TEST_CASE("shm: reach and connect say why not", "[shm]") {
  End a(1), b(2);
  std::string why;
  const Address nowhere = *Address::parse(AddressWriter({{1, 5}, 1, 8}).finish());
  CHECK_FALSE(a.link->reach(nowhere, why));
  CHECK(why == "peer has no shared-memory segment");

  const SegmentName good = name_in(b.address());
  const auto refused = [&](auto change, bool reachable) {
    SegmentName name = good;
    change(name);
    why.clear();
    const Address changed = with_name(b.address(), name);
    CHECK(a.link->reach(changed, why) == reachable);
    why.clear();
    CHECK_FALSE(a.link->connect(2, changed, why));
    CHECK_FALSE(why.empty());
    return why;
  };
  CHECK(refused([](SegmentName& name) { ++name.space.boot; }, false) == "on another host");
  const auto far_away = [](SegmentName& name) {
    ++name.space.pid_namespace;
    ++name.space.net_namespace;
  };
  CHECK(refused(far_away, false).find("in another pid namespace") == 0);
  CHECK(refused([](SegmentName& name) { ++name.space.user; }, false).find("user") !=
        std::string::npos);
  CHECK(refused([](SegmentName& name) { ++name.version; }, false) == "speaks another version");
  CHECK(refused([](SegmentName& name) { ++name.memory.cookie[1]; }, true).find("cookie") !=
        std::string::npos);
  CHECK(refused([](SegmentName& name) { name.memory.fd = 0; }, true).find("segment") !=
        std::string::npos);
  CHECK(refused([](SegmentName& name) { name.memory.fd = 9999; }, true).find("No such file") !=
        std::string::npos);
  CHECK(
      refused([](SegmentName& name) { name.memory.pid = 0x7ffffff0; }, true).find("No such file") !=
      std::string::npos);
  CHECK(a.connect(b));
}

TEST_CASE("shm: options out of range are refused with words", "[shm]") {
  Recorder sink;
  for (const ShmOptions& options :
       {ShmOptions{{63, 1 << 18, 1 << 15}}, ShmOptions{{64, 1 << 18, 1 << 17}}, ShmOptions{{}, 0},
        ShmOptions{{}, 1 << 20}}) {
    std::string why;
    CHECK(make_shm_link(options, sink, why) == nullptr);
    CHECK_FALSE(why.empty());
  }
}

TEST_CASE("shm: rings of different shapes; frames that are too large are known at connect",
          "[shm]") {
  End large(1, ShmOptions{{64, 1 << 18, 1 << 15}}), small(2, ShmOptions{{16, 1 << 14, 1 << 12}});
  std::string why;
  CHECK_FALSE(large.connect(small, &why));
  CHECK(why == "peer takes frames of at most 4096 bytes");
  REQUIRE(small.connect(large));
  CHECK(small.send(1, std::string(4096, 'x')) == SendStatus::sent);
  CHECK(large.poll_until([&] { return large.sink.frames.size() == 1; }));
}

TEST_CASE("shm: when all places are taken connect fails, and works again after a close", "[shm]") {
  ShmOptions two;
  two.places = 2;
  End receiver(0, two);
  End a(1), b(2), c(3);
  REQUIRE(a.connect(receiver));
  REQUIRE(b.connect(receiver));
  std::string why;
  CHECK_FALSE(c.connect(receiver, &why));
  CHECK(why == "all 2 ring places of the peer are taken");

  // What was sent before the close is still delivered, then the place is free and clean.
  for (int round = 0; round < 50; ++round) {
    const auto before = receiver.sink.frames.size();
    for (int i = 0; i < 10; ++i) REQUIRE(a.send(0, std::string(700, 'r')) == SendStatus::sent);
    a.link->close(0);
    CHECK(a.send(0, "closed") == SendStatus::broken);
    REQUIRE(receiver.poll_until([&] { return receiver.sink.frames.size() == before + 10; }));
    for (int i = 0; i < 4; ++i) receiver.link->poll();
    REQUIRE(c.connect(receiver));
    REQUIRE(c.send(0, "hello") == SendStatus::sent);
    REQUIRE(receiver.poll_until([&] { return text_of(receiver.sink.frames.back()) == "hello"; }));
    c.link->close(0);
    for (int i = 0; i < 4; ++i) receiver.link->poll();
    REQUIRE(a.connect(receiver));
  }
  CHECK(receiver.sink.broken.empty());
}

TEST_CASE("shm: a peer that closes and comes back at once keeps its order", "[shm]") {
  End a(1), b(2);
  int next = 0;
  for (int round = 0; round < 20; ++round) {
    REQUIRE(a.connect(b));
    if (round % 3 == 1) b.link->poll();
    for (int i = 0; i < 30; ++i) {
      REQUIRE(a.send(2, std::to_string(next++)) == SendStatus::sent);
      if (i == 20 && round % 3 == 2) b.link->poll();
    }
    a.link->close(2);
  }
  REQUIRE(b.poll_until([&] { return b.sink.frames.size() == static_cast<std::size_t>(next); }));
  for (int i = 0; i < next; ++i) REQUIRE(text_of(b.sink.frames[i]) == std::to_string(i));
  CHECK(b.sink.broken.empty());
}

TEST_CASE("shm: closing ends both directions; the other side learns when it sends", "[shm]") {
  End a(1), b(2);
  REQUIRE(a.connect(b));
  REQUIRE(b.connect(a));
  REQUIRE(b.send(1, "unheard") == SendStatus::sent);
  a.link->poll();
  REQUIRE(a.sink.frames.size() == 1);
  a.link->close(2);
  REQUIRE(b.send(1, "too late") == SendStatus::sent);
  CHECK(b.poll_until([&] { return b.send(1, "?") == SendStatus::broken; }));
  for (int i = 0; i < 10; ++i) a.link->poll();
  CHECK(a.sink.frames.size() == 1);
  // b had something to send: only now it hears of the loss, and once.
  CHECK(b.poll_until([&] { return !b.sink.broken.empty(); }));
  CHECK(b.poll_until([&, n = 0]() mutable { return ++n > 10'000; }));
  REQUIRE(b.sink.broken.size() == 1);
  CHECK(b.sink.broken[0].first == 1);
  std::string why;
  CHECK_FALSE(b.connect(a, &why));
  b.link->close(1);
  CHECK(b.connect(a));
}

TEST_CASE("shm: closing also ends a connection of the peer that has not been noticed yet",
          "[shm]") {
  End a(1), b(2), c(3);
  REQUIRE(a.connect(b));
  REQUIRE(b.connect(a));
  REQUIRE(c.connect(a));
  REQUIRE(b.send(1, "never seen") == SendStatus::sent);
  a.link->close(2);
  CHECK(b.poll_until([&] {
    a.link->poll();
    return b.send(1, "x") == SendStatus::broken;
  }));
  CHECK(a.sink.frames.empty());
  CHECK(a.sink.connects == std::vector<PeerId>{3});
}

TEST_CASE("shm: the sink may close the peer whose frame it is looking at", "[shm]") {
  End a(1), b(2);
  REQUIRE(a.connect(b));
  for (int i = 0; i < 10; ++i) REQUIRE(a.send(2, "x") == SendStatus::sent);
  b.sink.after_frame = [&] { b.link->close(1); };
  for (int i = 0; i < 10; ++i) b.link->poll();
  CHECK(b.sink.frames.size() == 1);
}

TEST_CASE("shm: an unwanted sender is refused and its place comes back", "[shm]") {
  ShmOptions one;
  one.places = 1;
  End a(1), b(2, one);
  b.sink.refuse = true;
  REQUIRE(a.connect(b));
  REQUIRE(a.send(2, "x") == SendStatus::sent);
  for (int i = 0; i < 10; ++i) b.link->poll();
  CHECK(b.sink.frames.empty());
  CHECK(b.sink.connects.size() == 1);
  CHECK(a.poll_until([&] { return a.send(2, "x") == SendStatus::broken; }));
  CHECK(a.poll_until([&] { return a.sink.broken.size() == 1; }));
  a.link->close(2);
  for (int i = 0; i < 10; ++i) b.link->poll();
  b.sink.refuse = false;
  CHECK(a.connect(b));
}

TEST_CASE("shm: a killed peer is reported once, after its last frames", "[shm][process]") {
  // Whether the survivor only receives, only sends, or both.
  const bool receives = GENERATE(true, false);
  const bool sends = GENERATE(true, false);
  if (!receives && !sends) return;
  SharedBoard board;
  End a(1);
  Child child([&] {
    End b(2);
    std::string why;
    if (receives) {
      if (!b.link->connect(1, a.address(), why)) return false;
      for (int i = 0; i < 30; ++i)
        if (b.send(1, "last words") != SendStatus::sent) return false;
    }
    board->post(b.blob);
    board->step = 1;
    pause();
    return false;
  });
  REQUIRE(board->wait_for(1));
  std::string why;
  if (sends) {
    REQUIRE(a.link->connect(2, board->address(), why));
    REQUIRE(a.send(2, "x") == SendStatus::sent);
  }
  // One poll: the connection is known, most of the frames are still in the ring.
  a.link->poll();
  child.kill();
  const auto start = steady_clock::now();
  REQUIRE(a.poll_until([&] { return !a.sink.broken.empty(); }));
  CHECK(steady_clock::now() - start < seconds(3));
  CHECK(a.sink.broken[0].first == 2);
  CHECK(a.sink.broken[0].second == "the peer died");
  CHECK(a.sink.frames.size() == (receives ? 30u : 0u));
  CHECK(a.send(2, "x") == SendStatus::broken);
  CHECK_FALSE(a.link->remote_memory(2));
  for (const auto end = steady_clock::now() + std::chrono::milliseconds(500);
       steady_clock::now() < end;)
    a.link->poll();
  CHECK(a.sink.broken.size() == 1);
  a.link->close(2);
  CHECK_FALSE(a.link->connect(2, board->address(), why));
}

TEST_CASE("shm: places of dead processes come back, whenever they died", "[shm][process]") {
  ShmOptions one;
  one.places = 1;
  End a(1, one);
  const SegmentName name = name_in(a.address());
  SECTION("with frames never read") {
    Child child([&] {
      End b(2);
      return b.connect(a) && b.send(1, "x") == SendStatus::sent && ::kill(getpid(), SIGKILL) == 0;
    });
    CHECK_FALSE(child.finished());
  }
  SECTION("with a place claimed, before it was ready") {
    // The claim as RemotePlace makes it, by a process that dies just then.
    const Child child([&] { return true; });
    const int fd = static_cast<int>(name.memory.fd);
    const std::uint64_t claim =
        Claim{PlaceState::claimed, static_cast<std::uint32_t>(child.pid())}.packed();
    REQUIRE(pwrite(fd, &claim, sizeof claim, sizeof(SegmentHead)) == sizeof claim);
  }
  End c(3);
  std::string why;
  CHECK_FALSE(c.connect(a, &why));
  CHECK(a.poll_until([&] { return c.connect(a); }));
}

TEST_CASE("shm: an orderly end of the other process is silent", "[shm][process]") {
  SharedBoard board;
  End a(1);
  Child child([&] {
    End b(2);
    std::string why;
    if (!b.link->connect(1, a.address(), why)) return false;
    for (int i = 0; i < 20; ++i)
      if (b.send(1, "x") != SendStatus::sent) return false;
    board->post(b.blob);
    board->step = 1;
    return board->wait_for(2);
  });
  REQUIRE(board->wait_for(1));
  std::string why;
  REQUIRE(a.link->connect(2, board->address(), why));
  REQUIRE(a.send(2, "x") == SendStatus::sent);
  board->step = 2;
  REQUIRE(child.finished());
  REQUIRE(a.poll_until([&] { return a.sink.frames.size() == 20; }));
  for (const auto end = steady_clock::now() + std::chrono::milliseconds(500);
       steady_clock::now() < end;)
    a.link->poll();
  CHECK(a.sink.broken.empty());
}

TEST_CASE("shm: a peer that writes nonsense into its ring is cut off", "[shm]") {
  End a(1), b(2);
  const std::vector<std::byte> own = a.blob;
  std::string why;
  std::optional<RemotePlace> place = RemotePlace::claim(name_in(b.address()), 0, own, why);
  REQUIRE(place);
  auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(place->ring() + kRingHead);
  word = RingWord::pack(0, {static_cast<FrameType>(77), 0, 0}, 5);
  REQUIRE(b.poll_until([&] { return !b.sink.broken.empty(); }));
  CHECK(b.sink.broken.size() == 1);
  CHECK(b.sink.frames.empty());
  CHECK(place->abandoned());
}

TEST_CASE("shm: nonsense in a claimed place is refused without asking the sink", "[shm]") {
  End a(1), b(2);
  std::string why;
  std::vector<std::byte> noise(200, std::byte{0x5a});
  const auto garbage = RemotePlace::claim(name_in(b.address()), 0, noise, why);
  const auto empty = RemotePlace::claim(name_in(b.address()), 0, {}, why);
  // An address of somebody else: the pid is not the claimant's.
  SegmentName other = name_in(a.address());
  other.memory.pid = 1;
  const Address stranger = with_name(a.address(), other);
  const auto impostor = RemotePlace::claim(name_in(b.address()), 0, stranger.bytes(), why);
  REQUIRE((garbage && empty && impostor));
  for (int i = 0; i < 10; ++i) b.link->poll();
  CHECK(b.sink.connects.empty());
  CHECK((garbage->abandoned() && empty->abandoned() && impostor->abandoned()));
  CHECK(a.connect(b));
}

TEST_CASE("shm: who has no descriptor to wake the owner with does not connect", "[shm]") {
  ShmOptions options;
  options.bell = true;
  End b(1, options);
  const End a(2);
  for (int descriptors = 0; descriptors <= 2; ++descriptors) {
    std::string why;
    const std::optional<RemotePlace> place = [&] {
      AllDescriptors taken;
      for (int i = 0; i < descriptors; ++i) taken.give_back();
      return RemotePlace::claim(name_in(b.address()), 0, a.blob, why);
    }();
    INFO(descriptors << " descriptors: " << why);
    CHECK(place.has_value() ==
          (descriptors > 0));  // one, first for the segment, then for the socket
    if (place) CHECK(place->cord() != nullptr);
  }
}

TEST_CASE("shm: a peer that talks and is talked to costs one descriptor", "[shm][process]") {
  ShmOptions options;
  options.bell = true;
  SharedBoard mine, theirs[3];
  End own(0, options);
  mine->post(own.blob);
  const std::size_t files = open_files();
  std::vector<std::unique_ptr<Child>> children;
  for (SharedBoard& board : theirs) {
    const auto rank = static_cast<std::uint32_t>(&board - theirs + 1);
    children.push_back(std::make_unique<Child>([&] {
      End end(rank, options);
      std::string why;
      if (!end.link->connect(0, mine->address(), why) || end.send(0, "x") != SendStatus::sent)
        return false;
      board->post(end.blob);
      board->step = 1;
      return end.poll_until([&] { return !end.sink.frames.empty(); }) && board->wait_for(2);
    }));
  }
  std::string why;
  for (SharedBoard& board : theirs) {
    const auto rank = static_cast<PeerId>(&board - theirs + 1);
    REQUIRE(board->wait_for(1));
    REQUIRE(own.link->connect(rank, board->address(), why));
    REQUIRE(own.send(rank, "y") == SendStatus::sent);
  }
  REQUIRE(own.poll_until([&] { return own.sink.frames.size() == 3; }));
  // And one to wake them all with, and the next such one.
  CHECK(open_files() == files + 3 + 2);
  for (SharedBoard& board : theirs) board->step = 2;
  for (const auto& child : children) CHECK(child->finished());
}

TEST_CASE("shm: nothing is left behind, not in /dev/shm and no open files", "[shm]") {
  const auto entries = [] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      names.push_back(entry.path());
    return names;
  };
  const auto before = entries();
  const std::size_t files = open_files();
  {
    End a(1), b(2);
    REQUIRE(a.connect(b));
    REQUIRE(b.connect(a));
    REQUIRE(a.send(2, "x") == SendStatus::sent);
    b.link->poll();
    CHECK(entries() == before);
  }
  CHECK(open_files() == files);
}

TEST_CASE("shm: remote memory in one copy", "[shm][process]") {
  SharedBoard board;
  constexpr std::size_t kSize = 3 << 20;
  std::vector<char> target(kSize, 'o');
  Child child([&] {
    // The parent reads and writes this process's copy of `target`.
    End b(2);
    board->post(b.blob);
    board->step = 1;
    if (!board->wait_for(2)) return false;
    return target == std::vector<char>(kSize, 'n');
  });
  REQUIRE(board->wait_for(1));
  const bool wanted = GENERATE(true, false);
  ShmOptions options;
  options.cma = wanted;
  End a(1, options);
  std::string why;
  CHECK_FALSE(a.link->remote_memory(2));
  REQUIRE(a.link->connect(2, board->address(), why));
  CHECK(a.link->remote_memory(2) == wanted);

  LinkRegion remote, local;
  REQUIRE(a.link->register_memory(target.data(), target.size(), remote));
  CHECK(remote.base == reinterpret_cast<std::uintptr_t>(target.data()));
  std::vector<char> buffer(kSize, 'n');
  const auto expected = wanted ? Link::Start::done : Link::Start::failed;
  CHECK(a.link->put(2, buffer.data(), local, remote.base, remote, kSize, nullptr) == expected);
  std::fill(buffer.begin(), buffer.end(), '?');
  CHECK(a.link->get(2, buffer.data(), local, remote.base, remote, kSize, nullptr) == expected);
  CHECK(buffer == std::vector<char>(kSize, wanted ? 'n' : '?'));
  // Outside what is mapped there, wholly and in part.
  CHECK(a.link->get(2, buffer.data(), local, 16, remote, 8, nullptr) == Link::Start::failed);
  const auto near_end = ~std::uint64_t{0} - 4096;
  CHECK(a.link->put(2, buffer.data(), local, near_end, remote, 64, nullptr) == Link::Start::failed);
  board->step = 2;
  CHECK(child.finished() == wanted);
}

TEST_CASE("shm: the user is told once when single copy is refused", "[shm]") {
  static std::vector<std::string> lines;
  lines.clear();
  ShmOptions options;
  options.notice = [](std::string_view line) { lines.emplace_back(line); };
  End a(1, options), b(2), c(3);
  for (const End* end : {&b, &c}) {
    SegmentName name = name_in(end->address());
    name.probe = 8;  // not mapped
    std::string why;
    REQUIRE(a.link->connect(end->identity.name.rank, with_name(end->address(), name), why));
    CHECK_FALSE(a.link->remote_memory(end->identity.name.rank));
  }
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("Bad address") != std::string::npos);
}

TEST_CASE("loop: frames to oneself wait for poll, in order; memory is moved", "[loop]") {
  const Identity self{{1, 4}, 77, 8};
  Recorder sink;
  std::string why;
  std::unique_ptr<Link> link = make_loop_link({}, self, sink, why);
  REQUIRE(link != nullptr);
  const Address own = *Address::parse(AddressWriter(self).finish());
  const Address other = *Address::parse(AddressWriter({{1, 4}, 78, 8}).finish());
  CHECK(link->reach(own, why));
  CHECK_FALSE(link->reach(other, why));
  CHECK_FALSE(link->connect(4, other, why));

  const std::string large(20'000, 'l');
  const Slice slices[] = {{"head", 4}, {large.data(), large.size()}};
  CHECK(link->send(4, {FrameType::message, 1, 0}, slices, 2) == SendStatus::broken);
  REQUIRE(link->connect(4, own, why));
  CHECK(link->send(4, {FrameType::message, 1, 0}, slices, 1) == SendStatus::sent);
  CHECK(link->send(4, {FrameType::message, 1, 0}, slices, 2) == SendStatus::sent);
  CHECK(sink.frames.empty());
  // A frame sent from inside the sink is delivered later, not nested.
  int echoes = 0;
  sink.after_frame = [&] {
    if (++echoes == 1) link->send(4, {FrameType::message, 2, 0}, slices, 1);
    CHECK(sink.frames.size() == static_cast<std::size_t>(echoes));
  };
  CHECK(link->poll() == 3);
  CHECK(sink.connects == std::vector<PeerId>{4});
  REQUIRE(sink.frames.size() == 3);
  CHECK(text_of(sink.frames[0]) == "head");
  CHECK(text_of(sink.frames[1]) == "head" + large);
  CHECK(sink.frames[2].meta.tag == 2);

  std::string memory = "0123456789";
  LinkRegion region;
  REQUIRE(link->register_memory(memory.data(), memory.size(), region));
  REQUIRE(link->remote_memory(4));
  CHECK(link->put(4, memory.data(), region, region.base + 2, region, 6, nullptr) ==
        Link::Start::done);
  CHECK(memory == "0101234589");
  std::string seen(3, ' ');
  CHECK(link->get(4, seen.data(), {}, region.base + 7, region, 3, nullptr) == Link::Start::done);
  CHECK(seen == "589");

  REQUIRE(link->send(4, {FrameType::message, 1, 0}, slices, 1) == SendStatus::sent);
  link->close(4);
  CHECK(link->send(4, {FrameType::message, 1, 0}, slices, 1) == SendStatus::broken);
  CHECK(link->poll() == 1);

  LoopOptions bad;
  bad.ring.slots = 3;
  CHECK(make_loop_link(bad, self, sink, why) == nullptr);
}
