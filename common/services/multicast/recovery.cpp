#include "services/multicast/recovery.hpp"

#include <algorithm>

namespace lfc {

void Recovery::start(PeerId child) {
  channels_[own_] = {};
  extend(own_, child);
}

bool Recovery::enter(Channel channel, const TreeId& tree, PeerId parent) {
  if (channel.owner == own_.owner) return false;
  std::size_t others = 0;
  for (auto held = channels_.lower_bound({channel.owner, 0});
       held != channels_.end() && held->first.owner == channel.owner; ++held)
    ++others;
  if (others >= kChannelsOfOne) return false;
  const auto [entry, is_free] = channels_.try_emplace(channel);
  if (!is_free) return false;
  entry->second.buffer = true;
  entry->second.parent = parent;
  active_[tree].push_back(channel);
  return true;
}

std::optional<Recovery::Channel> Recovery::way(const TreeId& tree, PeerId child) const noexcept {
  const auto active = active_.find(tree);
  if (active == active_.end()) return {};
  for (const Channel channel : active->second) {
    const auto& used = channels_.at(channel).children;
    const bool taken =
        std::any_of(used.begin(), used.end(), [&](const Use& use) { return use.child == child; });
    if (!taken) return channel;
  }
  return {};
}

void Recovery::extend(Channel channel, PeerId child) {
  Held& held = channels_.at(channel);
  held.children.push_back({child, false});
  ++held.uncleared;
}

bool Recovery::release(const TreeId& tree) {
  const auto active = active_.find(tree);
  if (active == active_.end()) return false;
  const Channel channel = active->second.front();
  active->second.pop_front();
  if (active->second.empty()) active_.erase(active);
  const auto entry = channels_.find(channel);
  entry->second.buffer = false;
  settle(entry);
  return true;
}

bool Recovery::clear(Channel channel, PeerId child) {
  const auto entry = channels_.find(channel);
  if (entry == channels_.end()) return false;
  for (Use& use : entry->second.children) {
    if (use.child != child || use.cleared) continue;
    use.cleared = true;
    --entry->second.uncleared;
    settle(entry);
    return true;
  }
  return false;
}

void Recovery::lose(PeerId peer) {
  std::vector<Channel> waiting;
  for (auto& [channel, held] : channels_) {
    if (held.parent == peer) held.parent = kNoPeer;
    for (const Use& use : held.children)
      if (use.child == peer && !use.cleared) waiting.push_back(channel);
  }
  for (const Channel channel : waiting) clear(channel, peer);
}

// Nothing of the channel is left here: on to whom it came from.
void Recovery::settle(Channels::iterator entry) {
  if (entry->second.buffer || entry->second.uncleared != 0) return;
  const Channel channel = entry->first;
  const PeerId parent = entry->second.parent;
  channels_.erase(entry);
  if (channel == own_) ++own_.number;
  if (parent != kNoPeer) out_.channel_clear(channel, parent);
}

}  // namespace lfc
