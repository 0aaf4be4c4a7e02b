#include "link/sim/sim_link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lfc {
namespace {

constexpr int kPollLimit = 64;

}  // namespace

SimLink::SimLink(SimFabric& fabric, SimFabric::Node node, FrameSink& sink, Counters& counters)
    : Link({.name = "sim",
            .kind = LinkTraits::Kind::sim,
            .remote_memory = fabric.options_.remote_memory,
            .one_sided = fabric.options_.remote_memory,
            .notified_puts = fabric.options_.notified_puts != 0}),
      fabric_(fabric),
      node_(node),
      sink_(sink),
      counters_(counters) {}

SimLink::~SimLink() { fabric_.kill(node_); }

void SimLink::publish(AddressWriter& writer) const {
  writer.add(name(), std::as_bytes(std::span(&node_, 1)));
}

void SimLink::set_own_address(std::span<const std::byte> address) {
  own_address_.assign(address.begin(), address.end());
  key_ = Address::parse(address)->identity().tag;
}

std::optional<SimFabric::Node> SimLink::node_of(const Address& address) noexcept {
  const auto section = address.section("sim");
  SimFabric::Node node = 0;
  if (section.size() != sizeof node) return std::nullopt;
  std::memcpy(&node, section.data(), sizeof node);
  return node;
}

bool SimLink::reach(const Address& peer, std::string& why_not) {
  const auto node = node_of(peer);
  if (node && *node < fabric_.nodes_.size()) return true;
  why_not = node ? "no such node in the fabric" : "peer has no sim link";
  return false;
}

SimLink::Remote& SimLink::at(PeerId peer) {
  if (remotes_.size() <= peer) remotes_.resize(peer + 1);
  return remotes_[peer];
}

bool SimLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  Remote& remote = at(peer);
  if (remote.state == Remote::State::closing) remote.state = Remote::State::connecting;
  if (remote.state == Remote::State::connecting || remote.state == Remote::State::connected)
    return true;
  if (!reach(address, why_not)) return false;
  const SimFabric::Node node = *node_of(address);
  if (!fabric_.usable(node_, node)) {
    why_not = "the network is cut";
    return false;
  }
  remote = Remote{Remote::State::connecting, node, address.identity().tag, ++fabric_.connections_};
  send_hello(remote, FrameType::hello, peer);
  return true;
}

// hello and hello_ack: the index under which we know the peer, and our address.
void SimLink::send_hello(Remote& remote, FrameType type, PeerId index) {
  const Slice slices[] = {{&index, sizeof index}, {own_address_.data(), own_address_.size()}};
  transmit(remote, type == FrameType::hello ? kNoPeer : remote.their_index, {type}, slices, 2);
}

void SimLink::close(PeerId peer) noexcept {
  Remote& remote = at(peer);
  if (remote.state != Remote::State::none) complete_copies(remote);
  if (remote.state == Remote::State::connecting) {
    remote.state = Remote::State::closing;  // goodbye can be sent once the peer has replied
    return;
  }
  if (remote.state == Remote::State::connected) send_goodbye(remote);
  remote = Remote{};
}

void SimLink::abandon(PeerId peer) noexcept {
  const Remote gone = std::exchange(at(peer), Remote{});
  if (gone.state == Remote::State::none) return;
  fabric_.give_up(node_, gone.node, gone.connection);
  complete_copies(gone);
}

void SimLink::send_goodbye(Remote& remote) {
  transmit(remote, remote.their_index, {FrameType::goodbye}, nullptr, 0);
}

void SimLink::transmit(Remote& remote, std::uint32_t source, Meta meta, const Slice* slices,
                       int count) {
  if (!fabric_.usable(node_, remote.node)) return;
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) size += slices[i].size;
  std::vector<std::byte> frame(sizeof(Header) + size);
  Header header;
  encode_header(header, remote.key, source, remote.next_sequence++, meta,
                static_cast<std::uint32_t>(size));
  std::memcpy(frame.data(), &header, sizeof header);
  std::byte* end = frame.data() + sizeof header;
  for (int i = 0; i < count; ++i) {
    if (slices[i].size != 0) std::memcpy(end, slices[i].data, slices[i].size);
    end += slices[i].size;
  }
  fabric_.transmit(node_, remote.node, remote.connection, std::move(frame));
}

SendStatus SimLink::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  Remote& remote = at(peer);
  switch (remote.state) {
    case Remote::State::connected: break;
    case Remote::State::connecting: return SendStatus::again;
    default: return SendStatus::broken;
  }
  if (!fabric_.has_room(node_, remote.node, !is_data(meta.type))) return SendStatus::again;
  transmit(remote, remote.their_index, meta, slices, count);
  return SendStatus::sent;
}

int SimLink::poll() noexcept {
  int events = 0;
  SimFabric::Event event;
  while (events < kPollLimit && fabric_.take(node_, event)) {
    ++events;
    switch (event.kind) {
      case SimFabric::Event::Kind::frame: handle_frame(event); break;
      case SimFabric::Event::Kind::broken: handle_broken(event.from); break;
      case SimFabric::Event::Kind::reset: handle_reset(event.from, event.connection); break;
      case SimFabric::Event::Kind::late_put: handle_late_put(event); break;
      case SimFabric::Event::Kind::notification:
        handle_notification(event.from, event.value);
        break;
      case SimFabric::Event::Kind::copy: {
        const Result result = fabric_.copy_result(node_, event.copy);
        if (result == Result::ok && event.copy.size != 0)
          std::memcpy(event.copy.destination, event.copy.source, event.copy.size);
        if (result == Result::ok && event.copy.notification)
          fabric_.send_notification(node_, event.copy);
        event.copy.operation->done(event.copy.operation, result);
        break;
      }
    }
  }
  return events;
}

void SimLink::handle_frame(SimFabric::Event& event) {
  const SimFabric::Node from = event.from;
  const std::span<const std::byte> frame = event.bytes;
  Header header;
  if (decode_header(frame, key_, header) != HeaderFault::none) return drop();
  const auto payload = frame.subspan(sizeof header);
  const Meta meta{static_cast<FrameType>(header.type), header.tag, header.credits};
  if (meta.type == FrameType::hello) return handle_hello(event, header);

  if (header.source >= remotes_.size()) return drop();
  Remote& remote = remotes_[header.source];
  // Frames that were under way when we closed the peer are no fault of the sender's.
  if (remote.state == Remote::State::none) return;
  if (remote.node != from) return drop();
  if (remote.connection != event.connection) return fabric_.give_up(node_, from, event.connection);
  if (remote.state == Remote::State::closed || remote.state == Remote::State::broken) return;
  if (header.sequence != remote.expected_sequence) {
    drop();
    const auto ahead = static_cast<std::int32_t>(header.sequence - remote.expected_sequence);
    if (ahead > 0) break_remote(header.source, "frames were lost");
    return;
  }
  ++remote.expected_sequence;

  switch (meta.type) {
    case FrameType::hello_ack:
      if (payload.size() < sizeof remote.their_index) return drop();
      std::memcpy(&remote.their_index, payload.data(), sizeof remote.their_index);
      if (remote.state == Remote::State::closing) {
        send_goodbye(remote);
        remote = Remote{};
      } else {
        remote.state = Remote::State::connected;
      }
      return;
    case FrameType::goodbye:
      remote.state = Remote::State::closed;
      complete_copies(remote);
      return;
    case FrameType::message: ++fabric_.pair(from, node_).delivered_messages; break;
    default: break;
  }
  sink_.on_frame(header.source, meta, payload);
}

void SimLink::handle_hello(SimFabric::Event& event, const Header& header) {
  const SimFabric::Node from = event.from;
  const auto payload = std::span<const std::byte>(event.bytes).subspan(sizeof header);
  std::uint32_t their_index = 0;
  if (payload.size() < sizeof their_index) return drop();
  std::memcpy(&their_index, payload.data(), sizeof their_index);
  const auto address = Address::parse(payload.subspan(sizeof their_index));
  if (!address || node_of(*address) != from) return drop();
  const PeerId peer = sink_.on_connect(*this, *address);
  if (peer == kNoPeer) return;
  if (peer == kPeerLater) return defer_hello(event);
  Remote& remote = at(peer);
  if (remote.state == Remote::State::connected && event.connection > remote.connection) {
    // The peer's node does not know the older connection any more.
    break_remote(peer, "the peer has given up the connection");
    return defer_hello(event);
  }
  switch (remote.state) {
    case Remote::State::connected:
    case Remote::State::broken: return drop();
    case Remote::State::closing:
    case Remote::State::connecting:  // both began: our sequence goes on
      remote.connection = std::min(remote.connection, event.connection);
      break;
    case Remote::State::none:
    case Remote::State::closed:
      remote = Remote{};
      remote.connection = event.connection;
      break;
  }
  remote.state = Remote::State::connected;
  remote.node = from;
  remote.key = address->identity().tag;
  remote.their_index = their_index;
  remote.expected_sequence = header.sequence + 1;
  send_hello(remote, FrameType::hello_ack, peer);
}

// The hello arrives again at the next tick.
void SimLink::defer_hello(SimFabric::Event& event) {
  ++fabric_.pair(event.from, node_).frames;
  fabric_.enqueue(node_, fabric_.now() + 1, std::move(event));
}

void SimLink::handle_broken(SimFabric::Node from) {
  for (PeerId peer = 0; peer < remotes_.size(); ++peer) {
    const Remote& remote = remotes_[peer];
    const bool open =
        remote.state == Remote::State::connecting || remote.state == Remote::State::connected;
    if (open && remote.node == from) break_remote(peer, "the node is gone");
  }
}

void SimLink::handle_notification(SimFabric::Node from, std::uint32_t value) {
  for (PeerId peer = 0; peer < remotes_.size(); ++peer) {
    const Remote& remote = remotes_[peer];
    if (remote.state == Remote::State::connected && remote.node == from)
      return sink_.on_notified(peer, value);
  }
}

void SimLink::break_remote(PeerId peer, std::string_view why) {
  remotes_[peer].state = Remote::State::broken;
  complete_copies(remotes_[peer]);
  sink_.on_broken(peer, *this, why);
}

void SimLink::handle_reset(SimFabric::Node from, std::uint32_t connection) {
  fabric_.drop_frames(node_, connection);
  for (PeerId peer = 0; peer < remotes_.size(); ++peer) {
    const Remote& remote = remotes_[peer];
    const bool open =
        remote.state == Remote::State::connecting || remote.state == Remote::State::connected;
    if (open && remote.node == from && remote.connection == connection)
      break_remote(peer, "the peer has given up the connection");
  }
}

void SimLink::handle_late_put(const SimFabric::Event& event) {
  const bool open = std::any_of(remotes_.begin(), remotes_.end(), [&](const Remote& remote) {
    return remote.state == Remote::State::connected && remote.connection == event.connection;
  });
  if (open && fabric_.copy_result(event.from, event.copy) != Result::bad_address)
    std::memcpy(event.copy.destination, event.bytes.data(), event.bytes.size());
}

// Drops all copies that are under way to the remote's node.
void SimLink::complete_copies(const Remote& remote) {
  for (Operation* operation : fabric_.take_copies(node_, remote.node, remote.connection))
    operation->done(operation, Result::unreachable);
}

bool SimLink::register_memory(void* data, std::size_t size, LinkRegion& out) {
  out.key = fabric_.regions_.size();
  out.base = reinterpret_cast<std::uint64_t>(data);
  fabric_.regions_.push_back({node_, out.base, size, true});
  return true;
}

void SimLink::deregister_memory(LinkRegion& region) noexcept {
  if (region.key < fabric_.regions_.size()) fabric_.regions_[region.key].live = false;
}

Link::Start SimLink::start_copy(PeerId peer, SimFabric::Copy copy) noexcept {
  const Remote& remote = at(peer);
  if (!fabric_.options_.remote_memory) return Start::failed;
  if (remote.state == Remote::State::connecting) return Start::again;
  if (remote.state != Remote::State::connected) return Start::failed;
  if (!fabric_.usable(node_, remote.node) || fabric_.refuse()) return Start::again;
  copy.target = remote.node;
  SimFabric::Event event;
  event.kind = SimFabric::Event::Kind::copy;
  event.copy = copy;
  fabric_.enqueue(node_, fabric_.copy_arrival(node_, remote.node), std::move(event));
  ++fabric_.totals_.copies;
  return Start::started;
}

SimFabric::Copy SimLink::copy_of_put(const void* source, std::uint64_t remote_address,
                                     const LinkRegion& remote, std::size_t size,
                                     Operation* operation) noexcept {
  SimFabric::Copy copy;
  copy.destination = reinterpret_cast<void*>(remote_address);
  copy.source = source;
  copy.size = size;
  copy.key = remote.key;
  copy.remote_address = remote_address;
  copy.operation = operation;
  copy.is_put = true;
  return copy;
}

Link::Start SimLink::put(PeerId peer, const void* source, const LinkRegion&,
                         std::uint64_t remote_address, const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  return start_copy(peer, copy_of_put(source, remote_address, remote, size, operation));
}

Link::Start SimLink::put_notified(PeerId peer, const void* source, const LinkRegion&,
                                  std::uint64_t remote_address, const LinkRegion& remote,
                                  std::size_t size, std::uint32_t value,
                                  Operation* operation) noexcept {
  if (size > fabric_.options_.notified_puts) return Start::failed;
  SimFabric::Copy copy = copy_of_put(source, remote_address, remote, size, operation);
  copy.notification = value;
  return start_copy(peer, copy);
}

Link::Start SimLink::get(PeerId peer, void* destination, const LinkRegion&,
                         std::uint64_t remote_address, const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  SimFabric::Copy copy;
  copy.destination = destination;
  copy.source = reinterpret_cast<const void*>(remote_address);
  copy.size = size;
  copy.key = remote.key;
  copy.remote_address = remote_address;
  copy.operation = operation;
  return start_copy(peer, copy);
}

}  // namespace lfc
