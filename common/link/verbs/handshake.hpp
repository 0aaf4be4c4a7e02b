// Handshake: the set-up of connections by datagrams (hello.hpp). The requester repeats its request until the responder
// replies, and both prove that they know the responder's key. A responder that has ended is detected by its kernel
// (liveness.hpp).
//
//   handshake.request(connection);                             // proceed() repeats it
//   handshake.on_datagram(bytes);
//   bool more = handshake.proceed(connection, now);            // for a pending connection
//
// Threads: as Link.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "link/verbs/datagrams.hpp"
#include "link/verbs/frames.hpp"
#include "link/verbs/liveness.hpp"

namespace lfc::verbs {

class Handshake {
 public:
  using Clock = Connection::Clock;
  using State = Connection::State;

  Handshake(Shared& shared, Connections& connections, Frames& frames) noexcept
      : shared_(shared), connections_(connections), frames_(frames), inbox_(shared.identity.tag) {}
  // Opens the datagrams, and publishes their queue pair in our endpoint.
  bool open(std::string& why_not);
  Datagrams& datagrams() noexcept { return datagrams_; }
  const Datagrams& datagrams() const noexcept { return datagrams_; }
  void set_own_address(std::span<const std::byte> address);
  bool knows_own_address() const noexcept { return !own_address_.empty(); }
  // Ignores all datagrams from now on.
  void end() noexcept { ending_ = true; }

  void request(Connection& connection);
  void on_datagram(std::span<const std::byte> bytes) noexcept;
  // Repeats hellos, and gives up a peer that does not reply. False: the connection needs no more attention.
  bool proceed(Connection& connection, Clock::time_point now) noexcept;
  // For an open connection whose peer repeats its request. True: the reply could not be sent yet.
  bool repeat_reply(Connection& connection) noexcept;

 private:
  void on_request(const Hello& hello);
  void on_reply(const Hello& hello);
  void on_gone(const Hello& hello);
  void on_refused(const Hello& hello);
  // Rejects a request for which no connection can be made.
  void refuse(const Hello& request, const Address& from) noexcept;
  // Null: it cannot be made. Valid until Datagrams::kSends further calls.
  ibv_ah* way_back(const Endpoint& there) noexcept;
  // The peer has given up the connection before it was open: begins another one.
  void start_over(Connection& connection);
  bool send_hello(Connection& connection, HelloPart::Kind kind) noexcept;
  // True: no reply, and the kernel of the peer's node refuses the liveness probe.
  bool is_gone(Connection& connection) noexcept;
  // True: no reply, and the engine does without the connection.
  bool is_in_vain(const Connection& connection) noexcept;

  Shared& shared_;
  Connections& connections_;
  Frames& frames_;
  Datagrams datagrams_;
  HelloInbox inbox_;
  LivenessPort liveness_port_;
  std::vector<std::byte> own_address_;
  std::deque<Handle<ibv_ah>>
      ways_back_;  // address handles of refusals that may still be on their way out
  bool ending_ = false;
};

}  // namespace lfc::verbs
