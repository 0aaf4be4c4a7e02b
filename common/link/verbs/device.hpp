// Device: one opened port of an RDMA device, with its protection domain, completions and memory.
//
//   std::unique_ptr<Device> device = Device::open(*api, choice, entries, why_not);
//   while (const ibv_wc* completion = device->completions().next()) ...
//   Slab slab;
//   if (!slab.open(*device, size, IBV_ACCESS_LOCAL_WRITE, why_not)) ...
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "link/verbs/api.hpp"
#include "link/verbs/ports.hpp"

namespace lfc::verbs {

// Completions: the completion queue. Completions of a destroyed queue pair are not taken for those of a new one with
// the same number.
class Completions {
 public:
  static constexpr int kBatch = 16;

  Completions() : ended_(kBatch) {}
  bool open(const Api& api, ibv_context* context, int entries, std::string& why_not);
  ibv_cq* queue() const noexcept { return queue_.get(); }
  int fd() const noexcept { return completion_channel_->fd; }

  // Returns the next completion, valid until the next call. Null: there is none.
  const ibv_wc* next() noexcept {
    if (at_ == count_ && !refill()) return nullptr;
    return &ended_[at_++];
  }
  bool any() noexcept { return at_ != count_ || refill(); }
  // The queue pair has been destroyed: marks its remaining completions with kNoQueuePair.
  void forget(std::uint32_t queue_pair);

  // From now on the next completion makes fd() readable. False: the device refuses.
  bool arm() noexcept;
  // Takes the events that have made fd() readable.
  void disarm() noexcept;

 private:
  bool refill() noexcept;

  const Api* api_ = nullptr;
  Handle<ibv_comp_channel> completion_channel_;
  Handle<ibv_cq> queue_;
  std::vector<ibv_wc> ended_;
  std::size_t at_ = 0;
  std::size_t count_ = 0;
  bool armed_ = false;
};

inline constexpr std::uint32_t kNoQueuePair = 0xffffffffu;

// Event: an asynchronous event of the device.
struct Event {
  enum class Kind : std::uint8_t { none, pair_failed, port_down, port_up, device_failed };
  Kind kind = Kind::none;
  std::uint32_t queue_pair = kNoQueuePair;
  const char* text = "";
};

// Converts a retransmission timeout to the code that devices take: 4.096 us times two to the power of the code. Returns
// the least code that is no shorter; repeat_time() returns the time of that code.
std::uint8_t repeat_code(std::chrono::milliseconds after) noexcept;
std::chrono::nanoseconds repeat_time(std::chrono::milliseconds after) noexcept;

class Device {
 public:
  static std::unique_ptr<Device> open(const Api& api, const Choice& choice, int completions,
                                      std::string& why_not);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Api& api() const noexcept { return api_; }
  const Choice& choice() const noexcept { return choice_; }
  const ibv_device_attr& limits() const noexcept { return limits_; }
  const ibv_port_attr& port() const noexcept { return port_; }
  ibv_context* context() const noexcept { return context_.get(); }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  Completions& completions() noexcept { return completions_; }
  // Readable when there is an event.
  int event_fd() const noexcept { return context_->async_fd; }
  // Reads the next event, which may be of kind none. False: no event is left. Does not wait.
  bool next_event(Event& out) noexcept;
  // Returns why work has failed, for the user. Devices report various errors while the port is down; this one reports
  // the port.
  const char* reason_of(ibv_wc_status failure) const noexcept;
  Handle<ibv_mr> register_memory(void* data, std::size_t size, int access) const noexcept {
    return own(api_.reg_mr(domain(), data, size, access), api_.dereg_mr);
  }
  // Returns the path to another port, for queue pairs of kind RC and for datagrams.
  ibv_ah_attr way_to(const RawGid& gid, std::uint16_t lid) const noexcept;

 private:
  Device(const Api& api, Choice choice) : api_(api), choice_(std::move(choice)) {}

  const Api& api_;
  const Choice choice_;
  Handle<ibv_context> context_;
  ibv_device_attr limits_{};
  ibv_port_attr port_{};
  Handle<ibv_pd> domain_;
  Completions completions_;
};

// Slab: memory that is registered with the device, in large pages if available.
class Slab {
 public:
  Slab() = default;
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  bool open(const Device& device, std::size_t size, int access, std::string& why_not);
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::uint32_t key() const noexcept { return region_->lkey; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  Handle<ibv_mr> region_;
};

}  // namespace lfc::verbs
