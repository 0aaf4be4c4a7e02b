// Buffers of the libfabric link, registered with the provider: those of frames on their way out, and those that wait
// for incoming frames.
//
//   SendPool pool;
//   if (!pool.open(fabric, 64, why_not)) ...
//   if (SendBuffer* buffer = pool.take(is_data)) fi_send(endpoint, buffer->data, size, nullptr, to, buffer);
//
// Every object that is passed to libfabric as a context begins with OfiContext, so that a completion identifies its
// operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "link/ofi/ofi_fabric.hpp"

namespace lfc {

struct OfiContext {
  enum class Kind : std::uint8_t { send, receive, transfer };
  explicit OfiContext(Kind kind_) noexcept : kind(kind_) {}
  fi_context2 provider{};  // first, because the provider writes into it
  Kind kind;
};

// Page-aligned memory, registered where the provider wants that (FI_MR_LOCAL).
class RegisteredMemory {
 public:
  bool open(OfiFabric& fabric, std::size_t size, std::uint64_t access, std::string& why_not);
  std::byte* data() const noexcept { return memory_.get(); }
  std::size_t size() const noexcept { return size_; }
  void* descriptor() const noexcept { return mr_ ? fi_mr_desc(mr_.get()) : nullptr; }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
  FidPtr<fid_mr> mr_;
};

struct SendBuffer : OfiContext {
  SendBuffer() noexcept : OfiContext(Kind::send) {}
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::uint32_t slot = 0;  // the connection its frame belongs to
  bool handshake = false;  // the frame is sent again when it gets lost
};

class SendPool {
 public:
  bool open(OfiFabric& fabric, std::uint32_t count, std::string& why_not);
  // nullptr when empty. Data frames leave some buffers to control frames, so that those are not
  // stuck behind data.
  SendBuffer* take(bool data_frame) noexcept {
    if (free_.size() <= (data_frame ? kReserve : 0)) return nullptr;
    SendBuffer* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give_back(SendBuffer& buffer) noexcept { free_.push_back(&buffer); }
  std::size_t memory() const noexcept { return memory_.size(); }
  bool idle() const noexcept { return free_.size() == buffers_.size(); }
  void* descriptor() const noexcept { return memory_.descriptor(); }

 private:
  static constexpr std::size_t kReserve = 8;
  RegisteredMemory memory_;
  std::vector<SendBuffer> buffers_;
  std::vector<SendBuffer*> free_;
};

struct ReceiveBuffer : OfiContext {
  ReceiveBuffer() noexcept : OfiContext(Kind::receive) {}
  std::byte* data = nullptr;
};

// The buffers posted for incoming frames: a few large ones that the provider fills frame by frame
// (FI_MULTI_RECV), or one per frame where it cannot, or not safely.
class ReceivePool {
 public:
  bool open(OfiFabric& fabric, std::uint32_t frames, std::string& why_not);
  // Posts every free buffer. The next call tries again those that the provider does not take now. False, with its
  // error: it takes no buffers any more.
  bool post_free(int& error) noexcept;
  bool all_posted() const noexcept { return free_.empty(); }
  void give_back(ReceiveBuffer& buffer) noexcept { free_.push_back(&buffer); }
  std::size_t memory() const noexcept { return memory_.size(); }
  bool multiple() const noexcept { return multiple_; }

 private:
  OfiFabric* fabric_ = nullptr;
  RegisteredMemory memory_;
  std::vector<ReceiveBuffer> buffers_;
  std::vector<ReceiveBuffer*> free_;
  std::size_t size_ = 0;
  bool multiple_ = false;
};

}  // namespace lfc
