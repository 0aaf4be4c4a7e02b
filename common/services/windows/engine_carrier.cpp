#include "services/windows/engine_carrier.hpp"

#include <new>
#include <utility>

#include "services/windows/window_service.hpp"

namespace lfc {

std::size_t EngineCarrier::frame_bytes() const noexcept { return windows_.frame_bytes_; }

bool EngineCarrier::send(rma::Rank to, WindowHead head, std::span<const Run> runs,
                         std::span<const std::byte> data) {
  head.window = routes_[to].id;
  head.rank = rank_;
  const Slice slices[] = {
      {&head, sizeof head}, {runs.data(), runs.size_bytes()}, {data.data(), data.size()}};
  if (!runs.empty()) return windows_.send(window_, to, slices, data.empty() ? 2 : 3);
  const Slice plain[] = {slices[0], slices[2]};
  return windows_.send(window_, to, plain, data.empty() ? 1 : 2);
}

void EngineCarrier::transfer(const WindowCall& call) { windows_.transfer(window_, call); }

void EngineCarrier::signal(rma::Rank to, WindowHead head) {
  head.window = routes_[to].id;
  head.rank = rank_;
  windows_.signal(window_, routes_[to].peer, head);
}

void EngineCarrier::acknowledge(rma::Rank to, WindowAck ack) {
  if (ack.kind != static_cast<std::uint8_t>(AckKind::result)) {
    ack.window = routes_[to].id;
    ack.rank = rank_;
  }
  windows_.port_.ack(routes_[to].peer, ServiceId::windows, &ack, sizeof ack);
}

void EngineCarrier::reply(rma::Rank to, const WindowHead& head, std::span<const Run> runs,
                          std::vector<std::byte> values) {
  windows_.reply(window_, routes_[to].peer, head, runs, std::move(values));
}

void EngineCarrier::wake() { windows_.wake(window_); }

bool EngineCarrier::copy_at_once(const PlainCall& call) noexcept {
  const WindowRoute& route = routes_[call.target];
  const RegionHandle& region = *window_.peer(call.target).region;
  MemoryPort& memory = windows_.memory_;
  const std::uint64_t there = route.base + call.offset;
  return call.is_put() ? memory.put_at_once(route.peer, call.origin, there, region, call.bytes)
                       : memory.get_at_once(route.peer, call.result, there, region, call.bytes);
}

bool EngineCarrier::copy_bundle(rma::Rank to, std::span<const std::byte> bundle) noexcept {
  const WindowRoute& route = routes_[to];
  std::vector<CopyPiece>& pieces = windows_.pieces_;
  pieces.clear();
  try {
    pieces.reserve(bundle.size() / rma::Bundle::room_for(1));  // or fewer
  } catch (const std::bad_alloc&) {
    return false;  // it leaves in a frame
  }
  for (rma::BundleReader next(bundle); next; next.advance())
    pieces.push_back({next.operands(), route.base + next.entry().offset, next.entry().bytes});
  return windows_.memory_.put_pieces_at_once(route.peer, pieces, *window_.peer(to).region);
}

}  // namespace lfc
