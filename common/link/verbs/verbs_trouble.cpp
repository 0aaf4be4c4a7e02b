// What goes wrong: with a channel, with the port, with the device, with a peer that never answers.
#include <utility>

#include "base/limits.hpp"
#include "link/verbs/verbs_link_impl.hpp"

namespace lfc::verbs {
namespace {

std::string text_of(const Endpoint& there) {
  Gid gid;
  gid.raw = there.gid;
  const std::string lid = there.ethernet == 0 ? "LID " + std::to_string(there.lid) + " " : "";
  return lid + "GID " + gid.ip().text();
}

}  // namespace

std::string VerbsLink::ends_of(const Channel& channel) const {
  return device_->choice().port.name() + ", " + text_of(here_) + " to " + text_of(channel.there);
}

// --- Events ---

void VerbsLink::heed_events() noexcept {
  while (const std::optional<Health::Loss> loss = health_.next(Clock::now()))
    for (const auto& channel : channels_) {
      const bool its = loss->queue_pair == kNoQueuePair ||
                       (channel->has_pair() && channel->pair->qp_num == loss->queue_pair);
      const bool lives = channel->state == State::setting_up || channel->state == State::open;
      if (its && lives) fail(*channel, loss->why);
    }
}

bool VerbsLink::is_gone(Channel& channel, Clock::time_point now) noexcept {
  if (channel.there.door == 0 || now < channel.knock_from) return false;
  Gid gid;
  gid.raw = channel.there.gid;
  IpAddress address = gid.ip();
  address.scope = device_->choice().interface->address.scope;
  return channel.knock.refused(address, channel.there.door);
}

// --- Channels ---

void VerbsLink::fail(Channel& channel, std::string_view why) noexcept {
  if (channel.state == State::closing) {
    channel.give_up = {};  // nobody waits to be told
    return attend(channel);
  }
  channel.state = State::failing;
  channel.failure = why;
  attend(channel);
}

void VerbsLink::break_channel(Channel& channel, std::string_view why) noexcept {
  const State before = std::exchange(channel.state, State::broken);
  if (before == State::closed || before == State::broken) {
    channel.state = before;
    return;
  }
  dispose(channel);
  receives_.lose();
  if (before == State::closing) {
    channel.state = State::closed;
    return;
  }
  const std::string text = ends_of(channel) + ": " + std::string(why);
  sink_.on_broken(channel.peer, *this, text);
}

}  // namespace lfc::verbs
