// Partitioned: carries the frames of partitioned communication (protocol.hpp) between network interfaces, and tells the
// host what has ended.
//
//   Partitioned partitioned(ni, {done, dropped});             // one for each process
//   Sending& send = partitioned.offer(key, owner, data, partitions, bytes_of_each);
//   partitioned.start(send);
//   partitioned.ready(send, 3, 3);                            // done(owner, ...) follows, possibly from inside the call
//   partitioned.release(send);                                // also while it is active: dropped(owner) when it has ended
//
// Frames travel as FrameType::service: they take credits, and no buffer is held longer than on_frame() takes. At most one
// frame of data of each send waits for a credit, in the program's memory; what is sent besides is bounded by the program's
// own requests.
// Threads: any. done() and dropped() are called without a lock, by a thread of the host's, once for each epoch and once
// for each request that was released too early; done() may start the request anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/spares.hpp"
#include "engine/host_call.hpp"
#include "engine/ni.hpp"
#include "services/partitioned/protocol.hpp"
#include "services/partitioned/ready_stack.hpp"

namespace lfc {

namespace partitioned {

struct Host {
  void (*done)(void* owner, Status status, std::uint64_t bytes);
  void (*dropped)(void* owner);
};

// What the host has still to be told.
struct Ended {
  Request* request;
  Status status;
  std::uint64_t bytes;
};

}  // namespace partitioned

class Partitioned final : private Service, private partitioned::Carrier {
 public:
  Partitioned(std::shared_ptr<Ni> ni, const partitioned::Host& host);
  ~Partitioned() override;
  Partitioned(const Partitioned&) = delete;
  Partitioned& operator=(const Partitioned&) = delete;

  Ni& ni() noexcept { return *ni_; }
  partitioned::Sending& offer(const partitioned::Key& key, void* owner, const std::byte* data,
                              std::uint64_t partitions, std::uint64_t each);
  partitioned::Receiving& expect(const partitioned::Key& key, void* owner, std::byte* place,
                                 std::uint64_t partitions, std::uint64_t each);
  void start(partitioned::Sending& send);
  void start(partitioned::Receiving& receive);
  // Waits for nobody, but with the last partition of an epoch.
  bool ready(partitioned::Sending& send, std::uint64_t first, std::uint64_t last);
  bool arrived(const partitioned::Receiving& receive, std::uint64_t first, std::uint64_t last);
  // True: it is gone. False: dropped(owner) follows.
  bool release(partitioned::Request& request);
  partitioned::Totals totals();
  // To be called now and then: sends what became ready while somebody else was in the engine.
  void progress();

 private:
  struct Waiting : Message {
    Partitioned* service = nullptr;
    PeerId peer = kNoPeer;
    partitioned::Sending* send = nullptr;  // null: of no data
    partitioned::Head head;
    std::array<std::byte, sizeof(partitioned::Offer)> payload{};
  };
  // Service
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  void on_lost(PeerId peer) override;
  bool work() override;
  // Carrier
  void control(PeerId to, const partitioned::Head& head, const void* payload,
               std::size_t size) override;
  bool data(partitioned::Sending& of, const partitioned::Head& head, const void* bytes,
            std::size_t size) override;
  std::size_t room() const override { return room_; }
  void wake() override { ni_->services().wake(ServiceId::partitioned); }
  bool is_lost(PeerId peer) const override { return ni_->services().peer(peer).is_lost(); }
  void ended(partitioned::Request& request, partitioned::Status status,
             std::uint64_t bytes) override;

  template <class Call>
  bool inside(Call call);
  template <class Call>
  bool with_access(Call call);
  void post(std::unique_ptr<Waiting> waiting, std::size_t payload, const void* bytes);
  static void left(Message* message, Result result);
  bool send_marked(partitioned::Sending& send, partitioned::Protocol::Marked marked);
  void send_stacked();
  void call_back();

  const std::shared_ptr<Ni> ni_;
  const partitioned::Host host_;
  const std::size_t room_;  // bytes of data in a frame
  partitioned::Protocol protocol_{*this};
  std::vector<Waiting*> waiting_;
  Spares<Waiting> spares_;
  std::vector<partitioned::Sending*> left_;
  std::vector<PeerId> lost_;
  std::vector<partitioned::Ended> ended_;
  partitioned::ReadyStack stacked_;
  bool in_host_ = false;  // whoever has Access now calls back himself
  HostCall host_call_;
};

}  // namespace lfc
