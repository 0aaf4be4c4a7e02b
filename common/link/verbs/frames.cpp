#include "link/verbs/frames.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace lfc::verbs {
namespace {

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

bool Frames::open(std::string& why_not) {
  const std::size_t piece = piece_size();
  // A whole frame finds room as soon as the peer has read what it was sent, though it owes less than half a window.
  payload_ = std::min<std::size_t>(limits::kVerbsPayload,
                                   (limits::kVerbsWindow / 2 - kControlFrames) * piece);
  shared_.here.piece = static_cast<std::uint16_t>(piece);
  return shared_.receives.open(*shared_.device, piece, why_not) &&
         shared_.sends.open(*shared_.device, piece, kSendBuffers, why_not);
}

// --- Sending ---

SendStatus Frames::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  Channel* channel = channels_.of(peer);
  if (channel == nullptr) return SendStatus::broken;
  if (channel->state != State::open) [[unlikely]]
    return channel->state == State::setting_up ? SendStatus::again : SendStatus::broken;
  const std::size_t size = total_size(slices, count);
  const bool data = is_data(meta.type);
  const std::size_t piece = shared_.here.piece;
  const auto pieces = size <= piece ? 1u : static_cast<std::uint32_t>((size + piece - 1) / piece);
  if (channel->credits < pieces + (data ? kControlFrames : 0) ||
      channel->queue.room() < pieces + kNotesRoom + (data ? kControlFrames : 0) ||
      shared_.outstanding + pieces > kMostOutstanding) [[unlikely]]
    return SendStatus::again;
  const Word word{static_cast<std::uint8_t>(meta.type), meta.tag, meta.credits, 0};
  if (size <= channels_.inline_size()) {
    if (!send_inline(*channel, word, slices, count, size)) return SendStatus::broken;
  } else {
    if (shared_.sends.free() < pieces + (data ? kControlBuffers : 0)) return SendStatus::again;
    if (!send_pieces(*channel, word, slices, count, size)) return SendStatus::broken;
  }
  channel->credits -= pieces;
  return SendStatus::sent;
}

std::uint8_t Frames::collect(Channel& channel) noexcept {
  const std::uint32_t count = std::min(channel.owed, 255u);
  channel.owed -= count;
  return static_cast<std::uint8_t>(count);
}

bool Frames::post(Channel& channel, Word word, ibv_sge* pieces, int count, const Work& work,
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
    ++shared_.outstanding;
    return true;
  }
  channel.queue.take_back(place);
  channels_.fail(channel, "the device refuses to send");
  return false;
}

bool Frames::send_inline(Channel& channel, Word word, const Slice* slices, int count,
                         std::size_t size) noexcept {
  std::array<ibv_sge, kMostSlices> pieces;
  int used = 0;
  alignas(8) std::byte whole[kLargestInline];
  if (count <= channels_.pieces_inline()) {
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

bool Frames::send_pieces(Channel& channel, Word word, const Slice* slices, int count,
                         std::size_t size) noexcept {
  const std::uint8_t type = word.type;
  for (std::size_t at = 0; at < size; at += shared_.here.piece) {
    const std::size_t part = std::min<std::size_t>(shared_.here.piece, size - at);
    const bool more = at + part < size;
    const std::uint32_t buffer = shared_.sends.take();
    gather(shared_.sends.data(buffer), slices, count, at, part);
    ibv_sge piece{reinterpret_cast<std::uint64_t>(shared_.sends.data(buffer)),
                  static_cast<std::uint32_t>(part), shared_.sends.key()};
    word.type = more ? type | kMore : type;
    if (post(channel, word, &piece, 1, {Work::What::buffer, buffer}, more)) continue;
    shared_.sends.give_back(buffer);
    return false;
  }
  return true;
}

bool Frames::send_note(Channel& channel, std::uint8_t type) noexcept {
  if (channel.queue.room() == 0) return false;
  const auto what = type == kGoodbye ? Work::What::goodbye : Work::What::nothing;
  return post(channel, {type}, nullptr, 0, {what}, false);
}

// --- Receiving ---

void Frames::on_sent(Channel& channel, std::uint32_t number, ibv_wc_status status) noexcept {
  const std::uint32_t before = channel.queue.outstanding();
  const bool ok = status == IBV_WC_SUCCESS;
  const bool refused = status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR;
  std::uint32_t left = before;
  channel.queue.end(number, [&](const Work& work) {
    // A failed one is the last of those that have ended; an error says nothing of what was before it.
    const Result result = ok ? Result::ok : refused ? Result::bad_address : Result::unreachable;
    --left;
    if (work.what == Work::What::buffer) shared_.sends.give_back(work.buffer);
    if (work.what == Work::What::goodbye) channel.goodbye_left = true;
    if (work.what == Work::What::transfer) shared_.transfers.ended(*work.transfer, result);
  });
  shared_.outstanding -= before - left;
  if (!ok) return channels_.break_off(channel, shared_.device->reason_of(status));
  if (channel.state == State::closing) channels_.end_if_done(channel);
}

void Frames::on_receive(const ibv_wc& ended, std::uint32_t index) noexcept {
  Channel* channel = channels_.of_pair(ended.qp_num);
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
      counted = accept(*channel, word, {shared_.receives.data(index), ended.byte_len});
    }
  }
  shared_.receives.give_back(index);
  if (channel == nullptr) return;
  if (!ok) broken = shared_.device->reason_of(ended.status);
  if (broken != nullptr) return channels_.break_off(*channel, broken);
  if (!counted || channel->state != State::open) return;
  if (++channel->owed < limits::kVerbsWindow / 2 || std::exchange(channel->due, true)) return;
  due_.push_back(channel);
}

bool Frames::accept(Channel& channel, Word word, std::span<const std::byte> bytes) noexcept {
  if (word.type == kNote || word.type == kOpen || word.type == kGoodbye) {
    on_note(channel, word.type);
    return false;
  }
  if (channel.state != State::open) return true;
  const auto type = static_cast<FrameType>(word.type & ~kMore);
  std::vector<std::byte>& pieces = channel.pieces;
  if (!is_valid(type) || pieces.size() + bytes.size() > payload_) {
    channels_.break_off(channel, "the peer breaks the protocol");
    return true;
  }
  const Meta meta{type, word.tag, word.credits};
  if ((word.type & kMore) != 0) {
    if (pieces.capacity() < payload_) pieces.reserve(payload_);
    pieces.insert(pieces.end(), bytes.begin(), bytes.end());
  } else if (pieces.empty()) {
    shared_.sink.on_frame(channel.peer, meta, bytes);
  } else {
    pieces.insert(pieces.end(), bytes.begin(), bytes.end());
    shared_.sink.on_frame(channel.peer, meta, pieces);
    pieces.clear();
  }
  return true;
}

void Frames::on_note(Channel& channel, std::uint8_t type) noexcept {
  if (type != kGoodbye) return;
  channel.heard_goodbye = true;
  if (channel.state == State::open) {
    channel.state = State::closing;
    channel.give_up = Channel::Clock::now() + std::chrono::seconds(1);
  }
  channels_.attend(channel);
}

void Frames::return_credits() noexcept {
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

void Frames::ask_for_ends() noexcept {
  for (const auto& channel : channels_.all()) {
    if (!channel->has_pair() || !channel->queue.is_silent() || channel->queue.room() == 0) continue;
    // A write of no bytes: the peer notices nothing, and its device answers.
    const SendQueue::Place place = channel->queue.push({Work::What::probe}, false);
    ibv_send_wr request{};
    request.wr_id = WorkId{WorkId::Kind::send, channel->slot, place.number}.word();
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(channel->pair.get(), &request, &bad) == 0) {
      ++shared_.outstanding;
    } else {
      channel->queue.take_back(place);
    }
  }
}

}  // namespace lfc::verbs
