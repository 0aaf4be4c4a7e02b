// Channels: how they begin and end, and what goes wrong with them.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "link/verbs/verbs_link_impl.hpp"

namespace lfc {

std::unique_ptr<Link> make_verbs_link(const VerbsOptions& options, const Identity& identity,
                                      FrameSink& sink, Counters& counters, std::string& why_not) {
  using namespace verbs;
  const Api* api = load_api(why_not);
  if (api == nullptr) return nullptr;
  std::vector<Choice> chosen;
  if (!choose_ports(options.selection, list_ports(*api), list_interfaces(), chosen, why_not))
    return nullptr;
  std::unique_ptr<Device> device = Device::open(*api, chosen.front(), kCompletions, why_not);
  if (!device) return nullptr;
  auto link = std::make_unique<VerbsLink>(options, identity, sink, counters, std::move(device));
  if (!link->open(why_not)) return nullptr;
  return link;
}

std::string without_rdma_devices(std::string_view selection) {
  std::vector<Interface> chosen;
  std::string problem;
  const std::vector<Interface> all = list_interfaces();
  // Devices are looked for only if there is a word that is not understood without.
  if (select_interfaces(selection, all, chosen, problem)) return std::string(selection);
  const verbs::Api* api = verbs::load_api(problem);
  if (api == nullptr) return std::string(selection);
  return verbs::without_devices(selection, verbs::list_ports(*api), all);
}

}  // namespace lfc

namespace lfc::verbs {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstRepeat = 20ms;
constexpr auto kLongestRepeat = 2s;
constexpr auto kNoRoom = 1ms;
constexpr auto kFarewell = 1s;  // for a peer to say its own

std::optional<Endpoint> endpoint_of(const Address& peer, std::string_view link) {
  const std::span<const std::byte> section = peer.section(link);
  if (section.size() != sizeof(Endpoint)) return std::nullopt;
  return load_pod<Endpoint>(section.data());
}

}  // namespace

// Says goodbye to all, and gives what is on its way a moment to arrive.
VerbsLink::~VerbsLink() {
  ending_ = true;
  transfers_.forget_callers();
  for (PeerId peer = 0; peer < by_peer_.size(); ++peer) close(peer);
  const auto leaves = [](const auto& channel) {
    return channel->state == State::closing && !channel->goodbye_left && !channel->heard_goodbye;
  };
  const auto deadline = Clock::now() + kFarewell;
  while (std::any_of(channels_.begin(), channels_.end(), leaves) && Clock::now() < deadline)
    if (poll() == 0) ::usleep(20);
  for (const auto& channel : channels_) dispose(*channel);
}

// --- Addresses ---

void VerbsLink::publish(AddressWriter& writer) const {
  writer.add(name(), std::as_bytes(std::span(&here_, 1)));
}

void VerbsLink::set_own_address(std::span<const std::byte> address) {
  own_address_.assign(address.begin(), address.end());
}

bool VerbsLink::reach(const Address& peer, std::string& why_not) {
  const std::optional<Endpoint> there = endpoint_of(peer, name());
  why_not = peer.identity().name == identity_.name ? "it is this process itself"
            : peer.section(name()).empty()         ? "the peer has no such link"
            : !there                               ? "the peer's address is malformed"
            : there->ethernet != here_.ethernet    ? "one is InfiniBand, the other Ethernet"
            : there->piece != here_.piece          ? "the peer's buffers are of another size"
                                                   : "";
  if (!why_not.empty()) return false;
  if (here_.ethernet != 0) {
    Gid gid;
    gid.raw = there->gid;
    return can_reach(*device_->choice().interface, gid.ip(), there->host, why_not);
  }
  if (std::equal(here_.gid.begin(), here_.gid.begin() + 8, there->gid.begin())) return true;
  why_not = "it is in another subnet of InfiniBand";
  return false;
}

// --- Queue pairs ---

Channel* VerbsLink::make_channel(PeerId peer, const Address& address, std::string& why_not) {
  const std::optional<Endpoint> there = endpoint_of(address, name());
  if (!there || there->piece != here_.piece || there->ethernet != here_.ethernet) {
    why_not = "the peer's address is malformed";
    return nullptr;
  }
  auto channel = std::make_unique<Channel>();
  channel->slot = static_cast<std::uint32_t>(channels_.size());
  channel->peer = peer;
  channel->identity = address.identity();
  channel->there = *there;
  if (!receives_.promise(limits::kVerbsWindow + kUncounted, why_not)) return nullptr;
  ibv_ah_attr way = device_->way_to(there->gid, there->lid);
  channel->way = own(device_->api().create_ah(device_->domain(), &way), device_->api().destroy_ah);
  if (!channel->way) why_not = std::string("no way to the peer: ") + std::strerror(errno);
  if (!channel->way || !make_pair(*channel, why_not)) {
    receives_.release(limits::kVerbsWindow + kUncounted);
    return nullptr;
  }
  channel->repeat_after = kFirstRepeat;
  channel->knock_from = Clock::now() + options_.connect_timeout;
  if (peer >= by_peer_.size()) by_peer_.resize(std::size_t{peer} + 1, nullptr);
  by_peer_[peer] = channel.get();
  return channels_.emplace_back(std::move(channel)).get();
}

bool VerbsLink::make_pair(Channel& channel, std::string& why_not) {
  const Api& api = device_->api();
  for (const unsigned size : {256u, 128u, 64u, 0u}) {  // as much as the device puts into a request
    if (inline_ != 0 && size > inline_) continue;
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = device_->completions().queue();
    attributes.srq = receives_.queue();
    attributes.qp_type = IBV_QPT_RC;
    pieces_inline_ = std::clamp(device_->limits().max_sge, 1, 4);
    attributes.cap = {SendQueue::kDepth, 0, static_cast<std::uint32_t>(pieces_inline_), 0, size};
    channel.pair = own(api.create_qp(device_->domain(), &attributes), api.destroy_qp);
    if (!channel.pair) continue;
    inline_ = size;
    break;
  }
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = device_->choice().port.number;
  init.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  if (!channel.pair ||
      api.modify_qp(channel.pair.get(), &init,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
    why_not = std::string("a queue pair: ") + std::strerror(errno);
    return false;
  }
  by_pair_[channel.pair->qp_num] = &channel;
  const auto reads = static_cast<std::uint8_t>(std::clamp(device_->limits().max_qp_rd_atom, 1, 16));
  channel.ours = {channel.pair->qp_num, static_cast<std::uint32_t>(random_key().low) & 0xffffffu,
                  static_cast<std::uint16_t>(limits::kVerbsWindow),
                  static_cast<std::uint8_t>(device_->port().active_mtu), reads};
  return true;
}

bool VerbsLink::connect_pair(Channel& channel, std::string& why_not) {
  const Offer& theirs = channel.theirs;
  const auto change = [&](ibv_qp_attr attributes, int mask) {
    return device_->api().modify_qp(channel.pair.get(), &attributes, mask) == 0;
  };
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = static_cast<ibv_mtu>(std::min(channel.ours.mtu, theirs.mtu));
  receive.dest_qp_num = theirs.queue_pair;
  receive.rq_psn = theirs.first;
  receive.max_dest_rd_atomic = channel.ours.reads;
  receive.min_rnr_timer = 12;  // 0.64 ms; nobody is to see it
  receive.ah_attr = device_->way_to(channel.there.gid, channel.there.lid);
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = channel.ours.first;
  send.timeout = repeat_code(options_.timeout);
  send.retry_cnt = options_.retries;
  send.rnr_retry = options_.rnr_retries;
  const int most = std::clamp(device_->limits().max_qp_init_rd_atom, 1, 16);
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

bool VerbsLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  if (const Channel* channel = channel_of(peer)) {
    if (channel->state == State::setting_up || channel->state == State::open) return true;
    if (channel->state == State::broken || channel->state == State::failing) {
      why_not = "the connection to the peer is broken";
      return false;
    }
  }
  if (!address.has_key() || own_address_.empty()) {
    why_not = !address.has_key() ? "the peer's key is not known"
                                 : "the link does not know its own process's address yet";
    return false;
  }
  Channel* channel = make_channel(peer, address, why_not);
  if (channel == nullptr) return false;
  channel->our_nonce = random_key();
  channel->asks = true;
  attend(*channel);
  return true;
}

// --- Hellos ---

bool VerbsLink::say(Channel& channel, HelloPart::Kind kind) noexcept {
  const bool answer = kind == HelloPart::Kind::answer;
  HelloPart head;
  head.tag = channel.identity.tag;
  head.kind = kind;
  head.offer = channel.ours;
  head.nonce = answer ? channel.their_nonce : channel.our_nonce;
  std::span<const std::byte> address;
  if (kind == HelloPart::Kind::ask) address = own_address_;
  head.proof = proof_of(head, answer ? identity_ : channel.identity, name(), address);
  bool all = true;
  for (const auto& part : encode(head, address, datagrams_.room()))
    all =
        datagrams_.send(channel.way.get(), {channel.there.greeter, channel.there.key}, part) && all;
  return all;
}

void VerbsLink::on_datagram(std::span<const std::byte> bytes) noexcept {
  const Hello* hello = ending_ ? nullptr : inbox_.accept(bytes);
  if (hello == nullptr) return;
  switch (hello->head.kind) {
    case HelloPart::Kind::ask: return on_ask(*hello);
    case HelloPart::Kind::answer: return on_answer(*hello);
    case HelloPart::Kind::gone: return on_gone(*hello);
  }
}

void VerbsLink::on_ask(const Hello& hello) {
  const Key& nonce = hello.head.nonce;
  for (const auto& known : channels_) {
    if (!(known->their_nonce == nonce)) continue;
    // Our answer got lost, or is on its way.
    known->answers = known->state == State::setting_up || known->state == State::open;
    if (known->answers) attend(*known);
    return;
  }
  const std::optional<Address> from = Address::parse(hello.address);
  const bool proven = hello.head.proof == proof_of(hello.head, identity_, name(), hello.address);
  if (!proven || !from || from->has_key() || from->identity().name == identity_.name)
    return counters_.add(Counter::frames_dropped);
  const PeerId peer = sink_.on_connect(*this, *from);
  if (peer == kNoPeer) return counters_.add(Counter::frames_dropped);
  Channel* channel = channel_of(peer);
  const bool over =
      channel != nullptr && (channel->state == State::closing || channel->state == State::closed);
  std::string why_not;
  if (channel == nullptr || over) {
    channel = make_channel(peer, *from, why_not);
    if (channel == nullptr) return counters_.add(Counter::frames_dropped);
  } else if (channel->state != State::setting_up || channel->their_nonce) {
    return;  // the end of the earlier one is on its way
  }
  channel->their_nonce = nonce;
  if (!channel->connected) {
    channel->theirs = hello.head.offer;
    if (!connect_pair(*channel, why_not)) return break_channel(*channel, why_not);
  }
  channel->answers = true;
  channel->next_try = {};
  attend(*channel);
}

void VerbsLink::on_answer(const Hello& hello) {
  for (const auto& channel : channels_) {
    if (!channel->our_nonce || !(channel->our_nonce == hello.head.nonce)) continue;
    if (!(hello.head.proof == proof_of(hello.head, channel->identity, name(), {})))
      return counters_.add(Counter::frames_dropped);
    if (channel->state == State::closed || channel->state == State::broken) {
      static_cast<void>(say(*channel, HelloPart::Kind::gone));
      return;
    }
    if (channel->state != State::setting_up) return;
    std::string why_not;
    channel->theirs = hello.head.offer;
    if (!channel->connected && !connect_pair(*channel, why_not))
      return break_channel(*channel, why_not);
    channel->state = State::open;
    send_note(*channel, kOpen);
    return;
  }
}

void VerbsLink::on_gone(const Hello& hello) {
  for (const auto& channel : channels_) {
    if (channel->state != State::setting_up || !(channel->their_nonce == hello.head.nonce))
      continue;
    if (!(hello.head.proof == proof_of(hello.head, identity_, name(), {}))) return;
    dispose(*channel);
    channel->state = State::closed;
    return;
  }
}

// --- Attention ---

void VerbsLink::attend(Channel& channel) noexcept {
  if (std::exchange(channel.pending, true)) return;
  pending_.push_back(&channel);
}

void VerbsLink::attend_pending() noexcept {
  const Clock::time_point now = Clock::now();
  attending_.swap(pending_);
  for (Channel* channel : attending_) {
    channel->pending = false;
    if (attend_to(*channel, now)) attend(*channel);
  }
  attending_.clear();
}

bool VerbsLink::attend_to(Channel& channel, Clock::time_point now) noexcept {
  switch (channel.state) {
    case State::failing: break_channel(channel, channel.failure); return false;
    case State::setting_up: return attend_to_hello(channel, now);
    case State::open:
      if (channel.answers && say(channel, HelloPart::Kind::answer)) channel.answers = false;
      return channel.answers;
    case State::closing:
      if (!channel.said_goodbye) channel.said_goodbye = send_note(channel, kGoodbye);
      if (now > channel.give_up) {
        dispose(channel);
        channel.state = State::closed;
      }
      end_if_done(channel);
      return channel.state == State::closing;
    case State::closed:
    case State::broken: break;
  }
  return false;
}

bool VerbsLink::attend_to_hello(Channel& channel, Clock::time_point now) noexcept {
  if (now < channel.next_try) return true;
  if (is_gone(channel, now)) {
    break_channel(channel, "no process answers there any more");
    return false;
  }
  bool all = true;
  if (channel.answers) all = say(channel, HelloPart::Kind::answer);
  if (channel.asks) all = say(channel, HelloPart::Kind::ask) && all;
  channel.next_try = now + (all ? channel.repeat_after : Clock::duration(kNoRoom));
  if (all)
    channel.repeat_after = std::min<Clock::duration>(channel.repeat_after * 2, kLongestRepeat);
  return true;
}

// --- The end ---

void VerbsLink::close(PeerId peer) noexcept {
  Channel* channel = channel_of(peer);
  if (channel == nullptr) return;
  by_peer_[peer] = nullptr;
  transfers_.cancel_waiting(*channel);
  if (channel->state == State::open) {
    channel->state = State::closing;
    channel->give_up = Clock::now() + kFarewell;
    channel->said_goodbye = send_note(*channel, kGoodbye);
    attend(*channel);
  } else if (channel->state == State::setting_up || channel->state == State::failing) {
    dispose(*channel);
    channel->state = State::closed;
  }
}

void VerbsLink::end_if_done(Channel& channel) noexcept {
  const bool done = channel.goodbye_left && channel.heard_goodbye;
  if (channel.state != State::closing || !done) return;
  dispose(channel);
  channel.state = State::closed;
}

void VerbsLink::dispose(Channel& channel) noexcept {
  if (!channel.has_pair()) return;
  const std::uint32_t number = channel.pair->qp_num;
  by_pair_.erase(number);
  channel.pair.reset();
  device_->completions().forget(number);
  receives_.release(limits::kVerbsWindow + kUncounted);
  // From here on the device touches none of it.
  outstanding_ -= channel.queue.outstanding();
  channel.queue.end_all([&](const Work& work) {
    if (work.what == Work::What::buffer) sends_.give_back(work.buffer);
    if (work.what == Work::What::transfer) transfers_.ended(*work.transfer, Result::unreachable);
  });
  transfers_.cancel_waiting(channel);
}

}  // namespace lfc::verbs
