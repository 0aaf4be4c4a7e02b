#include "link/verbs/device.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.hpp"

namespace lfc::verbs {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr std::uint8_t kHops = 64;

bool refused(const char* what, std::string& why_not) {
  why_not = std::string(what) + ": " + std::strerror(errno);
  return false;
}

void never_wait(int fd) noexcept { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

Handle<ibv_context> open_context(const Api& api, const std::string& name) {
  ibv_device** devices = api.get_device_list(nullptr);
  Handle<ibv_context> context;
  for (ibv_device** each = devices; each != nullptr && *each != nullptr; ++each)
    if (name == api.get_device_name(*each)) context = own(api.open_device(*each), api.close_device);
  if (devices != nullptr) api.free_device_list(devices);
  return context;
}

}  // namespace

// --- Completions ---

bool Completions::open(const Api& api, ibv_context* context, int entries, std::string& why_not) {
  api_ = &api;
  completion_channel_ = own(api.create_comp_channel(context), api.destroy_comp_channel);
  if (!completion_channel_) return refused("a completion channel", why_not);
  never_wait(fd());
  queue_ =
      own(api.create_cq(context, entries, nullptr, completion_channel_.get(), 0), api.destroy_cq);
  return queue_ ? true : refused("a completion queue", why_not);
}

bool Completions::refill() noexcept {
  at_ = 0;
  const int got = ibv_poll_cq(queue(), kBatch, ended_.data());
  count_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  return count_ != 0;
}

void Completions::forget(std::uint32_t queue_pair) {
  for (;;) {  // reads all that have arrived, so that none is read later
    if (ended_.size() - count_ < kBatch) ended_.resize(count_ + kBatch);
    const int got = ibv_poll_cq(queue(), kBatch, ended_.data() + count_);
    if (got <= 0) break;
    count_ += static_cast<std::size_t>(got);
  }
  for (std::size_t i = at_; i < count_; ++i)
    if (ended_[i].qp_num == queue_pair) ended_[i].qp_num = kNoQueuePair;
}

bool Completions::arm() noexcept {
  disarm();
  armed_ = ibv_req_notify_cq(queue(), 0) == 0;
  return armed_;
}

void Completions::disarm() noexcept {
  if (!armed_) return;
  armed_ = false;
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (api_->get_cq_event(completion_channel_.get(), &queue, &context) == 0)
    api_->ack_cq_events(queue, 1);
}

// --- Device ---

std::uint8_t repeat_code(std::chrono::milliseconds after) noexcept {
  std::uint8_t code = 1;
  while (code < 31 && std::chrono::nanoseconds(std::int64_t{4096} << code) < after) ++code;
  return code;
}

std::chrono::nanoseconds repeat_time(std::chrono::milliseconds after) noexcept {
  return std::chrono::nanoseconds(std::int64_t{4096} << repeat_code(after));
}

std::unique_ptr<Device> Device::open(const Api& api, const Choice& choice, int completions,
                                     std::string& why_not) {
  std::unique_ptr<Device> device(new Device(api, choice));
  const auto failed = [&](const char* what) {
    refused(what, why_not);
    why_not.insert(0, choice.port.name() + ": ");
    return nullptr;
  };
  device->context_ = open_context(api, choice.port.device);
  if (!device->context_) return failed("opening the device");
  never_wait(device->context_->async_fd);
  if (api.query_device(device->context(), &device->limits_) != 0 ||
      !query_port(api, device->context(), choice.port.number, device->port_))
    return failed("querying the device");
  device->domain_ = own(api.alloc_pd(device->context()), api.dealloc_pd);
  if (!device->domain_) return failed("a protection domain");
  const int entries = std::min(completions, device->limits_.max_cqe);
  if (!device->completions_.open(api, device->context(), entries, why_not)) return nullptr;
  return device;
}

bool Device::next_event(Event& out) noexcept {
  using Kind = Event::Kind;
  ibv_async_event event{};
  if (api_.get_async_event(context(), &event) != 0) return false;
  out = {};
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
      out = {Kind::pair_failed, event.element.qp->qp_num, "the device gives up the queue pair"};
      break;
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
      if (event.element.port_num == choice_.port.number)
        out.kind = event.event_type == IBV_EVENT_PORT_ERR ? Kind::port_down : Kind::port_up;
      break;
    case IBV_EVENT_DEVICE_FATAL:
      out = {Kind::device_failed, kNoQueuePair, "the device has failed"};
      break;
    case IBV_EVENT_CQ_ERR:
      out = {Kind::device_failed, kNoQueuePair, "completions were lost"};
      break;
    case IBV_EVENT_SRQ_ERR:
      out = {Kind::device_failed, kNoQueuePair, "the receive queue has failed"};
      break;
    default: break;  // the device handles the others itself
  }
  api_.ack_async_event(&event);
  return true;
}

const char* Device::reason_of(ibv_wc_status failure) const noexcept {
  ibv_port_attr now{};
  const bool is_down =
      query_port(api_, context(), choice_.port.number, now) && now.state == IBV_PORT_DOWN;
  return is_down ? "the port is down" : api_.wc_status_str(failure);
}

ibv_ah_attr Device::way_to(const RawGid& gid, std::uint16_t lid) const noexcept {
  ibv_ah_attr way{};
  way.port_num = choice_.port.number;
  way.dlid = lid;
  way.is_global = choice_.port.ethernet ? 1 : 0;
  if (way.is_global == 0) return way;
  std::memcpy(way.grh.dgid.raw, gid.data(), gid.size());
  way.grh.sgid_index = choice_.gid.index;
  way.grh.hop_limit = kHops;
  return way;
}

// --- Slab ---

bool Slab::open(const Device& device, std::size_t size, int access, std::string& why_not) {
  size_ = round_up(size, size >= kLargePage ? kLargePage : kPage);
  void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return refused("memory for buffers", why_not);
  data_ = static_cast<std::byte*>(memory);
  if (size_ >= kLargePage) static_cast<void>(::madvise(memory, size_, MADV_HUGEPAGE));
  region_ = device.register_memory(data_, size_, access);
  if (!region_) return refused("registering buffers (ulimit -l?)", why_not);
  return true;
}

Slab::~Slab() {
  region_.reset();
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace lfc::verbs
