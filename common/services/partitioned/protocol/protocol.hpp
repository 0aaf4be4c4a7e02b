// Protocol: MPI's partitioned communication between two processes, without MPI, links or threads. Its requests are made
// once and started again and again; their parts become ready in any order.
//
//   Protocol protocol(carrier);
//   Sending& send = protocol.offer(key, owner, data, partitions, bytes_of_each);      // the sender, once
//   Receiving& receive = protocol.expect(key, owner, place, partitions, bytes);       // the receiver, once
//   protocol.start(send); protocol.start(receive);
//   protocol.ready(send, 3, 3, now);                                                  // in any order
//   if (protocol.arrived(receive, 0, 1)) use_them();
//   ... carrier.ended(receive, Status::ok, bytes) ...
//   protocol.drop(send);                                                              // when it is not active
//
// The k-th offer of a key is for the k-th receive of it. The sender of an epoch waits until the receiver has started
// it, or has room for it: `kEarly` bytes for each request. Small partitions that become ready within `kGather` of each
// other leave together: in the next pass of work(), or when enough of them, or the last one, are ready.
// README.md proves that no byte goes to the wrong epoch, and that no request waits for ever.
// *Held by* tests/unit/services/partitioned/protocol_test.cpp. Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/name_table.hpp"
#include "services/partitioned/protocol/frames.hpp"
#include "services/partitioned/protocol/pairing.hpp"
#include "services/partitioned/protocol/requests.hpp"

namespace lfc::partitioned {

class Carrier {
 public:
  virtual ~Carrier() = default;
  // Sends a frame that must go, now or later; the payload is copied.
  virtual void control(PeerId to, const Head& head, const void* payload, std::size_t size) = 0;
  // Sends a frame with the program's bytes. True: they may be reused. False: they are kept until Protocol::left().
  virtual bool data(Sending& of, const Head& head, const void* bytes, std::size_t size) = 0;
  // Returns the most bytes of a frame of data.
  virtual std::size_t room() const = 0;
  // Has Protocol::work() called soon.
  virtual void wake() = 0;
  virtual bool is_lost(PeerId peer) const = 0;
  // Writes these bytes of the send to the receive's memory, by its token. False: nothing was written.
  virtual bool write(Sending& of, const Bytes& bytes) = 0;
  // An epoch has ended, and the request is not active any more. `bytes`: of a receive, those that have come.
  virtual void ended(Request& request, Status status, std::uint64_t bytes) = 0;
};

struct Totals {
  std::uint64_t sends = 0, receives = 0;               // requests made
  std::uint64_t sent_epochs = 0, received_epochs = 0;  // that have ended well
  std::uint64_t frames = 0, bytes = 0;                 // of data, sent
  std::uint64_t early = 0;                             // frames that came before their epoch
  std::uint64_t direct_bytes = 0;  // written to the receive's memory; not in frames
};

class Protocol {
 public:
  explicit Protocol(Carrier& carrier, const Direct& direct = {}) noexcept
      : carrier_(carrier), direct_(direct) {}
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;

  Sending& offer(const Key& key, void* owner, const std::byte* data, std::uint64_t partitions,
                 std::uint64_t each);
  // `token`: enables the sender to write to all of the place; empty: it cannot.
  Receiving& expect(const Key& key, void* owner, std::byte* place, std::uint64_t partitions,
                    std::uint64_t each, std::span<const std::byte> token = {});
  // Only for a request that is not active.
  void start(Sending& send);
  void start(Receiving& receive);
  void drop(Sending& send);
  void drop(Receiving& receive);

  // Marks partitions `first` to `last` ready. False: they do not exist, or were ready before, or the send is not
  // active.
  bool ready(Sending& send, std::uint64_t first, std::uint64_t last, std::uint64_t now);
  // ready() in steps, of which the first two are functions of Sending for any thread: mark() and is_worth_it(). The
  // next send_ready() sends the marked partitions. It must follow at once if they complete the epoch or are worth it,
  // else soon: in work(), after postpone().
  void send_ready(Sending& send, std::uint64_t now);
  void postpone(Sending& send);
  // Whether these partitions, which must exist, have come in an epoch that has not ended.
  bool arrived(const Receiving& receive, std::uint64_t first, std::uint64_t last) const noexcept;

  // --- The carrier ---

  // False: the peer breaks the protocol.
  bool on_frame(PeerId peer, std::span<const std::byte> frame);
  void on_lost(PeerId peer);
  // The frame that the carrier kept of the send with this name has left.
  void left(std::uint64_t name);
  void work();

  const Totals& totals() const noexcept { return totals_; }

 private:
  void finish(Sending& send, Status status);
  void flush(Sending& send);
  void write(Sending& send, const Bytes& bytes);
  void pair(Receiving& receive, const Pairing::Offered& offer);
  void report_open(Receiving& receive);
  void take_early(Receiving& receive);
  // False: the peer breaks the protocol.
  bool keep_early(Receiving& receive, const Head& head, std::span<const std::byte> bytes);
  void finish_if_whole(Receiving& receive);
  bool on_offer(PeerId peer, std::span<const std::byte> payload);
  bool on_accept(PeerId peer, const Head& head, std::span<const std::byte> payload);
  bool on_open(PeerId peer, const Head& head);
  bool on_data(PeerId peer, const Head& head, std::span<const std::byte> bytes);
  bool on_placed(PeerId peer, const Head& head, std::span<const std::byte> payload);

  static constexpr unsigned kIndexBits = 28;  // of names

  Carrier& carrier_;
  const Direct direct_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Sending>> sends_;  // by name
  std::unordered_map<std::uint64_t, std::unique_ptr<Receiving>> receives_;
  NameTable<Sending, std::uint64_t> send_names_{kIndexBits};
  NameTable<Receiving, std::uint64_t> receive_names_{kIndexBits};
  Pairing pairing_;
  std::vector<Sending*> due_;
  Totals totals_;
};

}  // namespace lfc::partitioned
