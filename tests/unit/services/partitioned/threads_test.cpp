// Many threads of two hosts at once: they make partitions ready, test those that have arrived, start epochs, and free
// requests that other threads have just used. The thread sanitizer checks it in lfc_unit_threads.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "deadline.hpp"
#include "services/partitioned/partitioned.hpp"
#include "unit/engine/ni_thread/world.hpp"

namespace lfc {
namespace {

using partitioned::Receiving;
using partitioned::Sending;
using partitioned::Status;
using thread_world::Station;

constexpr std::uint64_t kProducers = 4, kEach = 8, kPartitions = kProducers * kEach;
constexpr std::uint64_t kLookers = 2, kJoined = 4, kPlaces = kPartitions / kJoined;
constexpr int kRequests = 12, kEpochs = 4;

NiOptions with_threads() {
  NiOptions options = thread_world::short_delays();
  options.threads = true;
  return options;
}

std::byte value_of(int epoch, std::uint64_t partition) noexcept {
  return static_cast<std::byte>(static_cast<std::uint64_t>(epoch) * 31 + partition);
}

// One of the two processes. Its epochs are numbered over all its requests.
struct Side {
  static void done(void* owner, Status status, std::uint64_t) {
    Side& self = *static_cast<Side*>(owner);
    if (status != Status::ok) self.wrong = true;
    self.ended.fetch_add(1);
  }
  static void dropped(void* owner) { static_cast<Side*>(owner)->freed.fetch_add(1); }

  static constexpr partitioned::Host kHost{done, dropped};

  Side(std::uint32_t rank, const std::string& link, const std::string& policy, std::uint64_t size)
      : station(rank, link, policy, with_threads()), bytes(size) {}

  void release(partitioned::Request& request) {
    if (service.release(request)) freed.fetch_add(1);
  }
  void progress() {
    station.ni->progress();
    service.progress();
  }
  // False: something went wrong, or takes too long.
  template <class Condition>
  bool await(Condition condition) {
    Deadline deadline(std::chrono::seconds(60));
    while (!condition()) {
      if (deadline.is_over()) wrong = true;
      if (wrong) return false;
      std::this_thread::yield();
    }
    return true;
  }
  bool await_end(int epoch) {
    return await([&] {
      progress();
      return ended.load() >= epoch;
    });
  }

  Station station;
  std::vector<std::byte> bytes;
  Partitioned service{station.ni->services(), station.ni->remote(), kHost};
  std::atomic<int> opened = 0;  // the epoch in which the helpers may work
  std::atomic<int> ended = 0;
  std::atomic<int> looked = 0;  // by the receiver's helpers
  std::atomic<int> freed = 0;
  std::atomic<bool> wrong = false;
};

class Exchange {
 public:
  Exchange(const std::string& link, const std::string& policy, std::uint64_t each)
      : each_(each),
        sender_(0, link, policy, kPartitions * each),
        receiver_(1, link, policy, kPartitions * each) {
    to_ = {sender_.station.meet(receiver_.station), 3, 4};
    from_ = {receiver_.station.meet(sender_.station), 3, 4};
  }

  // Returns whether all bytes have come and all requests are freed.
  bool run() {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < kProducers; ++i) threads.emplace_back([this, i] { produce(i); });
    for (std::uint64_t i = 0; i < kLookers; ++i) threads.emplace_back([this, i] { look(i); });
    threads.emplace_back([this] { receive(); });
    send();
    // The receiver may still need this side's progress.
    (void)sender_.await([this] {
      sender_.progress();
      const bool received = receiver_.freed.load() == kRequests || receiver_.wrong;
      return received && sender_.freed.load() == kRequests;
    });
    for (std::thread& thread : threads) thread.join();
    return !sender_.wrong && !receiver_.wrong;
  }

 private:
  // Frees a request as soon as it has ended, when other threads may still be in ready().
  void send() {
    int epoch = 0;
    for (int request = 0; request < kRequests; ++request) {
      sending_ = &sender_.service.offer(to_, &sender_, sender_.bytes.data(), kPartitions, each_);
      for (int i = 0; i < kEpochs; ++i) {
        sender_.service.start(*sending_);
        sender_.opened = ++epoch;
        if (!sender_.await_end(epoch)) return;
      }
      sender_.release(*sending_);
    }
  }

  void produce(std::uint64_t slot) {
    for (int epoch = 1; epoch <= kRequests * kEpochs; ++epoch) {
      if (!sender_.await([&] { return sender_.opened.load() >= epoch; })) return;
      Sending& send = *sending_;
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::uint64_t which = (i * 3 + slot) % kEach * kProducers + slot;
        std::fill_n(sender_.bytes.begin() + static_cast<std::ptrdiff_t>(which * each_), each_,
                    value_of(epoch, which));
        if (!sender_.service.ready(send, which, which)) sender_.wrong = true;
      }
    }
  }

  void receive() {
    int epoch = 0;
    for (int request = 0; request < kRequests; ++request) {
      receiving_ = &receiver_.service.expect(from_, &receiver_, receiver_.bytes.data(), kPlaces,
                                             kJoined * each_);
      for (int i = 0; i < kEpochs; ++i) {
        receiver_.service.start(*receiving_);
        receiver_.opened = ++epoch;
        if (!receiver_.await_end(epoch)) return;
        const int all = epoch * static_cast<int>(kLookers);
        if (!receiver_.await([&] { return receiver_.looked.load() == all; })) return;
      }
      receiver_.release(*receiving_);
    }
    (void)receiver_.await([this] {
      receiver_.progress();
      return receiver_.freed.load() == kRequests;
    });
  }

  void look(std::uint64_t slot) {
    for (int epoch = 1; epoch <= kRequests * kEpochs; ++epoch) {
      if (!receiver_.await([&] { return receiver_.opened.load() >= epoch; })) return;
      for (std::uint64_t place = slot; place < kPlaces; place += kLookers) {
        const bool came = receiver_.await([&] {
          return receiver_.service.arrived(*receiving_, place, place) ||
                 receiver_.ended.load() >= epoch;
        });
        if (!came) return;
        for (std::uint64_t i = place * kJoined * each_; i < (place + 1) * kJoined * each_; ++i)
          if (receiver_.bytes[i] != value_of(epoch, i / each_)) receiver_.wrong = true;
      }
      receiver_.looked.fetch_add(1);
    }
  }

  const std::uint64_t each_;
  Side sender_, receiver_;
  partitioned::Key to_, from_;
  Sending* sending_ = nullptr;
  Receiving* receiving_ = nullptr;
};

}  // namespace

TEST_CASE("threads make partitions ready, test them and free requests at the same time",
          "[partitioned][threads]") {
  const std::string link = GENERATE("shm", "tcp");
  const std::string policy = GENERATE("single", "floating");
  // Frames of several partitions; and where the link can do that, writes to the receiver's memory.
  const std::uint64_t each = GENERATE(24, 3000);
  CAPTURE(link, policy, each);
  Exchange exchange(link, policy, each);
  CHECK(exchange.run());
}

}  // namespace lfc
