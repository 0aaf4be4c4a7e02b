#include "link/bond/rails.hpp"

#include <algorithm>
#include <utility>

#include "link/bond/bond_wire.hpp"

namespace lfc::bond {
namespace {

constexpr std::uint32_t kAttentive = 4096;  // polls without an event until a rail is polled rarely
constexpr std::uint64_t kQuietPeriod = 16;  // and then only each so many

}  // namespace

// Adds the number of the rail to each call of a rail.
class Rails::Sink final : public FrameSink {
 public:
  Sink(RailEvents& events, std::uint8_t rail) : events_(events), rail_(rail) {}
  void on_frame(PeerId id, Meta meta, std::span<const std::byte> payload) override {
    events_.on_rail_frame(rail_, id, meta, payload);
  }
  PeerId on_connect(Link&, const Address& from) override {
    return events_.on_rail_connect(rail_, from);
  }
  Batch may_batch(bool stream) noexcept override { return events_.may_batch(stream); }
  void on_broken(PeerId id, Link&, std::string_view why) override {
    events_.on_rail_broken(rail_, id, why);
  }

 private:
  RailEvents& events_;
  const std::uint8_t rail_;
};

Rails::Rails(RailEvents& events) {
  for (std::uint8_t rail = 0; rail <= kMaxRails; ++rail)
    sinks_.push_back(std::make_unique<Sink>(events, rail));
}

void Rails::add(std::string label, std::unique_ptr<Link> link, RailUse use) {
  const auto least = [&](std::size_t before, std::size_t payload) {
    return all_.empty() ? payload - sizeof(Head) : std::min(before, payload - sizeof(Head));
  };
  max_payload_ = least(max_payload_, link->max_payload());
  max_message_ = least(max_message_, link->max_message());
  all_.push_back({std::move(label), std::move(link), use});
}

void Rails::publish(AddressWriter& writer) const {
  for (const Rail& rail : all_) rail.link->publish(writer);
}

void Rails::set_own_address(std::span<const std::byte> address) {
  for (const Rail& rail : all_) rail.link->set_own_address(address);
}

bool Rails::reach(const Address& peer, std::string& why_not) {
  for (const Rail& rail : all_) {
    std::string why;
    if (rail.link->reach(peer, why)) return true;
    why_not += (why_not.empty() ? "" : ", ") + rail.label + ": " + why;
  }
  return false;
}

int Rails::poll() noexcept {
  ++polls_;
  int events = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Rail& rail = all_[i];
    if (rail.quiet >= kAttentive && (polls_ + i) % kQuietPeriod != 0) {
      rail.link->flush();
      continue;
    }
    const int found = rail.link->poll();
    rail.quiet = found != 0 ? 0 : std::min(rail.quiet + 1, kAttentive);
    events += found;
  }
  return events;
}

void Rails::flush() noexcept {
  for (const Rail& rail : all_) rail.link->flush();
}

std::chrono::nanoseconds Rails::batched_since() const noexcept {
  std::chrono::nanoseconds oldest{0};
  for (const Rail& rail : all_) {
    const std::chrono::nanoseconds since = rail.link->batched_since();
    if (since.count() != 0 && (oldest.count() == 0 || since < oldest)) oldest = since;
  }
  return oldest;
}

void Rails::wait_fds(std::vector<int>& out) const {
  for (const Rail& rail : all_) rail.link->wait_fds(out);
}

Link::Armed Rails::arm(Link::Armed least) noexcept {
  for (Rail& rail : all_) {
    rail.quiet = 0;  // the event that wakes the thread may be on any rail
    const Link::Armed armed = rail.link->arm();
    if (armed == Link::Armed::busy) {
      disarm();
      return Link::Armed::busy;
    }
    least = std::min(least, armed);
  }
  return least;
}

void Rails::disarm() noexcept {
  for (const Rail& rail : all_) rail.link->disarm();
}

bool Rails::drained() const noexcept {
  return std::all_of(all_.begin(), all_.end(),
                     [](const Rail& rail) { return rail.link->drained(); });
}

std::size_t Rails::memory() const noexcept {
  std::size_t bytes = 0;
  for (const Rail& rail : all_) bytes += rail.link->memory();
  return bytes;
}

bool Rails::register_memory(void* data, std::size_t size, LinkRegion& out) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    LinkRegion region;
    bool same = all_[i].link->register_memory(data, size, region);
    if (i == 0) out = region;
    same = same && region.key == out.key && region.base == out.base && region.local == nullptr;
    if (same) continue;
    for (std::size_t done = 0; done <= i; ++done) all_[done].link->deregister_memory(out);
    return false;
  }
  return true;
}

void Rails::deregister_memory(LinkRegion& region) noexcept {
  for (const Rail& rail : all_) {
    LinkRegion copy = region;
    rail.link->deregister_memory(copy);
  }
  region = {};
}

}  // namespace lfc::bond
