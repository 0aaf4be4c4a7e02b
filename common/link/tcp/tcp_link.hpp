// TcpLink: a link over TCP sockets, one connection per pair of processes.
//
// One link is one rail: it listens on one address of this node and connects from it. Several
// links, named "tcp", "tcp1", ..., can live in one process; each reads and writes only the section
// of its own name in an address.
//
//   TcpOptions options;
//   options.interface = rails[0];                        // link/interfaces.hpp
//   std::unique_ptr<Link> link = make_tcp_link(options, identity, sink, counters, why_not);
//   if (!link) complain(why_not);
//
// Design: a frame is written straight from the caller's memory and delivered straight out of the
// receive buffer; a put or get moves between the socket and the two processes' memory without a
// copy of our own, in segments, between which frames overtake. Connections that carry traffic are
// read directly, the rest wait in an epoll set, which is polled less often.
// A connection without a valid hello is dropped and counted in `frames_dropped`.
// Threads: as Link.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "link/interfaces.hpp"
#include "link/link.hpp"
#include "link/ports.hpp"
#include "stats/counters.hpp"

namespace lfc {

struct TcpOptions {
  std::string name = "tcp";  // section of the address
  unsigned strand = 0;       // number of its connections among several between the same addresses
  Interface interface;       // the local address to listen on and to connect from
  std::vector<Interface> others;  // further addresses of the same device
  PortRange ports;                // to listen on
  void (*notice)(std::string_view line) =
      nullptr;  // receives a line about each connection that the link begins
  void (*warning)(std::string_view line) = nullptr;   // receives the one that it gives up accepting
  std::chrono::milliseconds connect_timeout{10'000};  // until the peer's kernel replies
  std::chrono::milliseconds peer_timeout{60'000};     // without a sign of life from the peer's node
  // SO_SNDBUF: a number of bytes; or kByKernel: it grows as the kernel sees fit; or kByInterface:
  // 128 KiB up to 10 Gbit/s, kByKernel above. A sender that runs megabytes ahead pushes the data
  // out of the caches before it is read, which halves the bandwidth over veth; but where bandwidth
  // times round trip is more than the buffer, kByKernel is right.
  static constexpr int kByInterface = 0;
  static constexpr int kByKernel = -1;
  int send_buffer = kByInterface;
  int receive_buffer = kByKernel;  // SO_RCVBUF: positive, or kByKernel
};

// nullptr: the link cannot be opened, `why_not` is one line. `sink` and `counters` outlive it.
std::unique_ptr<Link> make_tcp_link(const TcpOptions& options, const Identity& identity,
                                    FrameSink& sink, Counters& counters, std::string& why_not);

}  // namespace lfc
