#include "link/verbs/verbs_link.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "link/verbs/verbs_link_impl.hpp"

namespace lfc {

std::unique_ptr<Link> make_verbs_link(const VerbsOptions& options, const Identity& identity,
                                      FrameSink& sink, Counters& counters, std::string& why_not) {
  using namespace verbs;
  const Api* api = load_api(why_not);
  if (api == nullptr) return nullptr;
  std::vector<Choice> chosen;
  if (!choose_ports(options.selection, list_ports(*api), options.interfaces, chosen, why_not))
    return nullptr;
  std::unique_ptr<Device> device = Device::open(*api, chosen.front(), kCompletions, why_not);
  if (!device) return nullptr;
  auto link = std::make_unique<VerbsLink>(options, identity, sink, counters, std::move(device));
  if (!link->open(why_not)) return nullptr;
  return link;
}

// The kernel's file has for example "4: ACTIVE".
bool has_active_rdma_port(const char* devices) {
  std::error_code none;
  for (const auto& device : std::filesystem::directory_iterator(devices, none))
    for (const auto& port : std::filesystem::directory_iterator(device.path() / "ports", none)) {
      std::ifstream state(port.path() / "state");
      int number = 0;
      if (state >> number && number == IBV_PORT_ACTIVE) return true;
    }
  return false;
}

std::string without_rdma_devices(std::string_view selection, const std::vector<Interface>& all) {
  std::vector<Interface> chosen;
  std::string problem;
  // Searches for devices only if an item names no interface.
  if (select_interfaces(selection, all, chosen, problem)) return std::string(selection);
  const verbs::Api* api = verbs::load_api(problem);
  if (api == nullptr) return std::string(selection);
  return verbs::without_devices(selection, verbs::list_ports(*api), all);
}

}  // namespace lfc

namespace lfc::verbs {
namespace {

using namespace std::chrono_literals;

constexpr int kPerPoll = 64;
constexpr auto kFarewell = 1s;  // for the peer's goodbye

}  // namespace

VerbsLink::VerbsLink(const VerbsOptions& options, const Identity& identity, FrameSink& sink,
                     Counters& counters, std::unique_ptr<Device> device)
    : Link({.name = options.name, .kind = LinkTraits::Kind::verbs, .wakes = true}),
      shared_(*this, options, identity, sink, counters, std::move(device)),
      health_(*shared_.device, repeat_time(options.timeout) * (options.retries + 1)) {}

bool VerbsLink::open(std::string& why_not) {
  if (!frames_.open(why_not) || !handshake_.open(why_not) || !connections_.open(why_not))
    return false;
  const Device& device = *shared_.device;
  traits_.remote_memory =
      shared_.options.remote_memory && shared_.transfers.open(connections_.inline_size(), why_not);
  traits_.one_sided = traits_.registration_costs = traits_.notified_puts = traits_.remote_memory;
  shared_.here.node = node_tag();
  shared_.here.gid = device.choice().gid.raw;
  shared_.here.lid = device.port().lid;
  shared_.here.ethernet = device.choice().port.ethernet ? 1 : 0;
  return true;
}

// Sends a goodbye to each peer, and waits up to kFarewell for frames that are on their way.
VerbsLink::~VerbsLink() {
  handshake_.end();
  shared_.transfers.forget_callers();
  for (PeerId peer = 0; peer < connections_.peers(); ++peer) close(peer);
  const auto leaves = [](const auto& connection) {
    return connection->state == State::closing && !connection->goodbye_left &&
           !connection->received_goodbye;
  };
  const auto deadline = Clock::now() + kFarewell;
  while (std::any_of(connections_.all().begin(), connections_.all().end(), leaves) &&
         Clock::now() < deadline)
    if (poll() == 0) ::usleep(20);
  for (const auto& connection : connections_.all()) connections_.dispose(*connection);
}

// --- Addresses ---

void VerbsLink::publish(AddressWriter& writer) const {
  writer.add(name(), std::as_bytes(std::span(&shared_.here, 1)));
}

bool VerbsLink::reach(const Address& peer, std::string& why_not) {
  const std::optional<Endpoint> there = endpoint_of(peer, name());
  why_not = peer.identity().name == shared_.identity.name ? "it is this process itself"
            : peer.section(name()).empty()                ? "the peer has no such link"
            : !there                                      ? "the peer's address is malformed"
            : there->ethernet != shared_.here.ethernet    ? "one is InfiniBand, the other Ethernet"
            : there->piece != shared_.here.piece          ? "the peer's buffers are of another size"
                                                          : "";
  if (!why_not.empty()) return false;
  if (shared_.here.ethernet != 0) {
    Gid gid;
    gid.raw = there->gid;
    return can_reach(*shared_.device->choice().interface, gid.ip(), there->node, why_not);
  }
  if (std::equal(shared_.here.gid.begin(), shared_.here.gid.begin() + 8, there->gid.begin()))
    return true;
  why_not = "it is in another subnet of InfiniBand";
  return false;
}

bool VerbsLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  if (Connection* connection = connections_.of(peer)) {
    connection->wanted = true;
    if (address.has_key()) connection->identity = address.identity();
    if (connection->state == State::setting_up || connection->state == State::open) return true;
    if (connection->state == State::broken || connection->state == State::failing) {
      why_not = "the connection to the peer is broken";
      return false;
    }
  }
  if (!address.has_key() || !handshake_.knows_own_address()) {
    why_not = !address.has_key() ? "the peer's key is not known"
                                 : "the link does not know its own process's address yet";
    return false;
  }
  Connection* connection = connections_.make(peer, address, why_not);
  if (connection == nullptr) return false;
  handshake_.request(*connection);
  return true;
}

void VerbsLink::close(PeerId peer) noexcept {
  Connection* connection = connections_.of(peer);
  if (connection == nullptr) return;
  connections_.detach(peer);
  shared_.transfers.cancel_waiting(*connection);
  if (connection->state == State::open) {
    connection->state = State::closing;
    connection->give_up = shared_.present.now() + kFarewell;
    connection->sent_goodbye = frames_.send_note(*connection, kGoodbye);
    connections_.add_pending(*connection);
  } else if (connection->state == State::setting_up || connection->state == State::failing) {
    connections_.dispose(*connection);
    connection->state = State::closed;
  }
}

// --- Progress ---

int VerbsLink::poll() noexcept {
  int events = 0;
  for (; events < kPerPoll; ++events) {
    const ibv_wc* ended = shared_.device->completions().next();
    if (ended == nullptr) break;
    const ibv_wc copy = *ended;
    on_completion(copy);
  }
  if (events != 0) {
    shared_.receives.post();
    shared_.transfers.retry();
  }
  if (events == 0 && health_.is_due()) handle_events();
  if (frames_.owes()) frames_.return_credits();
  if (!connections_.pending().empty()) {
    const Clock::time_point now = shared_.present.now();
    connections_.for_each_pending([&](Connection& connection) { return serve(connection, now); });
  }
  if (std::exchange(drain_requested_, false)) frames_.request_completions();
  return events;
}

void VerbsLink::on_completion(const ibv_wc& ended) noexcept {
  const WorkId id = WorkId::of(ended.wr_id);
  switch (id.kind) {
    case WorkId::Kind::receive: return frames_.on_receive(ended, id.number);
    case WorkId::Kind::send:
      if (ended.qp_num != kNoQueuePair && connections_.at(id.slot).has_pair())
        frames_.on_sent(connections_.at(id.slot), id.number, ended.status);
      return;
    case WorkId::Kind::datagram_out: return handshake_.datagrams().sent(id.number);
    case WorkId::Kind::datagram_in:
      if (ended.status == IBV_WC_SUCCESS)
        handshake_.on_datagram(handshake_.datagrams().received(id.number, ended.byte_len));
      return handshake_.datagrams().give_back(id.number);
  }
}

void VerbsLink::handle_events() noexcept {
  while (const std::optional<Health::Loss> loss = health_.next(Clock::now()))
    for (const auto& connection : connections_.all()) {
      const bool its = loss->queue_pair == kNoQueuePair ||
                       (connection->has_pair() && connection->pair->qp_num == loss->queue_pair);
      const bool usable =
          connection->state == State::setting_up || connection->state == State::open;
      if (its && usable) connections_.fail(*connection, loss->why);
    }
}

bool VerbsLink::serve(Connection& connection, Clock::time_point now) noexcept {
  switch (connection.state) {
    case State::failing: connections_.break_off(connection, connection.failure); return false;
    case State::setting_up: return handshake_.proceed(connection, now);
    case State::open: return handshake_.repeat_reply(connection);
    case State::closing:
      if (!connection.sent_goodbye)
        connection.sent_goodbye = frames_.send_note(connection, kGoodbye);
      if (now > connection.give_up) {
        connections_.dispose(connection);
        connection.state = State::closed;
      }
      connections_.end_if_done(connection);
      return connection.state == State::closing;
    case State::closed:
    case State::broken: break;
  }
  return false;
}

// --- Waiting ---

void VerbsLink::wait_fds(std::vector<int>& out) const {
  out.push_back(shared_.device->completions().fd());
  out.push_back(shared_.device->event_fd());
}

Link::Armed VerbsLink::arm() noexcept {
  Completions& completions = shared_.device->completions();
  const bool armed = completions.arm();
  handle_events();
  if (completions.any()) return Armed::busy;
  const bool clock =
      !connections_.pending().empty() || frames_.owes() || !armed || health_.is_timed();
  return clock ? Armed::partly : Armed::fully;
}

void VerbsLink::disarm() noexcept { shared_.device->completions().disarm(); }

bool VerbsLink::drained() const noexcept {
  if (shared_.outstanding != 0) drain_requested_ = true;
  const auto leaving = [](const Connection* connection) {
    return connection->state == State::closing && !connection->received_goodbye;
  };
  return shared_.outstanding == 0 &&
         std::none_of(connections_.pending().begin(), connections_.pending().end(), leaving);
}

std::size_t VerbsLink::memory() const noexcept {
  return shared_.receives.memory() + shared_.sends.memory() + handshake_.datagrams().memory();
}

// --- Remote memory ---

bool VerbsLink::register_memory(void* data, std::size_t size, LinkRegion& out) {
  if (traits_.remote_memory) shared_.transfers.register_memory(data, size, out);
  return true;
}

void VerbsLink::deregister_memory(LinkRegion& region) noexcept {
  if (traits_.remote_memory) shared_.transfers.deregister_memory(region);
}

Link::Start VerbsLink::transfer(bool put, PeerId peer, std::byte* local,
                                const LinkRegion& local_region, std::uint64_t address,
                                const LinkRegion& remote_region, std::size_t size,
                                Operation* operation,
                                std::optional<std::uint32_t> notification) noexcept {
  Connection* connection = connections_.of(peer);
  if (!traits_.remote_memory || connection == nullptr) return Start::failed;
  if (connection->state == State::setting_up) return Start::again;
  if (connection->state != State::open) return Start::failed;
  if (shared_.outstanding + 2 > kMostOutstanding) return Start::again;
  if (notification && !frames_.may_notify(*connection)) return Start::again;
  const Start start = shared_.transfers.start(
      {put, *connection, local, local_region, address, remote_region, size, notification},
      operation);
  if (notification && start == Start::started) --connection->credits;
  return start;
}

Link::Start VerbsLink::put(PeerId peer, const void* source, const LinkRegion& local,
                           std::uint64_t address, const LinkRegion& remote, std::size_t size,
                           Operation* operation) noexcept {
  auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(source));
  return transfer(true, peer, bytes, local, address, remote, size, operation);
}

Link::Start VerbsLink::put_notified(PeerId peer, const void* source, const LinkRegion& local,
                                    std::uint64_t address, const LinkRegion& remote,
                                    std::size_t size, std::uint32_t value,
                                    Operation* operation) noexcept {
  auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(source));
  return transfer(true, peer, bytes, local, address, remote, size, operation, value);
}

Link::Start VerbsLink::get(PeerId peer, void* destination, const LinkRegion& local,
                           std::uint64_t address, const LinkRegion& remote, std::size_t size,
                           Operation* operation) noexcept {
  return transfer(false, peer, static_cast<std::byte*>(destination), local, address, remote, size,
                  operation);
}

}  // namespace lfc::verbs
