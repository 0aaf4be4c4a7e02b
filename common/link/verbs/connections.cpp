#include "link/verbs/connections.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace lfc::verbs {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstRepeat = 20ms;

std::string text_of(const Endpoint& there) {
  Gid gid;
  gid.raw = there.gid;
  const std::string lid = there.ethernet == 0 ? "LID " + std::to_string(there.lid) + " " : "";
  return lid + "GID " + gid.ip().text();
}

}  // namespace

std::optional<Endpoint> endpoint_of(const Address& peer, std::string_view link) {
  const std::span<const std::byte> section = peer.section(link);
  if (section.size() != sizeof(Endpoint)) return std::nullopt;
  return load_pod<Endpoint>(section.data());
}

bool Connections::open(std::string& why_not) {
  Connection trial;
  const bool possible = make_pair(trial, why_not);
  by_pair_.clear();
  return possible;
}

Connection* Connections::make(PeerId peer, const Address& address, std::string& why_not) {
  const std::optional<Endpoint> there = endpoint_of(address, shared_.link.name());
  if (!there || there->piece != shared_.here.piece || there->ethernet != shared_.here.ethernet) {
    why_not = "the peer's address is malformed";
    return nullptr;
  }
  return make(peer, address.identity(), *there, why_not);
}

Connection* Connections::make(PeerId peer, const Identity& identity, const Endpoint& there,
                              std::string& why_not) {
  auto connection = std::make_unique<Connection>();
  connection->slot = static_cast<std::uint32_t>(connections_.size());
  connection->peer = peer;
  connection->identity = identity;
  connection->there = there;
  if (!shared_.receives.promise(limits::kVerbsWindow + kUncounted, why_not)) return nullptr;
  ibv_ah_attr way = shared_.device->way_to(there.gid, there.lid);
  connection->way = own(shared_.device->api().create_ah(shared_.device->domain(), &way),
                        shared_.device->api().destroy_ah);
  if (!connection->way) why_not = std::string("no way to the peer: ") + std::strerror(errno);
  if (!connection->way || !make_pair(*connection, why_not)) {
    shared_.receives.release(limits::kVerbsWindow + kUncounted);
    return nullptr;
  }
  connection->repeat_after = kFirstRepeat;
  connection->silent_from =
      shared_.present.now() + shared_.options.connect_timeout / (shared_.is_unresponsive ? 10 : 1);
  if (peer >= by_peer_.size()) by_peer_.resize(std::size_t{peer} + 1, nullptr);
  by_peer_[peer] = connection.get();
  return connections_.emplace_back(std::move(connection)).get();
}

Connection* Connections::replace(Connection& connection, std::string& why_not) {
  forget(connection);
  return make(connection.peer, connection.identity, connection.there, why_not);
}

bool Connections::make_pair(Connection& connection, std::string& why_not) {
  const Api& api = shared_.device->api();
  for (const unsigned size :
       {256u, 128u, 64u, 0u}) {  // the most that the device takes into a request
    if (inline_ != 0 && size > inline_) continue;
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = shared_.device->completions().queue();
    attributes.srq = shared_.receives.queue();
    attributes.qp_type = IBV_QPT_RC;
    pieces_inline_ = std::clamp(shared_.device->limits().max_sge, 1, 4);
    attributes.cap = {SendQueue::kDepth, 0, static_cast<std::uint32_t>(pieces_inline_), 0, size};
    connection.pair = own(api.create_qp(shared_.device->domain(), &attributes), api.destroy_qp);
    if (!connection.pair) continue;
    inline_ = size;
    break;
  }
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = shared_.device->choice().port.number;
  init.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  if (!connection.pair ||
      api.modify_qp(connection.pair.get(), &init,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
    why_not = std::string("a queue pair: ") + std::strerror(errno);
    return false;
  }
  by_pair_[connection.pair->qp_num] = &connection;
  const auto reads =
      static_cast<std::uint8_t>(std::clamp(shared_.device->limits().max_qp_rd_atom, 1, 16));
  connection.ours = {connection.pair->qp_num,
                     static_cast<std::uint32_t>(random_key().low) & 0xffffffu,
                     static_cast<std::uint16_t>(limits::kVerbsWindow),
                     static_cast<std::uint8_t>(shared_.device->port().active_mtu), reads};
  return true;
}

bool Connections::connect(Connection& connection, std::string& why_not) {
  const Offer& theirs = connection.theirs;
  const auto change = [&](ibv_qp_attr attributes, int mask) {
    return shared_.device->api().modify_qp(connection.pair.get(), &attributes, mask) == 0;
  };
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = static_cast<ibv_mtu>(std::min(connection.ours.mtu, theirs.mtu));
  receive.dest_qp_num = theirs.queue_pair;
  receive.rq_psn = theirs.first;
  receive.max_dest_rd_atomic = connection.ours.reads;
  receive.min_rnr_timer = 12;  // 0.64 ms; a receiver is never found not ready
  receive.ah_attr = shared_.device->way_to(connection.there.gid, connection.there.lid);
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = connection.ours.first;
  send.timeout = repeat_code(shared_.options.timeout);
  send.retry_cnt = shared_.options.retries;
  send.rnr_retry = shared_.options.rnr_retries;
  const int most = std::clamp(shared_.device->limits().max_qp_init_rd_atom, 1, 16);
  send.max_rd_atomic = static_cast<std::uint8_t>(std::clamp<int>(theirs.reads, 1, most));
  connection.connected =
      change(receive, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) &&
      change(send, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  connection.credits = theirs.window;
  if (!connection.connected) why_not = std::string("connecting: ") + std::strerror(errno);
  return connection.connected;
}

// --- Deadlines, and the end ---

void Connections::add_pending(Connection& connection) noexcept {
  if (std::exchange(connection.pending, true)) return;
  pending_.push_back(&connection);
}

void Connections::fail(Connection& connection, std::string_view why) noexcept {
  if (connection.state == State::closing) {
    connection.give_up = {};  // no process waits for the report
    return add_pending(connection);
  }
  connection.state = State::failing;
  connection.failure = why;
  add_pending(connection);
}

void Connections::break_off(Connection& connection, std::string_view why) noexcept {
  const State before = std::exchange(connection.state, State::broken);
  if (before == State::closed || before == State::broken) {
    connection.state = before;
    return;
  }
  dispose(connection);
  shared_.receives.lose();
  if (before == State::closing) {
    connection.state = State::closed;
    return;
  }
  const std::string text = ends_of(connection) + ": " + std::string(why);
  shared_.sink.on_broken(connection.peer, shared_.link, text);
}

std::string Connections::ends_of(const Connection& connection) const {
  return shared_.device->choice().port.name() + ", " + text_of(shared_.here) + " to " +
         text_of(connection.there);
}

void Connections::end_if_done(Connection& connection) noexcept {
  const bool done = connection.goodbye_left && connection.received_goodbye;
  if (connection.state != State::closing || !done) return;
  dispose(connection);
  connection.state = State::closed;
}

void Connections::forget(Connection& connection) noexcept {
  if (of(connection.peer) == &connection) detach(connection.peer);
  dispose(connection);
  connection.state = State::closed;
}

void Connections::dispose(Connection& connection) noexcept {
  if (!connection.has_pair()) return;
  const std::uint32_t number = connection.pair->qp_num;
  by_pair_.erase(number);
  connection.pair.reset();
  shared_.device->completions().forget(number);
  shared_.receives.release(limits::kVerbsWindow + kUncounted);
  // From here on the device touches none of it.
  shared_.outstanding -= connection.queue.outstanding();
  connection.queue.end_all([&](const Work& work) {
    if (work.what == Work::What::buffer) shared_.sends.give_back(work.buffer);
    if (work.what == Work::What::transfer)
      shared_.transfers.ended(*work.transfer, Result::unreachable);
  });
  shared_.transfers.cancel_waiting(connection);
}

}  // namespace lfc::verbs
