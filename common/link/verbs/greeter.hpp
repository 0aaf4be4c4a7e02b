// Greeter: how two processes come to a connection: the one asks by datagrams until the other answers, and each proves
// that it knows the key of who was asked. Who was asked and is gone says so, by its kernel (door.hpp) or by itself.
//
//   greeter.ask(connection);                                   // from now on, greet() repeats it
//   greeter.on_datagram(bytes);
//   bool more = greeter.greet(connection, now);                // of a connection that is pending
//
// Threads: as Link.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "link/verbs/datagrams.hpp"
#include "link/verbs/door.hpp"
#include "link/verbs/frames.hpp"

namespace lfc::verbs {

class Greeter {
 public:
  using Clock = Connection::Clock;
  using State = Connection::State;

  Greeter(Shared& shared, Connections& connections, Frames& frames) noexcept
      : shared_(shared), connections_(connections), frames_(frames), inbox_(shared.identity.tag) {}
  // Notes in our own endpoint where we are asked.
  bool open(std::string& why_not);
  Datagrams& datagrams() noexcept { return datagrams_; }
  const Datagrams& datagrams() const noexcept { return datagrams_; }
  void set_own_address(std::span<const std::byte> address);
  bool knows_own_address() const noexcept { return !own_address_.empty(); }
  // Nobody is answered any more.
  void end() noexcept { ending_ = true; }

  void ask(Connection& connection);
  void on_datagram(std::span<const std::byte> bytes) noexcept;
  // False: it needs no more.
  bool greet(Connection& connection, Clock::time_point now) noexcept;
  // Of an open one: the peer has not heard the answer.
  bool repeat_answer(Connection& connection) noexcept;

 private:
  void on_ask(const Hello& hello);
  void on_answer(const Hello& hello);
  void on_gone(const Hello& hello);
  void on_refused(const Hello& hello);
  // Answers an ask for which there is no connection.
  void refuse(const Hello& ask, const Address& from) noexcept;
  // Null: it cannot be made. Valid until some further ones have been asked for.
  ibv_ah* way_back(const Endpoint& there) noexcept;
  // The other end of the connection is gone before it was open.
  void start_over(Connection& connection);
  bool say(Connection& connection, HelloPart::Kind kind) noexcept;
  // Nobody answers, and the kernel there says why.
  bool is_gone(Connection& connection) noexcept;
  // Nobody answers, and whoever wanted the connection does without it.
  bool is_in_vain(const Connection& connection) noexcept;

  Shared& shared_;
  Connections& connections_;
  Frames& frames_;
  Datagrams datagrams_;
  HelloInbox inbox_;
  Door door_;
  std::vector<std::byte> own_address_;
  std::deque<Handle<ibv_ah>> ways_back_;  // of refusals, which may still be on their way out
  bool ending_ = false;
};

}  // namespace lfc::verbs
