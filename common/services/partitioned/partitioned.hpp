// Partitioned: the service that carries the frames of partitioned communication (protocol.hpp) between engines, and
// notifies the host of epochs that have ended.
//
//   Partitioned partitioned(ni.services(), ni.remote(), {done, dropped});       // one for each process
//   Sending& send = partitioned.offer(key, owner, data, partitions, bytes_of_each);
//   partitioned.start(send);
//   partitioned.ready(send, 3, 3);                      // done(owner, ...) follows, possibly from inside the call
//   partitioned.release(send);                          // also while it is active: dropped(owner) when it has ended
//
// Frames travel as FrameType::service: they take credits, and no buffer is held longer than on_frame() takes. At most
// one frame of data of each send waits for a credit, in the program's memory; the program's own requests bound the
// other frames.
// Threads: any. A thread of the host calls done() and dropped() without a lock: once for each epoch, and once for each
// request that was released while active. done() may start the request again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/host_call.hpp"
#include "engine/memory_port.hpp"
#include "services/partitioned/protocol/protocol.hpp"
#include "services/partitioned/protocol/ready_stack.hpp"

namespace lfc {

class Partitioned;

namespace partitioned {

struct Host {
  void (*done)(void* owner, Status status, std::uint64_t bytes);
  void (*dropped)(void* owner);
};

// Ended: an epoch that the host has still to be notified of.
struct Ended {
  Request* request;
  Status status;
  std::uint64_t bytes;
};

}  // namespace partitioned

class Partitioned final : private Service, private partitioned::Carrier {
 public:
  Partitioned(ServicePort& port, MemoryPort& memory, const partitioned::Host& host);
  ~Partitioned() override;
  Partitioned(const Partitioned&) = delete;
  Partitioned& operator=(const Partitioned&) = delete;

  partitioned::Sending& offer(const partitioned::Key& key, void* owner, const std::byte* data,
                              std::uint64_t partitions, std::uint64_t each);
  partitioned::Receiving& expect(const partitioned::Key& key, void* owner, std::byte* place,
                                 std::uint64_t partitions, std::uint64_t each);
  void start(partitioned::Sending& send);
  void start(partitioned::Receiving& receive);
  // Marks partitions `first` to `last` ready. Waits for the engine's lock only with the last partition of an epoch.
  // False: they do not exist, or were ready before, or the send is not active.
  bool ready(partitioned::Sending& send, std::uint64_t first, std::uint64_t last);
  bool arrived(const partitioned::Receiving& receive, std::uint64_t first, std::uint64_t last);
  // Frees the request. True: it is freed. False: it is active, and dropped(owner) follows when it has ended.
  bool release(partitioned::Request& request);
  partitioned::Totals totals();
  // Sends partitions that became ready while another thread was in the engine. The host must call it regularly.
  void progress();

 private:
  // Service
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  void on_left(PeerId peer, std::uint64_t note, Result result) override;
  void on_lost(PeerId peer) override;
  bool work() override;
  // Carrier
  void control(PeerId to, const partitioned::Head& head, const void* payload,
               std::size_t size) override;
  bool data(partitioned::Sending& of, const partitioned::Head& head, const void* bytes,
            std::size_t size) override;
  std::size_t room() const override {
    return (port_.max_payload() - sizeof(partitioned::Head)) & ~std::size_t{7};
  }
  void wake() override { port_.wake(ServiceId::partitioned); }
  bool is_lost(PeerId peer) const override { return port_.is_lost(peer); }
  bool write(partitioned::Sending& of, const partitioned::Bytes& bytes) override;
  void ended(partitioned::Request& request, partitioned::Status status,
             std::uint64_t bytes) override;

  void call_back();

  ServicePort& port_;
  MemoryPort& memory_;
  const partitioned::Host host_;
  partitioned::Protocol protocol_{*this};
  std::vector<partitioned::Ended> ended_;
  partitioned::ReadyStack stacked_;
  HostCall host_call_;
};

}  // namespace lfc
