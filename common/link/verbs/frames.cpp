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
  // The largest frame fits into the credits of a peer that has read all frames and still owes less than is due.
  payload_ = std::min<std::size_t>(
      limits::kVerbsPayload,
      (limits::kVerbsWindow - OwedCredits::refresh(limits::kVerbsWindow) - kControlFrames) * piece);
  shared_.here.piece = static_cast<std::uint16_t>(piece);
  return shared_.receives.open(*shared_.device, piece, why_not) &&
         shared_.sends.open(*shared_.device, piece, kSendBuffers, why_not);
}

// --- Sending ---

SendStatus Frames::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  Connection* connection = connections_.of(peer);
  if (connection == nullptr) return SendStatus::broken;
  if (connection->state != State::open) [[unlikely]]
    return connection->state == State::setting_up ? SendStatus::again : SendStatus::broken;
  const std::size_t size = total_size(slices, count);
  const bool data = is_data(meta.type);
  const std::size_t piece = shared_.here.piece;
  const auto pieces = size <= piece ? 1u : static_cast<std::uint32_t>((size + piece - 1) / piece);
  if (connection->credits < pieces + (data ? kControlFrames : 0) ||
      connection->queue.room() < pieces + kNotesRoom + (data ? kControlFrames : 0) ||
      shared_.outstanding + pieces > kMostOutstanding) [[unlikely]]
    return SendStatus::again;
  const Word word{static_cast<std::uint8_t>(meta.type), meta.tag, meta.credits, 0};
  if (size <= connections_.inline_size()) {
    if (!send_inline(*connection, word, slices, count, size)) return SendStatus::broken;
  } else {
    if (shared_.sends.free() < pieces + (data ? kControlBuffers : 0)) return SendStatus::again;
    if (!send_pieces(*connection, word, slices, count, size)) return SendStatus::broken;
  }
  connection->credits -= pieces;
  return SendStatus::sent;
}

std::uint8_t Frames::collect(Connection& connection) noexcept {
  const std::uint32_t count = std::min(connection.owed.count(), 255u);
  connection.owed.collect(count);
  return static_cast<std::uint8_t>(count);
}

bool Frames::post(Connection& connection, Word word, ibv_sge* pieces, int count, const Work& work,
                  bool more) noexcept {
  word.returned = collect(connection);
  const SendQueue::Place place = connection.queue.push(work, more);
  ibv_send_wr request{};
  request.wr_id = WorkId{WorkId::Kind::send, connection.slot, place.number}.word();
  request.sg_list = pieces;
  request.num_sge = count;
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = word_of(word);
  request.send_flags = (place.signalled ? IBV_SEND_SIGNALED : 0) |
                       (work.what != Work::What::buffer && count != 0 ? IBV_SEND_INLINE : 0);
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(connection.pair.get(), &request, &bad) == 0) [[likely]] {
    ++shared_.outstanding;
    return true;
  }
  connection.queue.take_back(place);
  connections_.fail(connection, "the device refuses to send");
  return false;
}

bool Frames::send_inline(Connection& connection, Word word, const Slice* slices, int count,
                         std::size_t size) noexcept {
  std::array<ibv_sge, kMostSlices> pieces;
  int used = 0;
  alignas(8) std::byte whole[kLargestInline];
  if (count <= connections_.pieces_inline()) {
    for (int i = 0; i < count; ++i)
      if (slices[i].size != 0)
        pieces[static_cast<std::size_t>(used++)] = {reinterpret_cast<std::uint64_t>(slices[i].data),
                                                    static_cast<std::uint32_t>(slices[i].size), 0};
  } else if (size != 0) {
    gather(whole, slices, count, 0, size);
    pieces[static_cast<std::size_t>(used++)] = {reinterpret_cast<std::uint64_t>(whole),
                                                static_cast<std::uint32_t>(size), 0};
  }
  return post(connection, word, pieces.data(), used, {}, false);
}

bool Frames::send_pieces(Connection& connection, Word word, const Slice* slices, int count,
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
    if (post(connection, word, &piece, 1, {Work::What::buffer, buffer}, more)) continue;
    shared_.sends.give_back(buffer);
    return false;
  }
  return true;
}

bool Frames::send_note(Connection& connection, std::uint8_t type) noexcept {
  if (connection.queue.room() == 0) return false;
  const auto what = type == kGoodbye ? Work::What::goodbye : Work::What::nothing;
  return post(connection, {type}, nullptr, 0, {what}, false);
}

// --- Receiving ---

void Frames::on_sent(Connection& connection, std::uint32_t number, ibv_wc_status status) noexcept {
  const std::uint32_t before = connection.queue.outstanding();
  const bool ok = status == IBV_WC_SUCCESS;
  const bool refused = status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR;
  std::uint32_t left = before;
  connection.queue.end(number, [&](const Work& work) {
    // A failed request is the last of those that have ended; its error proves nothing about earlier ones.
    const Result result = ok ? Result::ok : refused ? Result::bad_address : Result::unreachable;
    --left;
    if (work.what == Work::What::buffer) shared_.sends.give_back(work.buffer);
    if (work.what == Work::What::goodbye) connection.goodbye_left = true;
    if (work.what == Work::What::transfer) shared_.transfers.ended(*work.transfer, result);
  });
  shared_.outstanding -= before - left;
  if (!ok) return connections_.break_off(connection, shared_.device->reason_of(status));
  if (connection.state == State::closing) connections_.end_if_done(connection);
}

void Frames::on_receive(const ibv_wc& ended, std::uint32_t index) noexcept {
  Connection* connection = connections_.of_pair(ended.qp_num);
  const bool ok = ended.status == IBV_WC_SUCCESS;
  bool counted = false;
  const char* broken = nullptr;
  if (connection != nullptr && ok) {
    const auto word = load_pod<Word>(reinterpret_cast<const std::byte*>(&ended.imm_data));
    if (connection->state == State::setting_up) connection->state = State::open;
    if (ended.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      counted = connection->state == State::open;
      if (counted) shared_.sink.on_notified(connection->peer, ended.imm_data);
    } else if (connection->state == State::open || connection->state == State::closing) {
      connection->credits += word.returned;
      if (connection->credits > connection->theirs.window)
        broken = "the peer returns more credits than its window has";
      counted = accept(*connection, word, {shared_.receives.data(index), ended.byte_len});
    }
  }
  shared_.receives.give_back(index);
  if (connection == nullptr) return;
  if (!ok) broken = shared_.device->reason_of(ended.status);
  if (broken != nullptr) return connections_.break_off(*connection, broken);
  if (!counted || connection->state != State::open) return;
  connection->owed.add(1);
  if (!connection->owed.due(limits::kVerbsWindow) || std::exchange(connection->due, true)) return;
  due_.push_back(connection);
}

bool Frames::accept(Connection& connection, Word word, std::span<const std::byte> bytes) noexcept {
  if (word.type == kNote || word.type == kOpen || word.type == kGoodbye) {
    on_note(connection, word.type);
    return false;
  }
  if (connection.state != State::open) return true;
  const auto type = static_cast<FrameType>(word.type & ~kMore);
  std::vector<std::byte>& pieces = connection.pieces;
  if (!is_valid(type) || pieces.size() + bytes.size() > payload_) {
    connections_.break_off(connection, "the peer breaks the protocol");
    return true;
  }
  const Meta meta{type, word.tag, word.credits};
  if ((word.type & kMore) != 0) {
    if (pieces.capacity() < payload_) pieces.reserve(payload_);
    pieces.insert(pieces.end(), bytes.begin(), bytes.end());
  } else if (pieces.empty()) {
    shared_.sink.on_frame(connection.peer, meta, bytes);
  } else {
    pieces.insert(pieces.end(), bytes.begin(), bytes.end());
    shared_.sink.on_frame(connection.peer, meta, pieces);
    pieces.clear();
  }
  return true;
}

void Frames::on_note(Connection& connection, std::uint8_t type) noexcept {
  if (type != kGoodbye) return;
  connection.received_goodbye = true;
  if (connection.state == State::open) {
    connection.state = State::closing;
    connection.give_up = shared_.present.now() + std::chrono::seconds(1);
  }
  connections_.add_pending(connection);
}

void Frames::return_credits() noexcept {
  std::vector<Connection*> still;
  for (Connection* connection : due_) {
    connection->due = false;
    if (connection->state != State::open || !connection->owed.due(limits::kVerbsWindow)) continue;
    if (send_note(*connection, kNote)) continue;
    if (connection->state != State::open) continue;
    connection->due = true;
    still.push_back(connection);
  }
  due_.swap(still);
}

void Frames::request_completions() noexcept {
  for (const auto& connection : connections_.all()) {
    if (!connection->has_pair() || !connection->queue.is_silent() || connection->queue.room() == 0)
      continue;
    // A write of no bytes: the peer's device acknowledges it, and the peer does not notice.
    const SendQueue::Place place = connection->queue.push({Work::What::probe}, false);
    ibv_send_wr request{};
    request.wr_id = WorkId{WorkId::Kind::send, connection->slot, place.number}.word();
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(connection->pair.get(), &request, &bad) == 0) {
      ++shared_.outstanding;
    } else {
      connection->queue.take_back(place);
    }
  }
}

}  // namespace lfc::verbs
