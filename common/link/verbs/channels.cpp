#include "link/verbs/channels.hpp"

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

bool Channels::open(std::string& why_not) {
  Channel trial;
  const bool possible = make_pair(trial, why_not);
  by_pair_.clear();
  return possible;
}

Channel* Channels::make(PeerId peer, const Address& address, std::string& why_not) {
  const std::optional<Endpoint> there = endpoint_of(address, shared_.link.name());
  if (!there || there->piece != shared_.here.piece || there->ethernet != shared_.here.ethernet) {
    why_not = "the peer's address is malformed";
    return nullptr;
  }
  return make(peer, address.identity(), *there, why_not);
}

Channel* Channels::make(PeerId peer, const Identity& identity, const Endpoint& there,
                        std::string& why_not) {
  auto channel = std::make_unique<Channel>();
  channel->slot = static_cast<std::uint32_t>(channels_.size());
  channel->peer = peer;
  channel->identity = identity;
  channel->there = there;
  if (!shared_.receives.promise(limits::kVerbsWindow + kUncounted, why_not)) return nullptr;
  ibv_ah_attr way = shared_.device->way_to(there.gid, there.lid);
  channel->way = own(shared_.device->api().create_ah(shared_.device->domain(), &way),
                     shared_.device->api().destroy_ah);
  if (!channel->way) why_not = std::string("no way to the peer: ") + std::strerror(errno);
  if (!channel->way || !make_pair(*channel, why_not)) {
    shared_.receives.release(limits::kVerbsWindow + kUncounted);
    return nullptr;
  }
  channel->repeat_after = kFirstRepeat;
  channel->silent_from =
      Clock::now() + shared_.options.connect_timeout / (shared_.is_mute ? 10 : 1);
  if (peer >= by_peer_.size()) by_peer_.resize(std::size_t{peer} + 1, nullptr);
  by_peer_[peer] = channel.get();
  return channels_.emplace_back(std::move(channel)).get();
}

Channel* Channels::replace(Channel& channel, std::string& why_not) {
  forget(channel);
  return make(channel.peer, channel.identity, channel.there, why_not);
}

bool Channels::make_pair(Channel& channel, std::string& why_not) {
  const Api& api = shared_.device->api();
  for (const unsigned size : {256u, 128u, 64u, 0u}) {  // as much as the device puts into a request
    if (inline_ != 0 && size > inline_) continue;
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = shared_.device->completions().queue();
    attributes.srq = shared_.receives.queue();
    attributes.qp_type = IBV_QPT_RC;
    pieces_inline_ = std::clamp(shared_.device->limits().max_sge, 1, 4);
    attributes.cap = {SendQueue::kDepth, 0, static_cast<std::uint32_t>(pieces_inline_), 0, size};
    channel.pair = own(api.create_qp(shared_.device->domain(), &attributes), api.destroy_qp);
    if (!channel.pair) continue;
    inline_ = size;
    break;
  }
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = shared_.device->choice().port.number;
  init.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  if (!channel.pair ||
      api.modify_qp(channel.pair.get(), &init,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
    why_not = std::string("a queue pair: ") + std::strerror(errno);
    return false;
  }
  by_pair_[channel.pair->qp_num] = &channel;
  const auto reads =
      static_cast<std::uint8_t>(std::clamp(shared_.device->limits().max_qp_rd_atom, 1, 16));
  channel.ours = {channel.pair->qp_num, static_cast<std::uint32_t>(random_key().low) & 0xffffffu,
                  static_cast<std::uint16_t>(limits::kVerbsWindow),
                  static_cast<std::uint8_t>(shared_.device->port().active_mtu), reads};
  return true;
}

bool Channels::connect(Channel& channel, std::string& why_not) {
  const Offer& theirs = channel.theirs;
  const auto change = [&](ibv_qp_attr attributes, int mask) {
    return shared_.device->api().modify_qp(channel.pair.get(), &attributes, mask) == 0;
  };
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = static_cast<ibv_mtu>(std::min(channel.ours.mtu, theirs.mtu));
  receive.dest_qp_num = theirs.queue_pair;
  receive.rq_psn = theirs.first;
  receive.max_dest_rd_atomic = channel.ours.reads;
  receive.min_rnr_timer = 12;  // 0.64 ms; nobody is to see it
  receive.ah_attr = shared_.device->way_to(channel.there.gid, channel.there.lid);
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = channel.ours.first;
  send.timeout = repeat_code(shared_.options.timeout);
  send.retry_cnt = shared_.options.retries;
  send.rnr_retry = shared_.options.rnr_retries;
  const int most = std::clamp(shared_.device->limits().max_qp_init_rd_atom, 1, 16);
  send.max_rd_atomic = static_cast<std::uint8_t>(std::clamp<int>(theirs.reads, 1, most));
  channel.connected =
      change(receive, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) &&
      change(send, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  channel.credits = theirs.window;
  if (!channel.connected) why_not = std::string("connecting: ") + std::strerror(errno);
  return channel.connected;
}

// --- What is due, and the end ---

void Channels::attend(Channel& channel) noexcept {
  if (std::exchange(channel.pending, true)) return;
  pending_.push_back(&channel);
}

void Channels::fail(Channel& channel, std::string_view why) noexcept {
  if (channel.state == State::closing) {
    channel.give_up = {};  // nobody waits to be told
    return attend(channel);
  }
  channel.state = State::failing;
  channel.failure = why;
  attend(channel);
}

void Channels::break_off(Channel& channel, std::string_view why) noexcept {
  const State before = std::exchange(channel.state, State::broken);
  if (before == State::closed || before == State::broken) {
    channel.state = before;
    return;
  }
  dispose(channel);
  shared_.receives.lose();
  if (before == State::closing) {
    channel.state = State::closed;
    return;
  }
  const std::string text = ends_of(channel) + ": " + std::string(why);
  shared_.sink.on_broken(channel.peer, shared_.link, text);
}

std::string Channels::ends_of(const Channel& channel) const {
  return shared_.device->choice().port.name() + ", " + text_of(shared_.here) + " to " +
         text_of(channel.there);
}

void Channels::end_if_done(Channel& channel) noexcept {
  const bool done = channel.goodbye_left && channel.heard_goodbye;
  if (channel.state != State::closing || !done) return;
  dispose(channel);
  channel.state = State::closed;
}

void Channels::forget(Channel& channel) noexcept {
  if (of(channel.peer) == &channel) detach(channel.peer);
  dispose(channel);
  channel.state = State::closed;
}

void Channels::dispose(Channel& channel) noexcept {
  if (!channel.has_pair()) return;
  const std::uint32_t number = channel.pair->qp_num;
  by_pair_.erase(number);
  channel.pair.reset();
  shared_.device->completions().forget(number);
  shared_.receives.release(limits::kVerbsWindow + kUncounted);
  // From here on the device touches none of it.
  shared_.outstanding -= channel.queue.outstanding();
  channel.queue.end_all([&](const Work& work) {
    if (work.what == Work::What::buffer) shared_.sends.give_back(work.buffer);
    if (work.what == Work::What::transfer)
      shared_.transfers.ended(*work.transfer, Result::unreachable);
  });
  shared_.transfers.cancel_waiting(channel);
}

}  // namespace lfc::verbs
