// TcpLink: the class behind make_tcp_link(). It has the functions that the engine calls, and poll(), which serves each
// connection by its state. Its parts have headers of their own:
//
//   connections.hpp         all connections, their peers, their ends
//   routes.hpp              the pair of addresses for a peer
//   unauthenticated.hpp     accepted connections before the handshake
//   handshake.hpp           connections until they are established
//   sending.hpp             frames that leave, and batches
//   receiving.hpp           frames that arrive
//   active_connections.hpp  connections that are read directly
//   pace.hpp                how often the other connections are polled
//   timeouts.hpp            deadlines, vanished nodes, dead connections
#pragma once

#include <string>
#include <vector>

#include "base/limits.hpp"
#include "link/tcp/active_connections.hpp"
#include "link/tcp/connections.hpp"
#include "link/tcp/handshake.hpp"
#include "link/tcp/pace.hpp"
#include "link/tcp/receiving.hpp"
#include "link/tcp/routes.hpp"
#include "link/tcp/sending.hpp"
#include "link/tcp/tcp_link.hpp"
#include "link/tcp/timeouts.hpp"
#include "link/tcp/unauthenticated.hpp"

namespace lfc::tcp {

class TcpLink final : public Link {
 public:
  TcpLink(const TcpOptions& options, const Identity& identity, FrameSink& sink, Counters& counters);
  ~TcpLink() override;
  bool open(std::string& why_not);

  std::size_t max_payload() const noexcept override { return limits::kTcpPayload; }
  void publish(AddressWriter& writer) const override;
  void set_own_address(std::span<const std::byte> address) override {
    routes_.set_own_address(address);
  }

  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override {
    return handshake_.connect(peer, address, why_not);
  }
  void close(PeerId peer) noexcept override;
  void abandon(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
  int poll() noexcept override;
  void flush() noexcept override {
    if (!sending_.drained()) sending_.flush_unsent();
  }
  std::chrono::nanoseconds batched_since() const noexcept override {
    return sending_.batched_since();
  }
  void wait_fds(std::vector<int>& out) const override { out.push_back(connections_.waiting.fd()); }
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
  int serve(Connection& connection);
  int poll_epoll_set();

  const TcpOptions options_;
  const SocketOptions socket_options_;
  const Identity identity_;
  Routes routes_;
  Connections connections_;
  Sending sending_;
  ActiveConnections active_;
  Receiving receiving_;
  UnauthenticatedConnections unauthenticated_;
  Handshake handshake_;
  Timeouts timeouts_;
  Pace pace_;
  std::uint64_t ticks_ = 0;  // calls of poll(), modulo 2^64
};

}  // namespace lfc::tcp
