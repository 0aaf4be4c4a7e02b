#include "engine/trace.hpp"

#include <chrono>
#include <string>

#include "look/fields.hpp"

LFC_LOOK_OFFSETS

namespace lfc {
namespace {

// TracedLink: a link that records all frames that pass.
class TracedLink final : public Link {
 public:
  TracedLink(std::shared_ptr<Trace> trace, std::unique_ptr<Link> link)
      : Link(link->traits()), trace_(std::move(trace)), link_(std::move(link)) {}

  std::size_t max_payload() const noexcept override { return link_->max_payload(); }
  void publish(AddressWriter& writer) const override { link_->publish(writer); }
  void set_own_address(std::span<const std::byte> address) override {
    link_->set_own_address(address);
  }
  bool reach(const Address& peer, std::string& why_not) override {
    return link_->reach(peer, why_not);
  }
  bool connect(PeerId peer, const Address& address, std::string& why_not) override {
    trace_->note(Trace::What::connected, peer);
    return link_->connect(peer, address, why_not);
  }
  bool has_ended(const Address& peer) const override { return link_->has_ended(peer); }
  void close(PeerId peer) noexcept override {
    trace_->note(Trace::What::closed, peer);
    link_->close(peer);
  }
  void abandon(PeerId peer) noexcept override {
    trace_->note(Trace::What::closed, peer);
    link_->abandon(peer);
  }
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override {
    const SendStatus status = link_->send(peer, meta, slices, count);
    trace_->note(status == SendStatus::sent ? Trace::What::sent : Trace::What::refused, peer, meta,
                 total_size(slices, count));
    return status;
  }
  int poll() noexcept override { return link_->poll(); }
  void flush() noexcept override { link_->flush(); }
  std::chrono::nanoseconds batched_since() const noexcept override {
    return link_->batched_since();
  }
  void wait_fds(std::vector<int>& out) const override { link_->wait_fds(out); }
  Armed arm() noexcept override { return link_->arm(); }
  void disarm() noexcept override { link_->disarm(); }
  bool drained() const noexcept override { return link_->drained(); }
  std::size_t memory() const noexcept override { return link_->memory(); }
  bool remote_memory(PeerId peer) const noexcept override { return link_->remote_memory(peer); }
  bool register_memory(void* data, std::size_t size, LinkRegion& out) override {
    return link_->register_memory(data, size, out);
  }
  void deregister_memory(LinkRegion& region) noexcept override { link_->deregister_memory(region); }
  Start put(PeerId peer, const void* source, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override {
    trace_->note(Trace::What::put, peer, {}, size);
    return link_->put(peer, source, local, address, remote, size, operation);
  }
  bool put_pieces(PeerId peer, std::span<const CopyPiece> pieces,
                  const LinkRegion& remote) noexcept override {
    for (const CopyPiece& piece : pieces) trace_->note(Trace::What::put, peer, {}, piece.size);
    return link_->put_pieces(peer, pieces, remote);
  }
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override {
    trace_->note(Trace::What::got, peer, {}, size);
    return link_->get(peer, destination, local, address, remote, size, operation);
  }

 private:
  const std::shared_ptr<Trace> trace_;
  const std::unique_ptr<Link> link_;  // destroyed first: it may still call its sink
};

}  // namespace

template <>
const look::Field Insight<Trace::Event>::kFields[] = {
    look::number<std::int64_t>("time", {offsetof(Trace::Event, time)}),
    look::number<std::uint64_t>("bytes", {offsetof(Trace::Event, bytes)}),
    look::number<PeerId>("peer", {offsetof(Trace::Event, peer)}),
    look::number<Trace::What>("what", {offsetof(Trace::Event, what)}),
    look::number<FrameType>("type", {offsetof(Trace::Event, type)}),
    look::number<std::uint8_t>("tag", {offsetof(Trace::Event, tag)}),
    look::number<std::uint8_t>("credits", {offsetof(Trace::Event, credits)}),
};
template <>
const look::Schema Insight<Trace::Event>::kSchema = look::schema("event", kFields);

Trace::Trace(FrameSink& to, std::size_t events)
    : to_(to),
      events_(events),
      shown_(Insight<Event>::kSchema, events_.data(), events_.size(), sizeof(Event), this) {}

std::unique_ptr<Link> Trace::around(std::unique_ptr<Link> link) {
  if (link == nullptr) return link;
  Link* const inner = link.get();
  auto traced = std::make_unique<TracedLink>(shared_from_this(), std::move(link));
  links_.emplace_back(inner, traced.get());
  return traced;
}

void Trace::note(What what, PeerId peer, Meta meta, std::size_t bytes) noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  events_[next_] = {
      std::chrono::nanoseconds(now).count(), bytes, peer, what, meta.type, meta.tag, meta.credits};
  next_ = (next_ + 1) % events_.size();
}

Link& Trace::outer(Link& link) const noexcept {
  for (const auto& [inner, traced] : links_)
    if (inner == &link) return *traced;
  return link;
}

void Trace::on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) {
  note(What::received, peer, meta, payload.size());
  to_.on_frame(peer, meta, payload);
}

PeerId Trace::on_connect(Link& link, const Address& from) {
  const PeerId peer = to_.on_connect(outer(link), from);
  note(What::met, peer);
  return peer;
}

void Trace::on_broken(PeerId peer, Link& link, std::string_view why) {
  note(What::broken, peer);
  to_.on_broken(peer, outer(link), why);
}

}  // namespace lfc
