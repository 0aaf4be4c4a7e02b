// Handshake: how two processes come to a connection: the one asks by datagrams until the other answers, and each proves
// that it knows the key of who was asked. Who was asked and is gone says so, by its kernel (liveness.hpp) or by itself.
//
//   handshake.request(connection);                                   // from now on, proceed() repeats it
//   handshake.on_datagram(bytes);
//   bool more = handshake.proceed(connection, now);                // of a connection that is pending
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
  // Notes in our own endpoint where we are asked.
  bool open(std::string& why_not);
  Datagrams& datagrams() noexcept { return datagrams_; }
  const Datagrams& datagrams() const noexcept { return datagrams_; }
  void set_own_address(std::span<const std::byte> address);
  bool knows_own_address() const noexcept { return !own_address_.empty(); }
  // Nobody is answered any more.
  void end() noexcept { ending_ = true; }

  void request(Connection& connection);
  void on_datagram(std::span<const std::byte> bytes) noexcept;
  // False: it needs no more.
  bool proceed(Connection& connection, Clock::time_point now) noexcept;
  // Of an open one: the peer has not heard the answer.
  bool repeat_reply(Connection& connection) noexcept;

 private:
  void on_request(const Hello& hello);
  void on_reply(const Hello& hello);
  void on_gone(const Hello& hello);
  void on_refused(const Hello& hello);
  // Answers an ask for which there is no connection.
  void refuse(const Hello& request, const Address& from) noexcept;
  // Null: it cannot be made. Valid until some further ones have been asked for.
  ibv_ah* way_back(const Endpoint& there) noexcept;
  // The other end of the connection is gone before it was open.
  void start_over(Connection& connection);
  bool send_hello(Connection& connection, HelloPart::Kind kind) noexcept;
  // Nobody answers, and the kernel there says why.
  bool is_gone(Connection& connection) noexcept;
  // Nobody answers, and whoever wanted the connection does without it.
  bool is_in_vain(const Connection& connection) noexcept;

  Shared& shared_;
  Connections& connections_;
  Frames& frames_;
  Datagrams datagrams_;
  HelloInbox inbox_;
  LivenessPort liveness_port_;
  std::vector<std::byte> own_address_;
  std::deque<Handle<ibv_ah>> ways_back_;  // of refusals, which may still be on their way out
  bool ending_ = false;
};

}  // namespace lfc::verbs
