// Device: one port of an RDMA device, opened: its protection domain, its completions, its memory.
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

// What has ended. Completions of a queue pair that is gone are told from those of a new one with its number.
class Completions {
 public:
  static constexpr int kBatch = 16;

  Completions() : ended_(kBatch) {}
  bool open(const Api& api, ibv_context* context, int entries, std::string& why_not);
  ibv_cq* queue() const noexcept { return queue_.get(); }
  int fd() const noexcept { return connection_->fd; }

  // Null: nothing more. Valid until the next call.
  const ibv_wc* next() noexcept {
    if (at_ == count_ && !refill()) return nullptr;
    return &ended_[at_++];
  }
  bool any() noexcept { return at_ != count_ || refill(); }
  // The queue pair has been destroyed: what it has left behind is nobody's.
  void forget(std::uint32_t queue_pair);

  // From now on the next completion makes fd() readable.
  bool arm() noexcept;
  // Takes what has made it readable.
  void disarm() noexcept;

 private:
  bool refill() noexcept;

  const Api* api_ = nullptr;
  Handle<ibv_comp_channel> connection_;
  Handle<ibv_cq> queue_;
  std::vector<ibv_wc> ended_;
  std::size_t at_ = 0;
  std::size_t count_ = 0;
  bool armed_ = false;
};

inline constexpr std::uint32_t kNoQueuePair = 0xffffffffu;

// What has happened to the device beside completions.
struct Event {
  enum class Kind : std::uint8_t { none, pair_failed, port_down, port_up, device_failed };
  Kind kind = Kind::none;
  std::uint32_t queue_pair = kNoQueuePair;
  const char* text = "";
};

// How devices are told when to repeat what has not been acknowledged: 4.096 us times a power of two. The first that is
// no shorter, and what it stands for.
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
  // False: none is left. It may be one that concerns nobody.
  bool next_event(Event& out) noexcept;
  // Why work has failed, for the user. Of what cannot pass a port that is down, devices say this or that.
  const char* reason_of(ibv_wc_status failure) const noexcept;
  Handle<ibv_mr> register_memory(void* data, std::size_t size, int access) const noexcept {
    return own(api_.reg_mr(domain(), data, size, access), api_.dereg_mr);
  }
  // The way to another port: for a queue pair of RC, and for datagrams.
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

// Memory of our own that the device may use: pages, large ones where there are.
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
