#include "link/ofi/ofi_connections.hpp"

#include <optional>

#include "link/ofi/ofi_section.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;

// A hello without a reply is repeated. The periods of the two sides differ, so that hellos do not cross again.
constexpr auto kFirstRepeat = 50ms;
constexpr auto kOtherFirstRepeat = 170ms;

}  // namespace

bool OfiConnections::find_address(std::string_view raw, fi_addr_t& out, std::string& why_not) {
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

OfiConnection* OfiConnections::make(PeerId peer, const Address& address, std::string& why_not) {
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
  auto connection = std::make_unique<OfiConnection>();
  if (!find_address(raw, connection->address, why_not)) return nullptr;
  connection->key = address.identity().tag;
  connection->target = address.identity();
  connection->slot = static_cast<std::uint32_t>(connections_.size());
  connection->peer = peer;
  connection->raw_address = raw;
  connection->repeat_after = shared_.identity.name.packed() < address.identity().name.packed()
                                 ? kFirstRepeat
                                 : kOtherFirstRepeat;
  connection->quiet_since = shared_.present.now();
  if (peer >= by_peer_.size()) by_peer_.resize(peer + 1, nullptr);
  by_peer_[peer] = connection.get();
  return connections_.emplace_back(std::move(connection)).get();
}

void OfiConnections::add_pending(OfiConnection& connection) noexcept {
  if (std::exchange(connection.pending, true)) return;
  pending_.push_back(&connection);
}

// --- Trouble ---

void OfiConnections::fail(OfiConnection& connection, std::string why) noexcept {
  connection.state = State::failing;
  connection.failure = std::move(why);
  add_pending(connection);
}

void OfiConnections::break_off(OfiConnection& connection, std::string_view why) noexcept {
  const State before = std::exchange(connection.state, State::broken);
  connection.probe.stop();
  drop_held(connection);
  if (before == State::closed || before == State::closing) connection.state = State::closed;
  if (connection.state == State::closed || before == State::broken) return;
  shared_.transfers.fail_connection(connection.slot);
  const std::string text = std::string(shared_.fabric->provider()) + ": " + std::string(why);
  shared_.sink.on_broken(connection.peer, shared_.link, text);
}

void OfiConnections::break_all(std::string_view why) noexcept {
  for (std::size_t slot = 0; slot < connections_.size(); ++slot)
    break_off(*connections_[slot], why);
}

void OfiConnections::drop_held(OfiConnection& connection) noexcept {
  for (SendBuffer* buffer : connection.held) shared_.sends.give_back(*buffer);
  connection.held.clear();
}

}  // namespace lfc
