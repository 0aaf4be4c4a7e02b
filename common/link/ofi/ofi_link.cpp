#include "link/ofi/ofi_link.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "link/ofi/ofi_link_impl.hpp"
#include "link/ofi/ofi_section.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;

constexpr int kBatch = 16;
constexpr int kBatchesPerPoll = 4;
// How long a peer may be unreachable before its kernel is probed, and probed again.
constexpr auto kProbeAfter = 1s;
constexpr auto kGiveUpClosing = 1s;
// How long a frame that others overtook may take before it counts as lost.
constexpr auto kGiveUpGap = 5s;

}  // namespace

std::unique_ptr<Link> make_ofi_link(const OfiOptions& options, const Identity& identity,
                                    FrameSink& sink, Counters& counters, std::string& why_not) {
  std::unique_ptr<OfiFabric> fabric = OfiFabric::open(options, why_not);
  if (!fabric) return nullptr;
  auto link = std::make_unique<OfiLink>(options, identity, sink, counters, std::move(fabric));
  if (!link->open(why_not)) return nullptr;
  return link;
}

OfiLink::OfiLink(const OfiOptions& options, const Identity& identity, FrameSink& sink,
                 Counters& counters, std::unique_ptr<OfiFabric> fabric)
    : Link({.name = options.name, .kind = LinkTraits::Kind::ofi}),
      shared_{*this, options, identity, sink, counters, std::move(fabric)},
      node_tag_(node_tag()) {}

bool OfiLink::open(std::string& why_not) {
  std::string why;
  const bool ok = shared_.sends.open(*shared_.fabric, shared_.options.send_frames, why) &&
                  shared_.receives.open(*shared_.fabric, shared_.options.receive_frames, why);
  if (!ok) {
    why_not = std::string(shared_.fabric->provider()) + ": " + why;
    return false;
  }
  // Without remote memory the NI carries puts and gets in frames.
  traits_.remote_memory =
      shared_.options.remote_memory && shared_.fabric->has(FI_RMA) &&
      shared_.fabric->info().domain_attr->mr_key_size <= sizeof(LinkRegion::key) &&
      shared_.transfers.open(*shared_.fabric, shared_.options.put_proof, why);
  traits_.one_sided = traits_.remote_memory;
  traits_.registration_costs =
      traits_.remote_memory && shared_.fabric->needs(FI_MR_LOCAL | FI_MR_ALLOCATED);
  return true;
}

// --- Addresses and connections ---

void OfiLink::publish(AddressWriter& writer) const {
  const OfiFabric& fabric = *shared_.fabric;
  writer.add(shared_.options.name,
             OfiSection::write(node_tag_, fabric.frame_size(), fabric.provider(), fabric.name()));
}

bool OfiLink::reach(const Address& peer, std::string& why_not) {
  const auto refuse = [&](std::string why) {
    why_not = std::move(why);
    return false;
  };
  const std::span<const std::byte> bytes = peer.section(shared_.options.name);
  if (bytes.empty()) return refuse("the peer has no such link");
  const std::optional<OfiSection> section = OfiSection::parse(bytes);
  if (!section) return refuse("the peer's address is malformed");
  if (section->provider != shared_.fabric->provider())
    return refuse("the peer uses provider " + std::string(section->provider) + ", we use " +
                  std::string(shared_.fabric->provider()) +
                  " (btl_lfc_provider and btl_lfc_interfaces select it)");
  if (section->head.frame_size < shared_.fabric->frame_size())
    return refuse("the peer takes frames of " + std::to_string(section->head.frame_size) +
                  " bytes, ours have " + std::to_string(shared_.fabric->frame_size()));
  if (shared_.fabric->traits().node_only && section->head.node != node_tag_)
    return refuse(std::string(shared_.fabric->provider()) + " stays on its node");
  if (!shared_.fabric->local()) return true;
  sockaddr_storage where{};
  if (section->address.size() > sizeof where) return refuse("the peer's address is malformed");
  std::memcpy(&where, section->address.data(), section->address.size());
  const auto ip = IpAddress::from(reinterpret_cast<const sockaddr*>(&where));
  if (!ip) return refuse("the peer's address is not an IP address");
  return can_reach(*shared_.fabric->local(), *ip, section->head.node, why_not);
}

bool OfiLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  if (const OfiConnection* connection = connections_.of(peer)) {
    if (connection->state == State::handshake || connection->state == State::open) return true;
    if (connection->state != State::closed) {
      why_not = "the connection to the peer is broken";
      return false;
    }
  }
  OfiConnection* connection = connections_.make(peer, address, why_not);
  if (connection == nullptr) return false;
  connections_.add_pending(*connection);
  return true;
}

void OfiLink::close(PeerId peer) noexcept {
  OfiConnection* connection = connections_.of(peer);
  if (connection == nullptr) return;
  connections_.detach(peer);
  const bool notify = connection->state == State::open ||
                      (connection->state == State::handshake && connection->sent_hello);
  connection->state = notify ? State::closing : State::closed;
  connection->next_try = {};
  connection->quiet_since = shared_.present.now();
  connection->probe.stop();
  if (notify) {
    connections_.add_pending(*connection);
  } else {
    connections_.drop_held(*connection);
  }
  shared_.transfers.fail_connection(connection->slot);
}

// --- Progress ---

int OfiLink::poll() noexcept {
  int events = 0;
  std::array<fi_cq_data_entry, kBatch> entries;
  for (int batch = 0; batch < kBatchesPerPoll; ++batch) {
    const ssize_t count = fi_cq_read(shared_.fabric->cq(), entries.data(), entries.size());
    if (count == -FI_EAGAIN) break;
    if (count == -FI_EAVAIL) {
      ++events;
      on_error();
      continue;
    }
    if (count < 0) {
      connections_.break_all(fi_strerror(static_cast<int>(-count)));
      break;
    }
    for (ssize_t i = 0; i < count; ++i) on_completion(entries[static_cast<std::size_t>(i)]);
    events += static_cast<int>(count);
    int error = 0;
    if (!shared_.receives.all_posted() && !shared_.receives.post_free(error))
      connections_.break_all(fi_strerror(-error));
    if (count < kBatch) break;
  }
  if (!connections_.pending().empty()) {
    const Clock::time_point now = shared_.present.now();
    connections_.for_each_pending(
        [&](OfiConnection& connection) { return serve(connection, now); });
  }
  shared_.transfers.retry();
  return events;
}

void OfiLink::on_completion(const fi_cq_data_entry& entry) noexcept {
  if (entry.op_context == nullptr) return;
  OfiContext& context = *static_cast<OfiContext*>(entry.op_context);
  switch (context.kind) {
    case OfiContext::Kind::receive: {
      auto& buffer = static_cast<ReceiveBuffer&>(context);
      const bool multiple = shared_.receives.multiple();
      const auto* data = multiple ? static_cast<const std::byte*>(entry.buf) : buffer.data;
      if ((entry.flags & FI_RECV) != 0) on_frame({data, entry.len});
      if (!multiple || (entry.flags & FI_MULTI_RECV) != 0) shared_.receives.give_back(buffer);
      break;
    }
    case OfiContext::Kind::send: shared_.sends.give_back(static_cast<SendBuffer&>(context)); break;
    case OfiContext::Kind::transfer:
      shared_.transfers.completed(static_cast<Transfer&>(context));
      break;
  }
}

void OfiLink::on_error() noexcept {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(shared_.fabric->cq(), &entry, 0) < 0 || entry.op_context == nullptr) return;
  const char* why = fi_strerror(entry.err);
  OfiContext& context = *static_cast<OfiContext*>(entry.op_context);
  switch (context.kind) {
    case OfiContext::Kind::receive:
      // A peer has ended in the middle of a frame; the provider does not report which one.
      if (!shared_.receives.multiple() || (entry.flags & FI_MULTI_RECV) != 0)
        shared_.receives.give_back(static_cast<ReceiveBuffer&>(context));
      break;
    case OfiContext::Kind::send: {
      auto& buffer = static_cast<SendBuffer&>(context);
      OfiConnection& connection = connections_.at(buffer.slot);
      const bool again =
          buffer.handshake && connection.next_send == 1 && shared_.fabric->traits().listens_tcp;
      shared_.sends.give_back(buffer);
      if (!again) return connections_.break_off(connection, why);
      handshake_.repeat(connection);
      break;
    }
    case OfiContext::Kind::transfer: {
      auto& transfer = static_cast<Transfer&>(context);
      OfiConnection& connection = connections_.at(transfer.slot);
      const bool refused = entry.err == FI_EACCES || entry.err == FI_EFAULT ||
                           entry.err == FI_EINVAL || entry.err == FI_EKEYREJECTED;
      shared_.transfers.failed(transfer, refused ? Result::bad_address : Result::unreachable);
      if (!refused) connections_.break_off(connection, why);
      break;
    }
  }
}

void OfiLink::on_frame(std::span<const std::byte> bytes) noexcept {
  const std::span<const std::byte> frame = OfiFrames::without_padding(bytes);
  Header header;
  if (decode_header(frame, shared_.identity.tag, header) != HeaderFault::none)
    return shared_.counters.add(Counter::frames_dropped);
  const std::span<const std::byte> payload = frame.subspan(sizeof header);
  const auto type = static_cast<FrameType>(header.type);
  if (type == FrameType::hello) return handshake_.on_hello(payload);
  if (header.source >= connections_.all().size())
    return shared_.counters.add(Counter::frames_dropped);
  OfiConnection& connection = connections_.at(header.source);
  if (type == FrameType::hello_ack) return handshake_.on_hello_ack(connection, payload);
  frames_.arrived(connection, header.sequence, frame);
}

bool OfiLink::serve(OfiConnection& connection, Clock::time_point now) noexcept {
  if (connection.state == State::failing) connections_.break_off(connection, connection.failure);
  if (connection.state == State::broken || connection.state == State::closed) return false;

  if (!connection.held.empty() && !frames_.send_held(connection)) return false;
  const bool closing = connection.state == State::closing;
  if (!handshake_.advance(connection, now)) return false;
  if (closing && now - connection.quiet_since > kGiveUpClosing) {
    connection.state = State::closed;
    connections_.drop_held(connection);
    return false;
  }
  const bool gap = !connection.early.empty() && !closing;
  if (gap && now - connection.gap_since > kGiveUpGap) {
    connections_.break_off(connection,
                           "frame " + std::to_string(connection.next_receive) + " was lost");
    return false;
  }
  const bool unreachable =
      connection.state == State::handshake || connection.ack_due || connection.stalled;
  if (unreachable && !closing) watch(connection, now);
  return closing || ((unreachable || gap) && connection.state != State::broken);
}

void OfiLink::watch(OfiConnection& connection, Clock::time_point now) {
  if (!shared_.fabric->traits().listens_tcp || now - connection.quiet_since < kProbeAfter) return;
  connection.probe.start(std::as_bytes(std::span(connection.raw_address)));
  std::string why;
  switch (connection.probe.poll(why)) {
    case PeerProbe::Outcome::none: break;
    case PeerProbe::Outcome::alive: connection.quiet_since = now; break;
    case PeerProbe::Outcome::dead: connections_.break_off(connection, why); break;
  }
}

bool OfiLink::drained() const noexcept {
  const auto leaving = [](const OfiConnection* connection) {
    return connection->ack_due || (connection->state == State::closing &&
                                   connection->remote_slot != OfiConnection::kUnknown);
  };
  return shared_.sends.idle() &&
         std::none_of(connections_.pending().begin(), connections_.pending().end(), leaving);
}

// --- Remote memory ---

bool OfiLink::register_memory(void* data, std::size_t size, LinkRegion& out) {
  return !traits_.remote_memory || shared_.transfers.register_memory(data, size, out);
}

void OfiLink::deregister_memory(LinkRegion& region) noexcept {
  if (traits_.remote_memory) shared_.transfers.deregister_memory(region);
}

Link::Start OfiLink::transfer(bool put, PeerId peer, std::byte* local,
                              const LinkRegion& local_region, std::uint64_t address,
                              const LinkRegion& remote_region, std::size_t size,
                              Operation* operation) noexcept {
  const OfiConnection* connection = connections_.of(peer);
  if (!traits_.remote_memory || connection == nullptr) return Start::failed;
  if (connection->state == State::handshake) return Start::again;
  if (connection->state != State::open) return Start::failed;
  return shared_.transfers.start({put, connection->slot, connection->address, local, local_region,
                                  address, remote_region, size},
                                 operation);
}

Link::Start OfiLink::put(PeerId peer, const void* source, const LinkRegion& local,
                         std::uint64_t remote_address, const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(source));
  return transfer(true, peer, bytes, local, remote_address, remote, size, operation);
}

Link::Start OfiLink::get(PeerId peer, void* destination, const LinkRegion& local,
                         std::uint64_t remote_address, const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  return transfer(false, peer, static_cast<std::byte*>(destination), local, remote_address, remote,
                  size, operation);
}

}  // namespace lfc
