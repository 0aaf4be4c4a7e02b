#include "link/ofi/ofi_buffers.hpp"

#include <algorithm>
#include <cstdlib>

namespace lfc {
namespace {

constexpr std::size_t kPage = 4096;
// Large receive buffers: while one is emptied and posted again, the others take frames.
constexpr std::uint32_t kLargeBuffers = 4;

}  // namespace

bool RegisteredMemory::open(OfiFabric& fabric, std::size_t size, std::uint64_t access,
                            std::string& why_not) {
  size_ = (size + kPage - 1) / kPage * kPage;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, size_)));
  if (!memory_) {
    why_not = "no memory for " + std::to_string(size) + " bytes of buffers";
    return false;
  }
  if (!fabric.needs(FI_MR_LOCAL)) return true;
  int error = 0;
  mr_ = fabric.register_memory(memory_.get(), size, access, error);
  if (mr_) return true;
  why_not = std::string("registering buffers: ") + fi_strerror(-error);
  return false;
}

bool SendPool::open(OfiFabric& fabric, std::uint32_t count, std::string& why_not) {
  const std::size_t size = fabric.frame_size();
  const std::size_t total = kReserve + std::max(1u, count);
  if (!memory_.open(fabric, total * size, FI_SEND, why_not)) return false;
  buffers_ = std::vector<SendBuffer>(total);
  free_.reserve(total);
  for (std::size_t i = 0; i < total; ++i) {
    buffers_[i].data = memory_.data() + i * size;
    free_.push_back(&buffers_[i]);
  }
  return true;
}

bool ReceivePool::open(OfiFabric& fabric, std::uint32_t frames, std::string& why_not) {
  fabric_ = &fabric;
  multiple_ = fabric.has(FI_MULTI_RECV) && !fabric.traits().frees_early;
  const std::size_t total = std::max(frames, 2 * kLargeBuffers) * fabric.frame_size();
  const std::size_t count =
      multiple_ ? kLargeBuffers
                : std::min(total / fabric.frame_size(), fabric.info().rx_attr->size);
  size_ = multiple_ ? total / count : fabric.frame_size();
  if (!memory_.open(fabric, count * size_, FI_RECV, why_not)) return false;
  buffers_ = std::vector<ReceiveBuffer>(count);
  free_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    buffers_[i].data = memory_.data() + i * size_;
    free_.push_back(&buffers_[i]);
  }
  int error = 0;
  if (post_free(error)) return true;
  why_not = std::string("posting receive buffers: ") + fi_strerror(-error);
  return false;
}

bool ReceivePool::post_free(int& error) noexcept {
  void* descriptor = memory_.descriptor();
  while (!free_.empty()) {
    const iovec vector{free_.back()->data, size_};
    fi_msg message{};
    message.msg_iov = &vector;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = free_.back();
    const ssize_t result =
        fi_recvmsg(fabric_->ep(), &message, FI_COMPLETION | (multiple_ ? FI_MULTI_RECV : 0));
    if (result == -FI_EAGAIN) return true;
    if (result != 0) {
      error = static_cast<int>(result);
      return false;
    }
    free_.pop_back();
  }
  return true;
}

}  // namespace lfc
