#include "link/verbs/buffers.hpp"

#include <array>
#include <cerrno>
#include <cstring>

namespace lfc::verbs {
namespace {

constexpr std::size_t kSlab = std::size_t{1} << 20;

}  // namespace

bool ReceivePool::open(Device& device, std::size_t piece, std::string& why_not) {
  device_ = &device;
  piece_ = piece;
  per_slab_ = static_cast<std::uint32_t>(std::max<std::size_t>(1, kSlab / piece));
  const int completions = device.limits().max_cqe - static_cast<int>(kMostOutstanding);
  const int most = std::min({device.limits().max_srq_wr, kMostReceives, completions});
  promises_ = Promises(static_cast<std::uint32_t>(std::max(0, most)));
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = static_cast<std::uint32_t>(std::max(0, most));
  attributes.attr.max_sge = 1;
  queue_ = own(device.api().create_srq(device.domain(), &attributes), device.api().destroy_srq);
  back_.reserve(Completions::kBatch);
  if (queue_) return true;
  why_not = std::string("a shared receive queue: ") + std::strerror(errno);
  return false;
}

bool ReceivePool::promise(std::uint32_t count, std::string& why_not) {
  if (!promises_.fits(count)) {
    why_not = "the device has no receive buffers for more peers";
    return false;
  }
  for (std::uint32_t missing = promises_.missing(count); missing != 0; --missing) {
    if (made_ == slabs_.size() * per_slab_) {
      auto slab = std::make_unique<Slab>();
      if (!slab->open(*device_, per_slab_ * piece_, IBV_ACCESS_LOCAL_WRITE, why_not)) return false;
      slabs_.push_back(std::move(slab));
    }
    promises_.make(1);
    give_back(made_++);
  }
  promises_.promise(count);
  if (post()) return true;
  why_not = "the device refuses receive buffers";
  return false;
}

bool ReceivePool::post() noexcept {
  std::array<ibv_recv_wr, Completions::kBatch> requests{};
  std::array<ibv_sge, Completions::kBatch> pieces{};
  const std::size_t count = back_.size();
  if (count == 0) return true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t index = back_[i];
    pieces[i] = {reinterpret_cast<std::uint64_t>(data(index)), static_cast<std::uint32_t>(piece_),
                 slabs_[index / per_slab_]->key()};
    requests[i].wr_id = WorkId{WorkId::Kind::receive, 0, index}.word();
    requests[i].sg_list = &pieces[i];
    requests[i].num_sge = 1;
    requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
  }
  back_.clear();
  ibv_recv_wr* bad = nullptr;
  return ibv_post_srq_recv(queue(), requests.data(), &bad) == 0;
}

bool SendPool::open(const Device& device, std::size_t piece, std::uint32_t count,
                    std::string& why_not) {
  piece_ = piece;
  if (!slab_.open(device, piece * count, IBV_ACCESS_LOCAL_WRITE, why_not)) return false;
  free_.reserve(count);
  for (std::uint32_t index = count; index-- != 0;) free_.push_back(index);
  return true;
}

}  // namespace lfc::verbs
