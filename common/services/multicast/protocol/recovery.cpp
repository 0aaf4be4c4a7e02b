#include "services/multicast/protocol/recovery.hpp"

#include <algorithm>

namespace lfc {

void Recovery::start(PeerId child) {
  escapes_[own_] = {};
  extend(own_, child);
}

bool Recovery::enter(EscapePath escape, const TreeId& tree, PeerId parent) {
  if (escape.owner == own_.owner) return false;
  std::size_t others = 0;
  for (auto held = escapes_.lower_bound({escape.owner, 0});
       held != escapes_.end() && held->first.owner == escape.owner; ++held)
    ++others;
  if (others >= kEscapesOfOne) return false;
  const auto [entry, is_free] = escapes_.try_emplace(escape);
  if (!is_free) return false;
  entry->second.buffer = true;
  entry->second.parent = parent;
  active_[tree].push_back(escape);
  return true;
}

std::optional<Recovery::EscapePath> Recovery::way(const TreeId& tree, PeerId child) const noexcept {
  const auto active = active_.find(tree);
  if (active == active_.end()) return {};
  for (const EscapePath escape : active->second) {
    const auto& used = escapes_.at(escape).children;
    const bool taken =
        std::any_of(used.begin(), used.end(), [&](const Use& use) { return use.child == child; });
    if (!taken) return escape;
  }
  return {};
}

void Recovery::extend(EscapePath escape, PeerId child) {
  Held& held = escapes_.at(escape);
  held.children.push_back({child, false});
  ++held.uncleared;
}

bool Recovery::release(const TreeId& tree) {
  const auto active = active_.find(tree);
  if (active == active_.end()) return false;
  const EscapePath escape = active->second.front();
  active->second.pop_front();
  if (active->second.empty()) active_.erase(active);
  const auto entry = escapes_.find(escape);
  entry->second.buffer = false;
  settle(entry);
  return true;
}

bool Recovery::clear(EscapePath escape, PeerId child) {
  const auto entry = escapes_.find(escape);
  if (entry == escapes_.end()) return false;
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
  std::vector<EscapePath> waiting;
  for (auto& [escape, held] : escapes_) {
    if (held.parent == peer) held.parent = kNoPeer;
    for (const Use& use : held.children)
      if (use.child == peer && !use.cleared) waiting.push_back(escape);
  }
  for (const EscapePath escape : waiting) clear(escape, peer);
}

// Clears the path towards its parent if nothing of it is left here.
void Recovery::settle(EscapePaths::iterator entry) {
  if (entry->second.buffer || entry->second.uncleared != 0) return;
  const EscapePath escape = entry->first;
  const PeerId parent = entry->second.parent;
  escapes_.erase(entry);
  if (escape == own_) ++own_.number;
  if (parent != kNoPeer) out_.escape_clear(escape, parent);
}

}  // namespace lfc
