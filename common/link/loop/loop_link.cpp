#include "link/loop/loop_link.hpp"

#include <cstring>
#include <new>

#include "base/errors.hpp"
#include "base/limits.hpp"

namespace lfc {
namespace {

constexpr std::align_val_t kAlignment{kRingAlignment};

struct FreeAligned {
  void operator()(std::byte* memory) const noexcept { ::operator delete(memory, kAlignment); }
};

class LoopLink final : public Link {
 public:
  LoopLink(const LoopOptions& options, const Identity& identity, FrameSink& sink)
      : Link({.name = "loop",
              .kind = LinkTraits::Kind::loop,
              .remote_memory = true,
              .copies_at_once = true,
              .one_sided = true}),
        shape_(options.ring),
        identity_(identity),
        sink_(sink),
        memory_(static_cast<std::byte*>(::operator new(shape_.bytes(), kAlignment))),
        writer_(memory_.get(), shape_),
        reader_(memory_.get(), shape_) {
    std::memset(memory_.get(), 0, shape_.bytes());
  }

  bool hang_bell(std::string& why_not) {
    bell_ = Bell::create(bell_state_, why_not);
    if (bell_ == nullptr) return false;
    cord_ = BellCord(bell_state_);
    if (cord_) writer_.set_cord(&cord_);
    if (!cord_) why_not = with_errno("socket to wake this process with");
    return traits_.wakes = static_cast<bool>(cord_);
  }

  std::size_t max_payload() const noexcept override { return shape_.max_payload; }
  // An empty section: the identity in front of the sections is enough.
  void publish(AddressWriter&) const override {}

  bool reach(const Address& peer, std::string& why_not) override {
    const Identity& other = peer.identity();
    if (other.name == identity_.name && other.tag == identity_.tag) return true;
    why_not = "another process";
    return false;
  }
  bool connect(PeerId peer, const Address& address, std::string& why_not) override {
    if (!reach(address, why_not)) return false;
    if (open_) return true;
    open_ = true;
    // Sender and receiver are the same process, so connect() also accepts.
    self_ = peer;
    pending_peer_ = address;
    return true;
  }
  void close(PeerId) noexcept override { open_ = false; }

  SendStatus send(PeerId, Meta meta, const Slice* slices, int count) noexcept override {
    return open_ ? writer_.send(meta, slices, count) : SendStatus::broken;
  }
  int poll() noexcept override {
    RingFrame frame;
    int events = 0;
    while (events < limits::kLoopFramesPerPoll && reader_.peek(frame) == RingReader::Peek::frame) {
      if (pending_peer_) connect();
      ++events;
      if (self_ != kNoPeer) sink_.on_frame(self_, frame.meta(), frame.payload);
      reader_.pop();
    }
    return events;
  }
  bool drained() const noexcept override { return true; }
  void wait_fds(std::vector<int>& out) const override {
    if (bell_ != nullptr) out.push_back(bell_->fd());
  }
  Armed arm() noexcept override {
    if (bell_ == nullptr) return Armed::partly;
    const bool settled = bell_->arm();
    RingFrame frame;
    if (reader_.peek(frame) != RingReader::Peek::frame)
      return settled ? Armed::fully : Armed::settling;
    bell_->withdraw();
    return Armed::busy;
  }
  void disarm() noexcept override {
    if (bell_ != nullptr) bell_->withdraw();
  }

  bool register_memory(void* data, std::size_t, LinkRegion& out) override {
    out.base = reinterpret_cast<std::uintptr_t>(data);
    return true;
  }
  Start put(PeerId, const void* source, const LinkRegion&, std::uint64_t remote_address,
            const LinkRegion&, std::size_t size, Operation*) noexcept override {
    std::memmove(memory_at(remote_address), source, size);
    return Start::done;
  }
  Start get(PeerId, void* destination, const LinkRegion&, std::uint64_t remote_address,
            const LinkRegion&, std::size_t size, Operation*) noexcept override {
    std::memmove(destination, memory_at(remote_address), size);
    return Start::done;
  }

 private:
  static void* memory_at(std::uint64_t address) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  }
  // Calls on_connect() before the first frame, as every link does.
  void connect() {
    self_ = sink_.on_connect(*this, *pending_peer_);
    pending_peer_.reset();
  }

  const RingShape shape_;
  const Identity identity_;
  FrameSink& sink_;
  std::unique_ptr<std::byte, FreeAligned> memory_;
  RingWriter writer_;
  RingReader reader_;
  BellState bell_state_{};
  std::unique_ptr<Bell> bell_;
  BellCord cord_;
  bool open_ = false;
  PeerId self_ = kNoPeer;
  std::optional<Address> pending_peer_;
};

}  // namespace

std::unique_ptr<Link> make_loop_link(const LoopOptions& options, const Identity& identity,
                                     FrameSink& sink, std::string& why_not) {
  if (!options.ring.valid(why_not)) return nullptr;
  auto link = std::make_unique<LoopLink>(options, identity, sink);
  if (options.bell && !link->hang_bell(why_not)) return nullptr;
  return link;
}

}  // namespace lfc
