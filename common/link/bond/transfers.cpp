#include "link/bond/transfers.hpp"

#include <algorithm>
#include <utility>

#include "base/limits.hpp"

namespace lfc::bond {
namespace {

constexpr std::size_t kAlignment = 4096;

}  // namespace

bool Transfers::served(const Session& session) const noexcept {
  if (session.plain)
    return session.lead != kNoRail && rails_[session.lead].link->remote_memory(session.id);
  return session.connect_due ||
         std::any_of(session.order.begin(), session.order.end(), [&](std::uint8_t rail) {
           return session.rails[rail].usable() && rails_[rail].link->remote_memory(session.id);
         });
}

Chunk& Transfers::take_chunk() {
  if (spare_chunks_.empty()) return chunks_.emplace_back();
  Chunk& chunk = *spare_chunks_.back();
  spare_chunks_.pop_back();
  return chunk;
}

Link::Start Transfers::start(Session& session, bool is_put, void* memory, std::uint64_t address,
                             const LinkRegion& remote, std::size_t size,
                             Operation* operation) noexcept {
  if (session.state != Session::State::open || !served(session)) return Link::Start::failed;
  if (session.transfers.size() >= limits::kBondTransfers) return Link::Start::again;
  if (size == 0) return Link::Start::done;
  Transfer* transfer = nullptr;
  if (spare_transfers_.empty()) {
    transfer = &transfers_.emplace_back();
  } else {
    transfer = spare_transfers_.back();
    spare_transfers_.pop_back();
  }
  *transfer = {operation, is_put, static_cast<std::byte*>(memory), address, remote, size};
  session.transfers.push_back(transfer);
  session.waiting.push_back(transfer);
  session.waiting_bytes += size;
  if (size > limits::kBondSmallestChunk && !session.wide.empty()) {
    session.widen_due = true;
    sessions_.make_restless(session);
  }
  if (feed(session)) sessions_.make_restless(session);
  return Link::Start::started;
}

bool Transfers::feed(Session& session) {
  std::uint32_t tried = 0;  // rails that take nothing now
  while (!session.again.empty() || !session.waiting.empty()) {
    const std::uint8_t rail = rail_with_room(session, tried);
    if (rail == kNoRail) return tried != 0;
    Chunk* chunk = next_chunk(session);
    switch (start_chunk(session, *chunk, rail)) {
      case Link::Start::started: break;
      case Link::Start::done: account(*chunk, Result::ok); break;
      case Link::Start::failed:
        losses_.suspect(session, rail, "takes no put or get");
        [[fallthrough]];
      case Link::Start::again:
        session.again.push_front(chunk);
        tried |= 1u << rail;
        break;
    }
  }
  return false;
}

// The usable rail with the least under way, if any has room; the lead among equals.
std::uint8_t Transfers::rail_with_room(const Session& session, std::uint32_t tried) const noexcept {
  std::uint8_t best = kNoRail;
  for (std::uint8_t step = 0; step < rails_.count(); ++step) {
    const std::uint8_t first = session.lead == kNoRail ? 0 : session.lead;
    const auto i = static_cast<std::uint8_t>((first + step) % rails_.count());
    const RailState& rail = session.rails[i];
    if (!rail.up() || rail.chunks >= limits::kBondDepth || (tried >> i & 1) != 0) continue;
    if (best == kNoRail || rail.chunk_bytes < session.rails[best].chunk_bytes) best = i;
  }
  return best;
}

Chunk* Transfers::next_chunk(Session& session) {
  if (!session.again.empty()) {
    Chunk* chunk = session.again.front();
    session.again.pop_front();
    return chunk;
  }
  Transfer& transfer = *session.waiting.front();
  const std::size_t left = transfer.size - transfer.issued;
  std::size_t size = left;
  if (const unsigned rails = session.live + session.wider; rails > 1) {
    const std::size_t share = session.waiting_bytes / (2u * rails);
    size = std::clamp(share / kAlignment * kAlignment, limits::kBondSmallestChunk,
                      limits::kBondLargestChunk);
    if (left < size + limits::kBondSmallestChunk / 2) size = left;  // no crumbs
  }
  Chunk& chunk = take_chunk();
  chunk.done = &Transfers::chunk_done;
  chunk.owner = this;
  chunk.session = &session;
  chunk.transfer = &transfer;
  chunk.offset = transfer.issued;
  chunk.size = size;
  chunk.rail = kNoRail;
  transfer.issued += size;
  ++transfer.outstanding;
  session.waiting_bytes -= size;
  if (transfer.issued == transfer.size) session.waiting.pop_front();
  return &chunk;
}

Link::Start Transfers::start_chunk(Session& session, Chunk& chunk, std::uint8_t rail) noexcept {
  const Transfer& transfer = *chunk.transfer;
  std::byte* memory = transfer.memory + chunk.offset;
  const std::uint64_t address = transfer.address + chunk.offset;
  RailState& state = session.rails[rail];
  // Noted before: an operation may end inside the call that starts it.
  chunk.rail = rail;
  ++state.chunks;
  state.chunk_bytes += chunk.size;
  ++session.chunks;
  Link& link = *rails_[rail].link;
  const Link::Start start =
      transfer.is_put
          ? link.put(session.id, memory, {}, address, transfer.remote, chunk.size, &chunk)
          : link.get(session.id, memory, {}, address, transfer.remote, chunk.size, &chunk);
  if (start == Link::Start::started) return start;
  --state.chunks;
  state.chunk_bytes -= chunk.size;
  --session.chunks;
  return start;
}

void Transfers::chunk_done(Operation* self, Result result) {
  auto& chunk = static_cast<Chunk&>(*self);
  chunk.owner->chunk_ended(chunk, result);
}

// A rail has finished a chunk, or has lost it.
void Transfers::chunk_ended(Chunk& chunk, Result result) {
  Session& session = *chunk.session;
  RailState& rail = session.rails[chunk.rail];
  --rail.chunks;
  rail.chunk_bytes -= chunk.size;
  --session.chunks;
  if (result == Result::unreachable) {
    losses_.suspect(session, chunk.rail, "it lost a put or get");
    if (chunk.transfer->operation == nullptr) return account(chunk, result);
    // A get can be sent again at once: our end of the rail is closed. A put may still be on its way.
    if (chunk.transfer->is_put && !rail.peer_left) {
      rail.put_back.push_back(&chunk);
    } else {
      session.again.push_back(&chunk);
      sessions_.make_restless(session);
    }
    return;
  }
  losses_.life(session, chunk.rail);
  if (result == Result::ok) counters_.add(rail_bytes(chunk.rail), chunk.size);
  account(chunk, result);
  if (!session.waiting.empty() || !session.again.empty())
    if (feed(session)) sessions_.make_restless(session);
}

// Counts a chunk of its transfer as ended; the last one completes the transfer.
void Transfers::account(Chunk& chunk, Result result) {
  Session& session = *chunk.session;
  Transfer& transfer = *chunk.transfer;
  spare_chunks_.push_back(&chunk);
  --transfer.outstanding;
  if (result != Result::ok && transfer.result == Result::ok) {
    transfer.result = result;
    const auto entry = std::find(session.waiting.begin(), session.waiting.end(), &transfer);
    if (entry != session.waiting.end()) {  // the rest would also fail
      session.waiting_bytes -= transfer.size - transfer.issued;
      transfer.issued = transfer.size;
      session.waiting.erase(entry);
    }
  }
  if (transfer.outstanding != 0 || transfer.issued != transfer.size) return;
  Operation* operation = transfer.operation;
  if (operation != nullptr) std::erase(session.transfers, &transfer);
  const Result ended = transfer.result;
  transfer.operation = nullptr;
  spare_transfers_.push_back(&transfer);
  if (operation != nullptr) operation->done(operation, ended);
}

void Transfers::abandon(Session& session) {
  for (Transfer* transfer : session.transfers) {
    cancelled_.push_back(transfer->operation);
    transfer->operation = nullptr;
    transfer->issued = transfer->size;
    if (transfer->outstanding == 0) spare_transfers_.push_back(transfer);
  }
  session.transfers.clear();
  session.waiting.clear();
  session.waiting_bytes = 0;
  std::deque<Chunk*> lost = std::exchange(session.again, {});
  for (RailState& rail : session.rails) {
    lost.insert(lost.end(), rail.put_back.begin(), rail.put_back.end());
    rail.put_back.clear();
  }
  for (Chunk* chunk : lost) account(*chunk, Result::unreachable);
}

int Transfers::complete_cancelled() {
  const std::vector<Operation*> cancelled = std::exchange(cancelled_, {});
  for (Operation* operation : cancelled) operation->done(operation, Result::unreachable);
  return static_cast<int>(cancelled.size());
}

}  // namespace lfc::bond
