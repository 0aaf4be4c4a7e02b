#include "link/verbs/transfers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace lfc::verbs {
namespace {

constexpr std::size_t kTransfers = 64;
// Frames to the same peer wait behind a chunk.
constexpr std::size_t kChunk = std::size_t{8} << 20;
// Work requests that are left to frames.
constexpr std::uint32_t kFrames = 64;
// Marks a registration that peers may use; without it the engine carries the bytes in frames.
constexpr std::uint64_t kUsable = std::uint64_t{1} << 32;
constexpr int kReadable = IBV_ACCESS_REMOTE_READ;
constexpr int kWritable = kReadable | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

}  // namespace

bool Transfers::open(std::size_t inline_size, std::string& why_not) {
  inline_ = inline_size;
  largest_chunk_ = std::min<std::size_t>(kChunk, device_.port().max_msg_sz);
  if (!scratch_.open(device_, 1, IBV_ACCESS_LOCAL_WRITE, why_not)) return false;
  transfers_ = std::vector<Transfer>(kTransfers);
  free_.reserve(kTransfers);
  for (Transfer& transfer : transfers_) free_.push_back(&transfer);
  return true;
}

// Memory that the device does not take is no error: accesses of peers to it come in frames.
void Transfers::register_memory(void* data, std::size_t size, LinkRegion& out) {
  out = {};
  if (size == 0 || size > device_.limits().max_mr_size) return;
  Handle<ibv_mr> region = device_.register_memory(data, size, kWritable);
  if (!region) region = device_.register_memory(data, size, kReadable);  // constants
  if (!region) {
    static bool reported = false;
    if (!std::exchange(reported, true))
      std::fprintf(
          stderr, "lfc: registering %zu bytes with %s: %s; they go in frames (is ulimit -l low?)\n",
          size, device_.choice().port.name().c_str(), std::strerror(errno));
    return;
  }
  out.key = kUsable | region->rkey;
  out.local = region.release();
}

void Transfers::deregister_memory(LinkRegion& region) noexcept {
  if (region.local != nullptr) device_.api().dereg_mr(static_cast<ibv_mr*>(region.local));
  region = {};
}

Link::Start Transfers::start(const Request& request, Operation* operation) {
  if ((request.remote_region.key & kUsable) == 0) return Link::Start::failed;
  const bool notifies = request.notification.has_value();
  if (notifies && (request.size == 0 || request.size > largest_chunk_)) return Link::Start::failed;
  if (request.size == 0) return Link::Start::done;
  if (free_.empty()) return Link::Start::again;
  Transfer& transfer = *free_.back();
  transfer.put = request.put;
  transfer.connection = &request.connection;
  transfer.local = request.local;
  transfer.address = request.address;
  transfer.key = static_cast<std::uint32_t>(request.remote_region.key);
  transfer.left = request.size;
  transfer.notification = request.notification;
  const auto* region = static_cast<const ibv_mr*>(request.local_region.local);
  if (region == nullptr && !(request.put && request.size <= inline_)) {
    transfer.registration = device_.register_memory(
        request.local, request.size, request.put ? 0 : static_cast<int>(IBV_ACCESS_LOCAL_WRITE));
    region = transfer.registration.get();
    if (region == nullptr) return Link::Start::failed;
  }
  transfer.local_key = region != nullptr ? region->lkey : 0;
  const Issue issued = issue(transfer);
  if (issued != Issue::done) {
    transfer.registration.reset();
    return issued == Issue::no_room ? Link::Start::again : Link::Start::failed;
  }
  free_.pop_back();
  transfer.stage = Transfer::Stage::in_flight;
  transfer.operation = operation;
  return Link::Start::started;
}

Transfers::Issue Transfers::post(Connection& connection, ibv_send_wr& request, const Work& work,
                                 bool more) noexcept {
  const SendQueue::Place place = connection.queue.push(work, more);
  request.wr_id = WorkId{WorkId::Kind::send, connection.slot, place.number}.word();
  if (place.signalled) request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(connection.pair.get(), &request, &bad) == 0) {
    ++outstanding_;
    return Issue::done;
  }
  connection.queue.take_back(place);
  return Issue::failed;
}

Transfers::Issue Transfers::issue(Transfer& transfer) {
  Connection& connection = *transfer.connection;
  if (connection.queue.room() < kFrames) return Issue::no_room;
  transfer.chunk = std::min(transfer.left, largest_chunk_);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(transfer.local),
                static_cast<std::uint32_t>(transfer.chunk), transfer.local_key};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = transfer.put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
  request.wr.rdma.remote_addr = transfer.address;
  request.wr.rdma.rkey = transfer.key;
  if (transfer.put && transfer.chunk <= inline_) request.send_flags = IBV_SEND_INLINE;
  const Work work{Work::What::transfer, 0, &transfer};
  if (transfer.notification) {
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = *transfer.notification;
    return post(connection, request, work, false);
  }
  const bool proves = transfer.put && transfer.chunk == transfer.left;
  if (!proves) return post(connection, request, work, false);
  if (const Issue issued = post(connection, request, {}, true); issued != Issue::done)
    return issued;
  ibv_sge last{reinterpret_cast<std::uint64_t>(scratch_.data()), 1, scratch_.key()};
  ibv_send_wr proof{};
  proof.sg_list = &last;
  proof.num_sge = 1;
  proof.opcode = IBV_WR_RDMA_READ;
  proof.wr.rdma.remote_addr = transfer.address + transfer.chunk - 1;
  proof.wr.rdma.rkey = transfer.key;
  return post(connection, proof, work, false);
}

void Transfers::proceed(Transfer& transfer) {
  switch (issue(transfer)) {
    case Issue::done: transfer.stage = Transfer::Stage::in_flight; break;
    case Issue::no_room:
      transfer.stage = Transfer::Stage::waiting;
      ++waiting_;
      break;
    case Issue::failed: finish(transfer, Result::unreachable); break;
  }
}

void Transfers::ended(Transfer& transfer, Result result) {
  transfer.stage = Transfer::Stage::idle;
  if (result != Result::ok) return finish(transfer, result);
  transfer.local += transfer.chunk;
  transfer.address += transfer.chunk;
  transfer.left -= transfer.chunk;
  if (transfer.left == 0) return finish(transfer, Result::ok);
  if (transfer.connection->state != Connection::State::open)
    return finish(transfer, Result::unreachable);
  proceed(transfer);
}

void Transfers::cancel_waiting(const Connection& connection) {
  for (Transfer& transfer : transfers_)
    if (transfer.stage == Transfer::Stage::waiting && transfer.connection == &connection)
      finish(transfer, Result::unreachable);
}

void Transfers::retry() {
  if (waiting_ == 0) return;
  for (Transfer& transfer : transfers_) {
    if (transfer.stage != Transfer::Stage::waiting) continue;
    --waiting_;
    transfer.stage = Transfer::Stage::idle;
    proceed(transfer);
  }
}

void Transfers::forget_callers() noexcept {
  for (Transfer& transfer : transfers_) transfer.operation = nullptr;
}

void Transfers::finish(Transfer& transfer, Result result) {
  Operation* operation = std::exchange(transfer.operation, nullptr);
  if (transfer.stage == Transfer::Stage::waiting) --waiting_;
  transfer.stage = Transfer::Stage::idle;
  transfer.registration.reset();
  free_.push_back(&transfer);
  if (operation != nullptr) operation->done(operation, result);
}

}  // namespace lfc::verbs
