// VerbsLink: the class behind make_verbs_link(), made of
//   connections.hpp  queue pairs with peers, from their making to their end
//   frames.hpp       frames out and in, and the credits of the link
//   handshake.hpp    set-up of connections
//   transfers.hpp    puts and gets
//   health.hpp       events of the device and its port
#pragma once

#include <cstdint>
#include <optional>

#include "link/verbs/connections.hpp"
#include "link/verbs/frames.hpp"
#include "link/verbs/handshake.hpp"
#include "link/verbs/health.hpp"
#include "link/verbs/shared.hpp"
#include "link/verbs/verbs_link.hpp"

namespace lfc::verbs {

class VerbsLink final : public Link {
 public:
  VerbsLink(const VerbsOptions& options, const Identity& identity, FrameSink& sink,
            Counters& counters, std::unique_ptr<Device> device);
  ~VerbsLink() override;
  bool open(std::string& why_not);

  std::size_t max_payload() const noexcept override { return frames_.payload(); }
  void publish(AddressWriter& writer) const override;
  void set_own_address(std::span<const std::byte> address) override {
    handshake_.set_own_address(address);
  }
  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override;
  void close(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override {
    return frames_.send(peer, meta, slices, count);
  }
  int poll() noexcept override;

  void wait_fds(std::vector<int>& out) const override;
  Armed arm() noexcept override;
  void disarm() noexcept override;
  bool drained() const noexcept override;
  std::size_t memory() const noexcept override;

  bool register_memory(void* data, std::size_t size, LinkRegion& out) override;
  void deregister_memory(LinkRegion& region) noexcept override;
  Start put(PeerId peer, const void* source, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;
  Start put_notified(PeerId peer, const void* source, const LinkRegion& local,
                     std::uint64_t address, const LinkRegion& remote, std::size_t size,
                     std::uint32_t value, Operation* operation) noexcept override;
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;

 private:
  using Clock = Connection::Clock;
  using State = Connection::State;

  void on_completion(const ibv_wc& ended) noexcept;
  // Reads events of the device and its port; connections that they end become pending.
  void handle_events() noexcept;
  // False: the connection needs no more attention.
  bool serve(Connection& connection, Clock::time_point now) noexcept;
  Start transfer(bool put, PeerId peer, std::byte* local, const LinkRegion& local_region,
                 std::uint64_t address, const LinkRegion& remote_region, std::size_t size,
                 Operation* operation, std::optional<std::uint32_t> notification = {}) noexcept;

  Shared shared_;
  Connections connections_{shared_};
  Frames frames_{shared_, connections_};
  Handshake handshake_{shared_, connections_, frames_};
  Health health_;
  mutable bool drain_requested_ = false;
};

}  // namespace lfc::verbs
