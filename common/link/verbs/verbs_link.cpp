#include "link/verbs/verbs_link.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "link/verbs/verbs_link_impl.hpp"

namespace lfc::verbs {
namespace {

constexpr int kPerPoll = 64;
constexpr std::uint32_t kSendBuffers = 128;
constexpr std::uint32_t kControlBuffers = 8;
constexpr std::size_t kLargestInline = 256;
constexpr int kMostSlices = 4;
constexpr std::uint32_t kNotesRoom = 8;  // of a send queue, for frames of the link's own

std::size_t piece_size() noexcept { return limits::kVerbsPiece / 8 * 8; }

std::uint32_t word_of(const Word& word) noexcept {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &word, sizeof bits);
  return bits;
}

// Copies `size` bytes of the slices, from `offset` on.
void gather(std::byte* out, const Slice* slices, int count, std::size_t offset, std::size_t size) {
  for (int i = 0; i < count && size != 0; ++i) {
    if (offset >= slices[i].size) {
      offset -= slices[i].size;
      continue;
    }
    const std::size_t part = std::min(size, slices[i].size - offset);
    std::memcpy(out, static_cast<const std::byte*>(slices[i].data) + offset, part);
    out += part;
    size -= part;
    offset = 0;
  }
}

}  // namespace

VerbsLink::VerbsLink(const VerbsOptions& options, const Identity& identity, FrameSink& sink,
                     Counters& counters, std::unique_ptr<Device> device)
    : Link({.name = options.name, .wakes = true}),
      options_(options),
      identity_(identity),
      sink_(sink),
      counters_(counters),
      device_(std::move(device)),
      health_(*device_, repeat_time(options.timeout) * (options.retries + 1)),
      transfers_(*device_, outstanding_),
      inbox_(identity.tag) {}

bool VerbsLink::open(std::string& why_not) {
  const std::size_t piece = piece_size();
  // A whole frame finds room as soon as the peer has read what it was sent, though it owes less than half a window.
  payload_ = std::min<std::size_t>(limits::kVerbsPayload,
                                   (limits::kVerbsWindow / 2 - kControlFrames) * piece);
  Channel trial;
  if (!receives_.open(*device_, piece, why_not) ||
      !sends_.open(*device_, piece, kSendBuffers, why_not) || !datagrams_.open(*device_, why_not) ||
      !make_pair(trial, why_not))
    return false;
  by_pair_.clear();
  traits_.remote_memory = options_.remote_memory && transfers_.open(inline_, why_not);
  traits_.one_sided = traits_.registration_costs = traits_.remote_memory;
  here_.host = host_tag();
  here_.gid = device_->choice().gid.raw;
  here_.greeter = datagrams_.own().queue_pair;
  here_.key = datagrams_.own().key;
  here_.piece = static_cast<std::uint16_t>(piece);
  if (device_->choice().interface) door_.open(device_->choice().interface->address);
  here_.door = door_.port();
  here_.lid = device_->port().lid;
  here_.ethernet = device_->choice().port.ethernet ? 1 : 0;
  return true;
}

// --- Sending ---

SendStatus VerbsLink::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  Channel* channel = channel_of(peer);
  if (channel == nullptr) return SendStatus::broken;
  if (channel->state != State::open) [[unlikely]]
    return channel->state == State::setting_up ? SendStatus::again : SendStatus::broken;
  const std::size_t size = total_size(slices, count);
  const bool data = is_data(meta.type);
  const std::size_t piece = here_.piece;
  const auto pieces = size <= piece ? 1u : static_cast<std::uint32_t>((size + piece - 1) / piece);
  if (channel->credits < pieces + (data ? kControlFrames : 0) ||
      channel->queue.room() < pieces + kNotesRoom + (data ? kControlFrames : 0) ||
      outstanding_ + pieces > kMostOutstanding) [[unlikely]]
    return SendStatus::again;
  const Word word{static_cast<std::uint8_t>(meta.type), meta.tag, meta.credits, 0};
  if (size <= inline_) {
    if (!send_inline(*channel, word, slices, count, size)) return SendStatus::broken;
  } else {
    if (sends_.free() < pieces + (data ? kControlBuffers : 0)) return SendStatus::again;
    if (!send_pieces(*channel, word, slices, count, size)) return SendStatus::broken;
  }
  channel->credits -= pieces;
  return SendStatus::sent;
}

std::uint8_t VerbsLink::collect(Channel& channel) noexcept {
  const std::uint32_t count = std::min(channel.owed, 255u);
  channel.owed -= count;
  return static_cast<std::uint8_t>(count);
}

bool VerbsLink::post(Channel& channel, Word word, ibv_sge* pieces, int count, const Work& work,
                     bool more) noexcept {
  word.returned = collect(channel);
  const SendQueue::Place place = channel.queue.push(work, more);
  ibv_send_wr request{};
  request.wr_id = WorkId{WorkId::Kind::send, channel.slot, place.number}.word();
  request.sg_list = pieces;
  request.num_sge = count;
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = word_of(word);
  request.send_flags = (place.signalled ? IBV_SEND_SIGNALED : 0) |
                       (work.what != Work::What::buffer && count != 0 ? IBV_SEND_INLINE : 0);
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(channel.pair.get(), &request, &bad) == 0) [[likely]] {
    ++outstanding_;
    return true;
  }
  channel.queue.take_back(place);
  fail(channel, "the device refuses to send");
  return false;
}

bool VerbsLink::send_inline(Channel& channel, Word word, const Slice* slices, int count,
                            std::size_t size) noexcept {
  std::array<ibv_sge, kMostSlices> pieces;
  int used = 0;
  alignas(8) std::byte whole[kLargestInline];
  if (count <= pieces_inline_) {
    for (int i = 0; i < count; ++i)
      if (slices[i].size != 0)
        pieces[static_cast<std::size_t>(used++)] = {reinterpret_cast<std::uint64_t>(slices[i].data),
                                                    static_cast<std::uint32_t>(slices[i].size), 0};
  } else if (size != 0) {
    gather(whole, slices, count, 0, size);
    pieces[static_cast<std::size_t>(used++)] = {reinterpret_cast<std::uint64_t>(whole),
                                                static_cast<std::uint32_t>(size), 0};
  }
  return post(channel, word, pieces.data(), used, {}, false);
}

bool VerbsLink::send_pieces(Channel& channel, Word word, const Slice* slices, int count,
                            std::size_t size) noexcept {
  const std::uint8_t type = word.type;
  for (std::size_t at = 0; at < size; at += here_.piece) {
    const std::size_t part = std::min<std::size_t>(here_.piece, size - at);
    const bool more = at + part < size;
    const std::uint32_t buffer = sends_.take();
    gather(sends_.data(buffer), slices, count, at, part);
    ibv_sge piece{reinterpret_cast<std::uint64_t>(sends_.data(buffer)),
                  static_cast<std::uint32_t>(part), sends_.key()};
    word.type = more ? type | kMore : type;
    if (post(channel, word, &piece, 1, {Work::What::buffer, buffer}, more)) continue;
    sends_.give_back(buffer);
    return false;
  }
  return true;
}

bool VerbsLink::send_note(Channel& channel, std::uint8_t type) noexcept {
  if (channel.queue.room() == 0) return false;
  const auto what = type == kGoodbye ? Work::What::goodbye : Work::What::nothing;
  return post(channel, {type}, nullptr, 0, {what}, false);
}

// --- Receiving ---

int VerbsLink::poll() noexcept {
  int events = 0;
  for (; events < kPerPoll; ++events) {
    const ibv_wc* ended = device_->completions().next();
    if (ended == nullptr) break;
    const ibv_wc copy = *ended;
    on_completion(copy);
  }
  if (events != 0) {
    receives_.post();
    transfers_.retry();
  }
  if (events == 0 && health_.is_due()) heed_events();
  if (!due_.empty()) return_credits();
  if (!pending_.empty()) attend_pending();
  if (asked_to_drain_) ask_for_ends();
  return events;
}

void VerbsLink::on_completion(const ibv_wc& ended) noexcept {
  const WorkId id = WorkId::of(ended.wr_id);
  switch (id.kind) {
    case WorkId::Kind::receive: return on_receive(ended, id.number);
    case WorkId::Kind::send:
      if (ended.qp_num != kNoQueuePair && channels_[id.slot]->has_pair())
        on_sent(*channels_[id.slot], id.number, ended.status);
      return;
    case WorkId::Kind::datagram_out: return datagrams_.sent(id.number);
    case WorkId::Kind::datagram_in:
      if (ended.status == IBV_WC_SUCCESS)
        on_datagram(datagrams_.received(id.number, ended.byte_len));
      return datagrams_.give_back(id.number);
  }
}

void VerbsLink::on_sent(Channel& channel, std::uint32_t number, ibv_wc_status status) noexcept {
  const std::uint32_t before = channel.queue.outstanding();
  const bool ok = status == IBV_WC_SUCCESS;
  const bool refused = status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR;
  std::uint32_t left = before;
  channel.queue.end(number, [&](const Work& work) {
    // A failed one is the last of those that have ended; an error says nothing of what was before it.
    const Result result = ok ? Result::ok : refused ? Result::bad_address : Result::unreachable;
    --left;
    if (work.what == Work::What::buffer) sends_.give_back(work.buffer);
    if (work.what == Work::What::goodbye) channel.goodbye_left = true;
    if (work.what == Work::What::transfer) transfers_.ended(*work.transfer, result);
  });
  outstanding_ -= before - left;
  if (!ok) return break_channel(channel, device_->api().wc_status_str(status));
  if (channel.state == State::closing) end_if_done(channel);
}

void VerbsLink::on_receive(const ibv_wc& ended, std::uint32_t index) noexcept {
  const auto found = by_pair_.find(ended.qp_num);
  Channel* channel = found == by_pair_.end() ? nullptr : found->second;
  const bool ok = ended.status == IBV_WC_SUCCESS;
  bool counted = false;
  const char* broken = nullptr;
  if (channel != nullptr && ok) {
    const auto word = load_pod<Word>(reinterpret_cast<const std::byte*>(&ended.imm_data));
    if (channel->state == State::setting_up) channel->state = State::open;
    if (channel->state == State::open || channel->state == State::closing) {
      channel->credits += word.returned;
      if (channel->credits > channel->theirs.window)
        broken = "the peer returns more than it was sent";
      counted = accept(*channel, word, {receives_.data(index), ended.byte_len});
    }
  }
  receives_.give_back(index);
  if (channel == nullptr) return;
  if (!ok) broken = device_->api().wc_status_str(ended.status);
  if (broken != nullptr) return break_channel(*channel, broken);
  if (!counted || channel->state != State::open) return;
  if (++channel->owed < limits::kVerbsWindow / 2 || std::exchange(channel->due, true)) return;
  due_.push_back(channel);
}

bool VerbsLink::accept(Channel& channel, Word word, std::span<const std::byte> bytes) noexcept {
  if (word.type == kNote || word.type == kOpen || word.type == kGoodbye) {
    on_note(channel, word.type);
    return false;
  }
  if (channel.state != State::open) return true;
  const auto type = static_cast<FrameType>(word.type & ~kMore);
  std::vector<std::byte>& pieces = channel.pieces;
  if (!is_valid(type) || pieces.size() + bytes.size() > payload_) {
    break_channel(channel, "the peer breaks the protocol");
    return true;
  }
  const Meta meta{type, word.tag, word.credits};
  if ((word.type & kMore) != 0) {
    if (pieces.capacity() < payload_) pieces.reserve(payload_);
    pieces.insert(pieces.end(), bytes.begin(), bytes.end());
  } else if (pieces.empty()) {
    sink_.on_frame(channel.peer, meta, bytes);
  } else {
    pieces.insert(pieces.end(), bytes.begin(), bytes.end());
    sink_.on_frame(channel.peer, meta, pieces);
    pieces.clear();
  }
  return true;
}

void VerbsLink::on_note(Channel& channel, std::uint8_t type) noexcept {
  if (type != kGoodbye) return;
  channel.heard_goodbye = true;
  if (channel.state == State::open) {
    channel.state = State::closing;
    channel.give_up = Clock::now() + std::chrono::seconds(1);
  }
  attend(channel);
}

void VerbsLink::return_credits() noexcept {
  std::vector<Channel*> still;
  for (Channel* channel : due_) {
    channel->due = false;
    if (channel->state != State::open || channel->owed < limits::kVerbsWindow / 2) continue;
    if (send_note(*channel, kNote)) continue;
    if (channel->state != State::open) continue;
    channel->due = true;
    still.push_back(channel);
  }
  due_.swap(still);
}

void VerbsLink::ask_for_ends() noexcept {
  asked_to_drain_ = false;
  for (const auto& channel : channels_) {
    if (!channel->has_pair() || !channel->queue.is_silent() || channel->queue.room() == 0) continue;
    // A write of no bytes: the peer notices nothing, and its device answers.
    const SendQueue::Place place = channel->queue.push({Work::What::probe}, false);
    ibv_send_wr request{};
    request.wr_id = WorkId{WorkId::Kind::send, channel->slot, place.number}.word();
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(channel->pair.get(), &request, &bad) == 0) {
      ++outstanding_;
    } else {
      channel->queue.take_back(place);
    }
  }
}

// --- Waiting ---

void VerbsLink::wait_fds(std::vector<int>& out) const {
  out.push_back(device_->completions().fd());
  out.push_back(device_->event_fd());
}

Link::Armed VerbsLink::arm() noexcept {
  Completions& completions = device_->completions();
  const bool armed = completions.arm();
  heed_events();
  if (completions.any()) return Armed::busy;
  const bool clock = !pending_.empty() || !due_.empty() || !armed || health_.is_timed();
  return clock ? Armed::partly : Armed::fully;
}

void VerbsLink::disarm() noexcept { device_->completions().disarm(); }

bool VerbsLink::drained() const noexcept {
  if (outstanding_ != 0) asked_to_drain_ = true;
  const auto leaving = [](const Channel* channel) {
    return channel->state == State::closing && !channel->heard_goodbye;
  };
  return outstanding_ == 0 && std::none_of(pending_.begin(), pending_.end(), leaving);
}

std::size_t VerbsLink::memory() const noexcept {
  return receives_.memory() + sends_.memory() + datagrams_.memory();
}

// --- Remote memory ---

bool VerbsLink::register_memory(void* data, std::size_t size, LinkRegion& out) {
  if (traits_.remote_memory) transfers_.register_memory(data, size, out);
  return true;
}

void VerbsLink::deregister_memory(LinkRegion& region) noexcept {
  if (traits_.remote_memory) transfers_.deregister_memory(region);
}

Link::Start VerbsLink::transfer(bool put, PeerId peer, std::byte* local,
                                const LinkRegion& local_region, std::uint64_t address,
                                const LinkRegion& remote_region, std::size_t size,
                                Operation* operation) noexcept {
  Channel* channel = channel_of(peer);
  if (!traits_.remote_memory || channel == nullptr) return Start::failed;
  if (channel->state == State::setting_up) return Start::again;
  if (channel->state != State::open) return Start::failed;
  if (outstanding_ + 2 > kMostOutstanding) return Start::again;
  return transfers_.start({put, *channel, local, local_region, address, remote_region, size},
                          operation);
}

Link::Start VerbsLink::put(PeerId peer, const void* source, const LinkRegion& local,
                           std::uint64_t address, const LinkRegion& remote, std::size_t size,
                           Operation* operation) noexcept {
  auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(source));
  return transfer(true, peer, bytes, local, address, remote, size, operation);
}

Link::Start VerbsLink::get(PeerId peer, void* destination, const LinkRegion& local,
                           std::uint64_t address, const LinkRegion& remote, std::size_t size,
                           Operation* operation) noexcept {
  return transfer(false, peer, static_cast<std::byte*>(destination), local, address, remote, size,
                  operation);
}

}  // namespace lfc::verbs
