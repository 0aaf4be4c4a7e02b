#include "link/ofi/ofi_transfers.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace lfc {
namespace {

constexpr std::size_t kTransfers = 64;
// Frames to the same peer wait behind a chunk.
constexpr std::size_t kChunk = std::size_t{8} << 20;
constexpr std::uint64_t kAccess = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

}  // namespace

bool OfiTransfers::open(OfiFabric& fabric, PutProof proof, std::string& why_not) {
  fabric_ = &fabric;
  proof_ = proof == PutProof::automatic ? fabric.traits().put_proof : proof;
  largest_chunk_ = std::min(kChunk, fabric.info().ep_attr->max_msg_size);
  if (!scratch_.open(fabric, 1, FI_READ, why_not)) return false;
  transfers_ = std::vector<Transfer>(kTransfers);
  free_.reserve(kTransfers);
  for (Transfer& transfer : transfers_) free_.push_back(&transfer);
  return true;
}

bool OfiTransfers::register_memory(void* data, std::size_t size, LinkRegion& out) {
  out = {};
  if (size == 0) return true;  // nothing there to reach
  int error = 0;
  FidPtr<fid_mr> mr = fabric_->register_memory(data, size, kAccess, error);
  if (!mr) {
    static bool reported = false;
    if (!std::exchange(reported, true))
      std::fprintf(stderr, "lfc: registering %zu bytes with libfabric: %s\n", size,
                   fi_strerror(-error));
    return false;
  }
  out.key = fi_mr_key(mr.get());
  // An access names the target's address, or the distance from the beginning of the region.
  out.base = fabric_->needs(FI_MR_VIRT_ADDR) ? 0 : reinterpret_cast<std::uint64_t>(data);
  out.local = mr.release();
  return true;
}

void OfiTransfers::deregister_memory(LinkRegion& region) noexcept {
  if (region.local != nullptr) fi_close(&static_cast<fid_mr*>(region.local)->fid);
  region = {};
}

Link::Start OfiTransfers::start(const Request& request, Operation* operation) noexcept {
  if (request.put && !can_put()) return Link::Start::failed;
  if (request.size == 0) return Link::Start::done;
  if (free_.empty()) return Link::Start::again;

  Transfer& transfer = *free_.back();
  transfer.put = request.put;
  transfer.proving = false;
  transfer.slot = request.slot;
  transfer.peer = request.peer;
  transfer.local = request.local;
  transfer.address = request.address - request.remote_region.base;
  transfer.key = request.remote_region.key;
  transfer.left = request.size;
  transfer.descriptor = nullptr;
  if (request.local_region.local != nullptr) {
    transfer.descriptor = fi_mr_desc(static_cast<fid_mr*>(request.local_region.local));
  } else if (fabric_->needs(FI_MR_LOCAL)) {
    int error = 0;
    transfer.registration =
        fabric_->register_memory(request.local, request.size, FI_READ | FI_WRITE, error);
    if (!transfer.registration) return Link::Start::failed;
    transfer.descriptor = fi_mr_desc(transfer.registration.get());
  }
  const ssize_t result = issue(transfer);
  if (result != 0) {
    transfer.registration.reset();
    return result == -FI_EAGAIN ? Link::Start::again : Link::Start::failed;
  }
  free_.pop_back();
  transfer.stage = Transfer::Stage::in_flight;
  transfer.operation = operation;
  return Link::Start::started;
}

ssize_t OfiTransfers::issue(Transfer& transfer) noexcept {
  if (transfer.proving)
    return fi_read(fabric_->ep(), scratch_.data(), 1, scratch_.descriptor(), transfer.peer,
                   transfer.address - 1, transfer.key, &transfer);
  transfer.chunk = std::min(transfer.left, largest_chunk_);
  const iovec vector{transfer.local, transfer.chunk};
  const fi_rma_iov target{transfer.address, transfer.chunk, transfer.key};
  fi_msg_rma message{};
  message.msg_iov = &vector;
  message.desc = &transfer.descriptor;
  message.iov_count = 1;
  message.addr = transfer.peer;
  message.rma_iov = &target;
  message.rma_iov_count = 1;
  message.context = &transfer;
  if (!transfer.put) return fi_readmsg(fabric_->ep(), &message, FI_COMPLETION);
  const std::uint64_t proof = proof_ == PutProof::delivery_complete ? FI_DELIVERY_COMPLETE : 0;
  return fi_writemsg(fabric_->ep(), &message, FI_COMPLETION | proof);
}

void OfiTransfers::proceed(Transfer& transfer) noexcept {
  const ssize_t result = issue(transfer);
  if (result == 0) {
    transfer.stage = Transfer::Stage::in_flight;
  } else if (result == -FI_EAGAIN) {
    transfer.stage = Transfer::Stage::waiting;
    ++waiting_;
  } else {
    finish(transfer, Result::unreachable);
  }
}

void OfiTransfers::completed(Transfer& transfer) noexcept {
  transfer.stage = Transfer::Stage::idle;
  if (transfer.operation == nullptr) return recycle(transfer);
  if (transfer.proving) return finish(transfer, Result::ok);
  transfer.local += transfer.chunk;
  transfer.address += transfer.chunk;
  transfer.left -= transfer.chunk;
  if (transfer.left == 0) {
    if (!transfer.put || proof_ != PutProof::read_back) return finish(transfer, Result::ok);
    transfer.proving = true;
  }
  proceed(transfer);
}

void OfiTransfers::failed(Transfer& transfer, Result result) noexcept {
  transfer.stage = Transfer::Stage::idle;
  finish(transfer, result);
}

void OfiTransfers::fail_connection(std::uint32_t slot) noexcept {
  for (Transfer& transfer : transfers_)
    if (transfer.slot == slot && transfer.operation != nullptr)
      finish(transfer, Result::unreachable);
}

bool OfiTransfers::retry() noexcept {
  if (waiting_ == 0) return true;
  for (Transfer& transfer : transfers_) {
    if (transfer.stage != Transfer::Stage::waiting) continue;
    --waiting_;
    transfer.stage = Transfer::Stage::idle;
    proceed(transfer);
  }
  return waiting_ == 0;
}

void OfiTransfers::finish(Transfer& transfer, Result result) noexcept {
  Operation* operation = std::exchange(transfer.operation, nullptr);
  if (transfer.stage == Transfer::Stage::waiting) {
    --waiting_;
    transfer.stage = Transfer::Stage::idle;
  }
  if (transfer.stage == Transfer::Stage::idle) recycle(transfer);
  if (operation != nullptr) operation->done(operation, result);
}

void OfiTransfers::recycle(Transfer& transfer) noexcept {
  transfer.registration.reset();
  free_.push_back(&transfer);
}

}  // namespace lfc
