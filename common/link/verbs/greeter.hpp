// Greeter: how two processes come to a channel: the one asks by datagrams until the other answers, and each proves that
// it knows the key of who was asked. Who was asked and is gone says so, by its kernel (door.hpp) or by itself.
//
//   greeter.ask(channel);                                   // from now on, greet() repeats it
//   greeter.on_datagram(bytes);
//   bool more = greeter.greet(channel, now);                // of a channel that is pending
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
  using Clock = Channel::Clock;
  using State = Channel::State;

  Greeter(Shared& shared, Channels& channels, Frames& frames) noexcept
      : shared_(shared), channels_(channels), frames_(frames), inbox_(shared.identity.tag) {}
  // Notes in our own endpoint where we are asked.
  bool open(std::string& why_not);
  Datagrams& datagrams() noexcept { return datagrams_; }
  const Datagrams& datagrams() const noexcept { return datagrams_; }
  void set_own_address(std::span<const std::byte> address);
  bool knows_own_address() const noexcept { return !own_address_.empty(); }
  // Nobody is answered any more.
  void end() noexcept { ending_ = true; }

  void ask(Channel& channel);
  void on_datagram(std::span<const std::byte> bytes) noexcept;
  // False: it needs no more.
  bool greet(Channel& channel, Clock::time_point now) noexcept;
  // Of an open one: the peer has not heard the answer.
  bool repeat_answer(Channel& channel) noexcept;

 private:
  void on_ask(const Hello& hello);
  void on_answer(const Hello& hello);
  void on_gone(const Hello& hello);
  void on_refused(const Hello& hello);
  // Answers an ask for which there is no channel.
  void refuse(const Hello& ask, const Address& from) noexcept;
  // Null: it cannot be made. Valid until some further ones have been asked for.
  ibv_ah* way_back(const Endpoint& there) noexcept;
  // The other end of the connection is gone before it was open.
  void start_over(Channel& channel);
  bool say(Channel& channel, HelloPart::Kind kind) noexcept;
  // Nobody answers, and the kernel there says why.
  bool is_gone(Channel& channel) noexcept;
  // Nobody answers, and whoever wanted the connection does without it.
  bool is_in_vain(const Channel& channel) noexcept;

  Shared& shared_;
  Channels& channels_;
  Frames& frames_;
  Datagrams datagrams_;
  HelloInbox inbox_;
  Door door_;
  std::vector<std::byte> own_address_;
  std::deque<Handle<ibv_ah>> ways_back_;  // of refusals, which may still be on their way out
  bool ending_ = false;
};

}  // namespace lfc::verbs
