// OfiLink: the class behind make_ofi_link(), made of the parts below. An idle link's poll() is one fi_cq_read().
//   ofi_fabric.hpp      the provider and its objects
//   ofi_connections.hpp connections, from their making to their end
//   ofi_frames.hpp      frames out and in
//   ofi_handshake.hpp   handshakes
//   ofi_transfers.hpp   puts and gets
#pragma once

#include <memory>
#include <string>

#include "link/ofi/ofi_connections.hpp"
#include "link/ofi/ofi_frames.hpp"
#include "link/ofi/ofi_handshake.hpp"
#include "link/ofi/ofi_link.hpp"

namespace lfc {

class OfiLink final : public Link {
 public:
  OfiLink(const OfiOptions& options, const Identity& identity, FrameSink& sink, Counters& counters,
          std::unique_ptr<OfiFabric> fabric);
  // Loses frames that the provider still holds: wait for drained() before.
  ~OfiLink() override { shared_.fabric->close_endpoint(); }
  bool open(std::string& why_not);

  std::size_t max_payload() const noexcept override {
    return shared_.fabric->frame_size() - sizeof(Header);
  }
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
  bool drained() const noexcept override;
  std::size_t memory() const noexcept override {
    return shared_.sends.memory() + shared_.receives.memory();
  }

  bool register_memory(void* data, std::size_t size, LinkRegion& out) override;
  void deregister_memory(LinkRegion& region) noexcept override;
  Start put(PeerId peer, const void* source, const LinkRegion& local, std::uint64_t remote_address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t remote_address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;

 private:
  using Clock = OfiConnection::Clock;
  using State = OfiConnection::State;

  void on_completion(const fi_cq_data_entry& entry) noexcept;
  void on_error() noexcept;
  void on_frame(std::span<const std::byte> frame) noexcept;
  // Takes one step. False: the connection needs no more attention.
  bool serve(OfiConnection& connection, Clock::time_point now) noexcept;
  void watch(OfiConnection& connection, Clock::time_point now);
  Start transfer(bool put, PeerId peer, std::byte* local, const LinkRegion& local_region,
                 std::uint64_t address, const LinkRegion& remote_region, std::size_t size,
                 Operation* operation) noexcept;

  OfiShared shared_;
  const std::uint64_t node_tag_;
  OfiConnections connections_{shared_};
  OfiFrames frames_{shared_, connections_};
  OfiHandshake handshake_{shared_, connections_, frames_};
};

}  // namespace lfc
