#include "link/ofi/ofi_channels.hpp"

#include <optional>

#include "link/ofi/ofi_section.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;

// A hello without an answer is repeated. The two sides differ, so that they do not collide again.
constexpr auto kFirstRepeat = 50ms;
constexpr auto kOtherFirstRepeat = 170ms;

}  // namespace

bool OfiChannels::find_address(std::string_view raw, fi_addr_t& out, std::string& why_not) {
  const auto known = addresses_.find(std::string(raw));
  if (known != addresses_.end()) {
    out = known->second;
    return true;
  }
  const int inserted = fi_av_insert(shared_.fabric->av(), raw.data(), 1, &out, 0, nullptr);
  if (inserted != 1) {
    why_not = std::string("fi_av_insert: ") + fi_strerror(inserted < 0 ? -inserted : FI_EINVAL);
    return false;
  }
  addresses_.emplace(raw, out);
  return true;
}

OfiChannel* OfiChannels::make(PeerId peer, const Address& address, std::string& why_not) {
  const std::optional<OfiSection> section =
      OfiSection::parse(address.section(shared_.options.name));
  // Names that are text differ in length (shm: the process and a number).
  const bool text = shared_.fabric->info().addr_format == FI_ADDR_STR;
  if (!section || section->provider != shared_.fabric->provider() || section->address.empty() ||
      (text ? section->address.back() != std::byte{0}
            : section->address.size() != shared_.fabric->name().size())) {
    why_not = "the peer's address is malformed";
    return nullptr;
  }
  const std::string_view raw{reinterpret_cast<const char*>(section->address.data()),
                             section->address.size()};
  auto channel = std::make_unique<OfiChannel>();
  if (!find_address(raw, channel->address, why_not)) return nullptr;
  channel->key = address.identity().tag;
  channel->target = address.identity();
  channel->slot = static_cast<std::uint32_t>(channels_.size());
  channel->peer = peer;
  channel->raw_address = raw;
  channel->repeat_after = shared_.identity.name.packed() < address.identity().name.packed()
                              ? kFirstRepeat
                              : kOtherFirstRepeat;
  channel->quiet_since = Clock::now();
  if (peer >= by_peer_.size()) by_peer_.resize(peer + 1, nullptr);
  by_peer_[peer] = channel.get();
  return channels_.emplace_back(std::move(channel)).get();
}

void OfiChannels::attend(OfiChannel& channel) noexcept {
  if (std::exchange(channel.pending, true)) return;
  pending_.push_back(&channel);
}

// --- Trouble ---

void OfiChannels::fail(OfiChannel& channel, std::string why) noexcept {
  channel.state = State::failing;
  channel.failure = std::move(why);
  attend(channel);
}

void OfiChannels::break_off(OfiChannel& channel, std::string_view why) noexcept {
  const State before = std::exchange(channel.state, State::broken);
  channel.probe.stop();
  drop_held(channel);
  if (before == State::closed || before == State::closing) channel.state = State::closed;
  if (channel.state == State::closed || before == State::broken) return;
  shared_.transfers.fail_channel(channel.slot);
  const std::string text = std::string(shared_.fabric->provider()) + ": " + std::string(why);
  shared_.sink.on_broken(channel.peer, shared_.link, text);
}

void OfiChannels::break_all(std::string_view why) noexcept {
  for (std::size_t slot = 0; slot < channels_.size(); ++slot) break_off(*channels_[slot], why);
}

void OfiChannels::drop_held(OfiChannel& channel) noexcept {
  for (SendBuffer* buffer : channel.held) shared_.sends.give_back(*buffer);
  channel.held.clear();
}

}  // namespace lfc
