// Channels: the channels of a verbs link, with their queue pairs: how one is made, connected, broken and disposed of.
//
//   Channel* channel = channels.make(peer, address, why_not);
//   channel->theirs = offer;
//   if (!channels.connect(*channel, why_not)) channels.break_off(*channel, why_not);
//   channels.attend(*channel);                                  // something is due: it is pending
//
// Threads: as Link.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "link/verbs/shared.hpp"

namespace lfc::verbs {

class Channels {
 public:
  using Clock = Channel::Clock;
  using State = Channel::State;

  explicit Channels(Shared& shared) noexcept : shared_(shared) {}
  // Whether the device has a queue pair for us; how much it takes into a request is known from then on.
  bool open(std::string& why_not);
  std::size_t inline_size() const noexcept { return inline_; }
  int pieces_inline() const noexcept { return pieces_inline_; }

  Channel* of(PeerId peer) const noexcept {
    return peer < by_peer_.size() ? by_peer_[peer] : nullptr;
  }
  Channel* of_pair(std::uint32_t number) const noexcept {
    const auto found = by_pair_.find(number);
    return found == by_pair_.end() ? nullptr : found->second;
  }
  Channel& at(std::uint32_t slot) const noexcept { return *channels_[slot]; }
  const std::vector<std::unique_ptr<Channel>>& all() const noexcept { return channels_; }
  PeerId peers() const noexcept { return static_cast<PeerId>(by_peer_.size()); }

  Channel* make(PeerId peer, const Address& address, std::string& why_not);
  // Another one in place of this one, which nothing has been sent on. Null: there is none for the peer any more.
  Channel* replace(Channel& channel, std::string& why_not);
  bool connect(Channel& channel, std::string& why_not);
  // The peer has none any more.
  void detach(PeerId peer) noexcept { by_peer_[peer] = nullptr; }

  // Device, port and both addresses, for the user.
  std::string ends_of(const Channel& channel) const;

  // --- What is due ---

  void attend(Channel& channel) noexcept;
  const std::vector<Channel*>& pending() const noexcept { return pending_; }
  // each(channel): false, it needs no more.
  template <class Each>
  void attend_pending(Each each) {
    attending_.swap(pending_);
    for (Channel* channel : attending_) {
      channel->pending = false;
      if (each(*channel)) attend(*channel);
    }
    attending_.clear();
  }

  // --- The end ---

  // Remembers a failure, for poll() to report.
  void fail(Channel& channel, std::string_view why) noexcept;
  void break_off(Channel& channel, std::string_view why) noexcept;
  void end_if_done(Channel& channel) noexcept;
  // Its queue pair goes, with all that it holds.
  void dispose(Channel& channel) noexcept;
  // Likewise, and the peer forgets it.
  void forget(Channel& channel) noexcept;

 private:
  Channel* make(PeerId peer, const Identity& identity, const Endpoint& there, std::string& why_not);
  bool make_pair(Channel& channel, std::string& why_not);

  Shared& shared_;
  std::size_t inline_ = 0;
  int pieces_inline_ = 1;
  std::vector<std::unique_ptr<Channel>> channels_;  // by slot; never shrinks
  std::vector<Channel*> by_peer_;
  std::unordered_map<std::uint32_t, Channel*> by_pair_;  // by number of our queue pair
  std::vector<Channel*> pending_;
  std::vector<Channel*> attending_;
};

// What a peer publishes; none: its address is malformed.
std::optional<Endpoint> endpoint_of(const Address& peer, std::string_view link);

}  // namespace lfc::verbs
