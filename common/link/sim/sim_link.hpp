// SimLink: one node's link to a SimFabric. Made by SimFabric::make_link(); see there.
//
// Connection: `hello` carries the index under which we know the peer, and our address; the peer
// replies with `hello_ack` and the index under which it knows us. That index is then `source` in each
// header, so that a receiver finds the sender's state without a search and checks what it finds.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "link/link.hpp"
#include "link/sim/sim_fabric.hpp"

namespace lfc {

class SimLink final : public Link {
 public:
  SimLink(SimFabric& fabric, SimFabric::Node node, FrameSink& sink, Counters& counters);
  ~SimLink() override;

  std::size_t max_payload() const noexcept override { return fabric_.options_.max_payload; }
  void publish(AddressWriter& writer) const override;
  void set_own_address(std::span<const std::byte> address) override;
  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override;
  void close(PeerId peer) noexcept override;
  void abandon(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
  int poll() noexcept override;

  bool register_memory(void* data, std::size_t size, LinkRegion& out) override;
  void deregister_memory(LinkRegion& region) noexcept override;
  Start put(PeerId peer, const void* source, const LinkRegion& local, std::uint64_t remote_address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;
  Start put_notified(PeerId peer, const void* source, const LinkRegion& local,
                     std::uint64_t remote_address, const LinkRegion& remote, std::size_t size,
                     std::uint32_t value, Operation* operation) noexcept override;
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t remote_address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;

 private:
  struct Remote {
    enum class State : std::uint8_t { none, connecting, closing, connected, closed, broken };
    State state = State::none;
    SimFabric::Node node = 0;
    std::uint32_t key = 0;
    std::uint32_t connection = 0;         // both ends give it this number
    std::uint32_t their_index = kNoPeer;  // under which the peer knows us
    std::uint32_t next_sequence = 0;      // of frames we send
    std::uint32_t expected_sequence = 0;  // of frames we receive
  };
  Remote& at(PeerId peer);
  static std::optional<SimFabric::Node> node_of(const Address& address) noexcept;
  void transmit(Remote& remote, std::uint32_t source, Meta meta, const Slice* slices, int count);
  void send_goodbye(Remote& remote);
  void send_hello(Remote& remote, FrameType type, PeerId index);
  void handle_frame(SimFabric::Event& event);
  void handle_hello(SimFabric::Event& event, const Header& header);
  void defer_hello(SimFabric::Event& event);
  void handle_reset(SimFabric::Node from, std::uint32_t connection);
  void handle_late_put(const SimFabric::Event& event);
  void complete_copies(const Remote& remote);
  void handle_broken(SimFabric::Node from);
  void handle_notification(SimFabric::Node from, std::uint32_t value);
  void break_remote(PeerId peer, std::string_view why);
  void drop() noexcept { counters_.add(Counter::frames_dropped); }
  Start start_copy(PeerId peer, SimFabric::Copy copy) noexcept;
  static SimFabric::Copy copy_of_put(const void* source, std::uint64_t remote_address,
                                     const LinkRegion& remote, std::size_t size,
                                     Operation* operation) noexcept;

  SimFabric& fabric_;
  const SimFabric::Node node_;
  FrameSink& sink_;
  Counters& counters_;
  std::vector<std::byte> own_address_;
  std::uint32_t key_ = 0;
  std::deque<Remote> remotes_;  // by PeerId; stable, because callbacks may add peers
};

}  // namespace lfc
