// Processes with a link tcp each, in one process over the loopback interface, and raw sockets that connect to them.
//
//   Node a(0), b(1);
//   const PeerId peer = a.connect(b);
//   send_all({&a, &b}, a, peer, {FrameType::message}, Bytes(8));  // polls until it is sent
//   pump({&a, &b}, [&] { return b.received == 1; });              // fails after 20 s with the state of both
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "deadline.hpp"
#include "link/proof.hpp"
#include "link/tcp/stream.hpp"
#include "link/tcp/tcp_link.hpp"
#include "published.hpp"

namespace lfc::tcp_world {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

inline Bytes random_bytes(Random& random, std::size_t size) {
  Bytes bytes(size);
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, 8);
  }
  for (; i < size; ++i) bytes[i] = static_cast<std::byte>(random());
  return bytes;
}

struct Frame {
  PeerId peer;
  Meta meta;
  Bytes payload;
};

inline TcpOptions loopback() {
  TcpOptions options;
  options.interface = {"lo", IpAddress::parse("127.0.0.1").value(), 8, 0, true};
  return options;
}

// One process: a link, and a sink that records its calls.
struct Node final : FrameSink {
  explicit Node(std::uint32_t rank, const TcpOptions& options = loopback(), Key key = {})
      : identity{{7, rank}, key ? key : Key(0xabc000u + rank, rank), 8} {
    std::string why;
    link = make_tcp_link(options, identity, *this, counters, why);
    INFO(why);
    REQUIRE(link != nullptr);
    blob = publish(*link, identity);
  }

  Address address() const { return Address::parse(blob).value(); }
  std::uint16_t port() const {
    const Address own = address();
    std::uint16_t port = 0;
    std::memcpy(&port, own.section(link->name()).data(), sizeof port);
    return port;
  }
  PeerId id_of(const Address& from) {
    return ids.try_emplace(from.identity().name.packed(), static_cast<PeerId>(ids.size()))
        .first->second;
  }
  PeerId connect(const Node& other) {
    const PeerId peer = id_of(other.address());
    std::string why;
    REQUIRE(link->reach(other.address(), why));
    const bool connected = link->connect(peer, other.address(), why);
    INFO(why);
    REQUIRE(connected);
    return peer;
  }
  SendStatus send(PeerId peer, Meta meta, const Bytes& payload) {
    const Slice slice{payload.data(), payload.size()};
    return link->send(peer, meta, &slice, 1);
  }

  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override {
    if (reinterpret_cast<std::uintptr_t>(payload.data()) % 8 != 0) ++misaligned;
    if (keep) frames.push_back({peer, meta, {payload.begin(), payload.end()}});
    ++received;
    if (lends) lent.push_back(link->traits().lender->lend(peer, payload));
    if (hook) hook(peer, meta);
  }
  PeerId on_connect(Link&, const Address& from) override {
    ++connects;
    return refuse ? kNoPeer : id_of(from);
  }
  void on_broken(PeerId peer, Link&, std::string_view why) override {
    broken.emplace_back(peer, why);
  }
  Batch may_batch(bool) noexcept override {
    ++asked;
    return keeping;
  }
  std::byte* place(PeerId, Meta, const Placing& frame) override {
    return places ? places(frame) : nullptr;
  }
  void on_placed(PeerId peer, Meta meta, const Placing& frame) override {
    placed(peer, meta, frame);
  }

  Identity identity;
  Counters counters;
  std::vector<Frame> frames;
  std::vector<std::pair<PeerId, std::string>> broken;
  std::map<std::uint64_t, PeerId> ids;
  std::function<void(PeerId, Meta)> hook;
  std::function<std::byte*(const Placing&)> places;
  std::function<void(PeerId, Meta, const Placing&)> placed;
  int received = 0;
  int connects = 0;
  int asked = 0;  // calls of may_batch()
  int misaligned = 0;
  bool keep = true;
  bool refuse = false;
  bool lends = false;
  std::vector<SharedBytes> lent;  // by frame, while `lends`
  Batch keeping = Batch::no;
  Bytes blob;
  std::unique_ptr<Link> link;  // last, so it is destroyed first
};

// Polls all nodes until `done` returns true. Fails with their state if that takes too long.
inline void pump(std::initializer_list<Node*> nodes, const std::function<bool()>& done,
                 std::chrono::milliseconds limit = 20s) {
  Deadline deadline(limit);
  while (!done()) {
    for (Node* node : nodes) node->link->poll();
    if (!deadline.is_over()) continue;
    std::string state;
    for (const Node* node : nodes) {
      state += "rank " + std::to_string(node->identity.name.rank) + ": " +
               std::to_string(node->received) + " frames";
      for (const auto& [peer, why] : node->broken) state += ", broken: " + why;
      state += node->link->drained() ? "; " : ", not drained; ";
    }
    FAIL("timeout: " << state);
  }
}

inline void pump_for(std::initializer_list<Node*> nodes, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  pump(nodes, [&] { return std::chrono::steady_clock::now() >= end; });
}

// Retries until the link accepts it.
inline void send_all(std::initializer_list<Node*> nodes, Node& from, PeerId peer, Meta meta,
                     const Bytes& payload) {
  SendStatus status = SendStatus::again;
  pump(nodes, [&] { return (status = from.send(peer, meta, payload)) != SendStatus::again; });
  REQUIRE(status == SendStatus::sent);
}

inline std::size_t open_descriptors() {
  const auto list = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

// A plain blocking socket connected to the node's port, from any address of the loopback interface.
struct RawPeer {
  explicit RawPeer(const Node& node, const char* from = "127.0.0.1")
      : fd(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    REQUIRE(::inet_pton(AF_INET, from, &at.sin_addr) == 1);
    REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(node.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    const timeval limit{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~RawPeer() { leave(); }
  void leave() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  void write(const void* data, std::size_t size) const {
    // The node may have closed the connection already.
    static_cast<void>(::send(fd, data, size, MSG_NOSIGNAL));
  }
  void write(const Bytes& bytes) const { write(bytes.data(), bytes.size()); }
  // Whether the node has closed the connection.
  bool is_closed() const {
    char byte = 0;
    const ssize_t got = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }
  int fd;
};

// A server on the port of a process that has exited.
struct Impostor {
  explicit Impostor(std::uint16_t port)
      : listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(listener, 8) == 0);
  }
  ~Impostor() {
    ::close(listener);
    if (fd >= 0) ::close(fd);
  }
  // Returns all bytes that the node sends before it waits for a reply.
  Bytes hello_of(Node& node) {
    Bytes bytes;
    pump({&node}, [&] {
      if (fd < 0) fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
      std::array<std::byte, 4096> some;
      const ssize_t got = fd < 0 ? 0 : ::recv(fd, some.data(), some.size(), MSG_DONTWAIT);
      if (got > 0) bytes.insert(bytes.end(), some.begin(), some.begin() + got);
      Header header;
      if (bytes.size() < sizeof header) return false;
      std::memcpy(&header, bytes.data(), sizeof header);
      return bytes.size() == sizeof header + header.length;
    });
    return bytes;
  }
  int listener;
  int fd = -1;
};

// The address that a hello carries.
inline Bytes blob_of(const Identity& identity) {
  AddressWriter writer(identity);
  writer.add("tcp", Bytes(20));
  return without_key(std::move(writer).finish());
}

inline Bytes with_header(std::uint32_t tag, FrameType type, const Bytes& payload) {
  Bytes bytes(sizeof(Header));
  Header header;
  encode_header(header, tag, kNoPeer, 0, {type}, static_cast<std::uint32_t>(payload.size()));
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

// As sent by a peer with the target's key.
inline Bytes hello(const Identity& target, const Bytes& address,
                   FrameType type = FrameType::hello) {
  const Key nonce = random_key();
  const HelloHead head{nonce, hello_proof(target, "tcp", nonce, address)};
  Bytes payload(sizeof head);
  std::memcpy(payload.data(), &head, sizeof head);
  payload.insert(payload.end(), address.begin(), address.end());
  return with_header(target.tag, type, payload);
}

inline Bytes frame_bytes(tcp::Prefix prefix, std::uint8_t sequence, const Bytes& payload) {
  const std::uint64_t word = tcp::encode_prefix(prefix, sequence);
  Bytes bytes(tcp::kPrefix);
  std::memcpy(bytes.data(), &word, sizeof word);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize(tcp::kPrefix + tcp::padded(payload.size()));
  return bytes;
}

template <class T>
Bytes bytes_of(const T& value, std::size_t extra = 0) {
  Bytes bytes(sizeof value + extra);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// So small that most writes are partial. (A receive buffer below the loopback's segment size would only test the
// kernel's silly-window timers.)
inline TcpOptions tiny_buffers() {
  TcpOptions options = loopback();
  options.send_buffer = 4096;
  return options;
}

}  // namespace lfc::tcp_world
