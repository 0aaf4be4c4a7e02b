// The class behind make_tcp_link(). Its parts:
//   tcp_link.cpp     the Link interface: what the host's threads call
//   tcp_poll.cpp     poll(): which connections are looked at when, their ends and timeouts
//   tcp_hello.cpp    connections before they are established
//   tcp_silence.cpp  hosts that vanish
//   tcp_receive.cpp  what arrives on established ones
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "link/tcp/connection.hpp"
#include "link/tcp/endpoint.hpp"
#include "link/tcp/operations.hpp"
#include "link/tcp/pairs.hpp"
#include "link/tcp/tcp_link.hpp"
#include "link/tcp/timer.hpp"
#include "sync/send_lock.hpp"

namespace lfc::tcp {

class TcpLink final : public Link {
 public:
  TcpLink(const TcpOptions& options, const Identity& identity, FrameSink& sink, Counters& counters);
  ~TcpLink() override;
  bool open(std::string& why_not);

  std::size_t max_payload() const noexcept override { return limits::kTcpPayload; }
  void publish(AddressWriter& writer) const override;
  void set_own_address(std::span<const std::byte> address) override;

  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override;
  void close(PeerId peer) noexcept override;
  void abandon(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
  int poll() noexcept override;
  void push() noexcept override;
  std::chrono::nanoseconds kept_since() const noexcept override {
    return kept_since_.load(std::memory_order_relaxed);
  }
  void wait_fds(std::vector<int>& out) const override { out.push_back(epoll_.fd()); }
  Armed arm() noexcept override;
  void disarm() noexcept override;
  bool drained() const noexcept override;

  bool remote_memory(PeerId peer) const noexcept override;
  bool register_memory(void* data, std::size_t size, LinkRegion& out) override;
  void deregister_memory(LinkRegion& region) noexcept override;
  Start put(PeerId peer, const void* source, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;

 private:
  struct Slot {
    // crossed: the peer's connection takes precedence over ours and must come soon.
    enum class Status : std::uint8_t { none, live, crossed, closed, broken };
    Status status = Status::none;
    Connection* connection = nullptr;  // with `live`
    Clock::time_point deadline{};      // with `crossed`
  };

  // How this rail talks to a peer.
  struct Route {
    IpAddress from;
    Endpoint to;
    std::string link;  // the peer's, that listens there
    std::string why;
  };

  std::optional<Route> route_to(const Address& peer, std::string& why_not) const;

  // tcp_link.cpp; the lock is held
  Slot& slot(PeerId peer);
  Connection* established(PeerId peer) const noexcept;
  bool setting_up(PeerId peer) const noexcept;
  Connection& adopt(Socket socket, State state);
  void watch(Connection& connection, std::uint32_t events) noexcept;
  [[gnu::noinline]] SendStatus send_on(Connection& connection, Prefix prefix, const Slice* slices,
                                       int count, Outbox::Class what, bool more) noexcept;
  bool is_worth_keeping(Connection& connection, std::chrono::nanoseconds now) noexcept;
  SendStatus send_frame(Connection& connection, Prefix prefix, const Slice* slices, int count,
                        Outbox::Class what, bool more = false) noexcept;
  void sent_something(Connection& connection) noexcept;
  void fail(Connection& connection, int error) noexcept;
  Connection* release(PeerId peer) noexcept;
  Start may_start(PeerId peer, Connection*& connection) const noexcept;

  // tcp_poll.cpp
  int service(Connection& connection);
  int flush_unsent() noexcept;
  void begin_burst() noexcept {
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  bool flush(Connection& connection, int& events) noexcept;
  void push_kept(Connection& connection) noexcept;
  int poll_hot();
  int poll_cold();
  int attend();
  static bool has_deadline(const Connection& connection) noexcept;
  void note_deadlines() noexcept;
  int check_time(Clock::time_point now);
  void disarm_unlocked() noexcept;
  void watch_both(Connection& connection) noexcept;
  void promote(Connection& connection) noexcept;
  void demote(Connection& connection) noexcept;
  int drain(Connection& connection) noexcept;
  void bury() noexcept;
  // Ends a connection. With a reason its peer is broken, without one it has closed.
  void end(Connection& connection, std::string_view why);
  void end_with_errno(Connection& connection, int error);

  // tcp_silence.cpp
  int look_after_peers();

  // tcp_hello.cpp
  int accept_strangers();
  int make_room();
  void listen(bool on) noexcept;
  int finish_connect(Connection& connection);
  int await_ack(Connection& connection);
  int greet(Connection& connection);
  void believe(Connection& connection, std::span<const std::byte> hello);
  int admit(Connection& connection);
  void drop_stranger(Connection& connection) noexcept;
  Connection* find_other(const Connection& connection) noexcept;
  void establish(Connection& connection) noexcept;
  void queue_header(Connection& connection, FrameType type, std::uint32_t key,
                    std::span<const std::byte> payload);
  void crossed(Connection& connection);

  // tcp_receive.cpp
  int receive(Connection& connection);
  int deliver(Connection& connection, int budget);
  bool handle(Connection& connection, const Prefix& prefix, std::span<const std::byte> payload);
  bool serve_get(Connection& connection, const BulkHead& head);
  bool finish_operation(Connection& connection, const Answer& answer);
  bool begin_landing(Connection& connection, const Prefix& prefix, const BulkHead& head);
  void land_buffered(Connection& connection);
  Inbox::Got land_directly(Connection& connection);
  void landed(Connection& connection, std::size_t size);
  bool answer(Connection& connection, OpRef operation, Result result);
  void complete(Connection& connection, OpRef operation, Result result);
  void violation(Connection& connection, std::string_view what);

  const TcpOptions options_;
  const SocketOptions socket_options_;
  const Identity identity_;
  FrameSink& sink_;
  Counters& counters_;
  std::vector<std::byte> own_address_;
  std::vector<Key> heard_;  // nonces of the hellos that were believed
  std::vector<Socket> listeners_;
  std::vector<Endpoint> endpoints_;  // of these
  Socket epoll_;                     // not a socket, but a descriptor to own
  Timer timer_;                      // in the epoll set: it is time to look after the peers
  RegisteredMemory memory_;

  mutable SendLock lock_;  // guards what follows, and parts of each connection
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Slot> slots_;
  OperationTable operations_;
  std::vector<Connection*> unsent_;
  std::vector<Operation*> cancelled_;  // to be completed by poll(): their peer was closed
  std::atomic<std::chrono::nanoseconds> kept_since_{};  // read by any thread
  std::atomic<std::uint32_t> polls_ = 1;                // begun, and ended
  // Hints for poll(), read without the lock; it is taken before anything is believed.
  std::atomic<bool> any_unsent_ = false;
  std::atomic<bool> attention_ = false;  // a failed send, a closed peer, a dead connection
  std::atomic<bool> timed_ = false;      // something has a deadline

  // The poller's own, but that senders read the first under the lock.
  bool armed_ = false;  // every connection is in the epoll set, for writing, too, where it waits
  std::vector<Connection*> hot_;
  std::uint64_t ticks_ = 0;
  std::uint32_t until_cold_ = 0;
  std::uint32_t fruitless_ = 0;  // looks at the epoll set in a row that found nothing
  std::size_t strangers_ = 0;    // accepted, not yet established
  std::size_t failed_ = 0;       // wrong hellos until then:
  Clock::time_point forget_failures_{};
  // With the lock: nobody else is accepted before.
  Clock::time_point listen_again_ = Clock::time_point::max();
};

// The first frame since a poll goes at once, and nothing is asked before. But for `more`, it leaves with the next. While
// armed it does not: the thread would be woken for it.
[[gnu::always_inline]] inline SendStatus TcpLink::send_frame(Connection& connection, Prefix prefix,
                                                             const Slice* slices, int count,
                                                             Outbox::Class what,
                                                             bool more) noexcept {
  if (!connection.burst.is_first(polls_.load(std::memory_order_relaxed))) [[unlikely]]
    return send_on(connection, prefix, slices, count, what, more);
  const SendStatus status =
      connection.out.send(connection.fd(), prefix, slices, count, what, more && !armed_);
  if (status == SendStatus::broken) [[unlikely]]
    fail(connection, errno);
  sent_something(connection);
  return status;
}

}  // namespace lfc::tcp
