// OfiLink: the class behind make_ofi_link(). See ofi_link.hpp for what it is for.
//
// A channel's life:  greeting (hello sent, or to be sent) -> open -> closed or broken.
// Whatever is to happen later to a channel (a handshake frame to send or repeat, a sender that
// found no room, a failure to report) puts it on the list `pending_`, which poll() attends to; an
// idle link's poll() is one fi_cq_read(). ofi_channels.cpp sets channels up and attends to them;
// ofi_link.cpp sends and receives.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "link/ofi/ofi_buffers.hpp"
#include "link/ofi/ofi_fabric.hpp"
#include "link/ofi/ofi_link.hpp"
#include "link/ofi/ofi_transfers.hpp"
#include "link/ofi/peer_probe.hpp"

namespace lfc {

class OfiLink final : public Link {
 public:
  OfiLink(const OfiOptions& options, const Identity& identity, FrameSink& sink, Counters& counters,
          std::unique_ptr<OfiFabric> fabric);
  // Frames that the provider still holds are lost: wait for drained() before.
  ~OfiLink() override { fabric_->close_endpoint(); }
  bool open(std::string& why_not);

  std::size_t max_payload() const noexcept override {
    return fabric_->frame_size() - sizeof(Header);
  }
  void publish(AddressWriter& writer) const override;
  void set_own_address(std::span<const std::byte> address) override;
  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override;
  void close(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
  int poll() noexcept override;
  bool drained() const noexcept override;
  std::size_t memory() const noexcept override { return sends_.memory() + receives_.memory(); }

  bool register_memory(void* data, std::size_t size, LinkRegion& out) override;
  void deregister_memory(LinkRegion& region) noexcept override;
  Start put(PeerId peer, const void* source, const LinkRegion& local, std::uint64_t remote_address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t remote_address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Channel {
    enum class State : std::uint8_t { greeting, open, failing, closing, closed, broken };
    static constexpr std::uint32_t kUnknown = 0xffffffffu;

    // What a send touches.
    fi_addr_t address = FI_ADDR_UNSPEC;
    std::uint32_t key = 0;
    std::uint32_t remote_slot = kUnknown;
    std::uint32_t next_send = 1;
    std::uint32_t next_receive = 1;
    State state = State::greeting;
    bool answer_due = false;  // a hello_ack
    bool stalled = false;     // the provider refused the last frame
    bool greeted = false;     // a hello has left
    bool pending = false;     // on the list
    std::uint32_t slot = 0;
    PeerId peer = kNoPeer;

    // What only set-up and trouble touch.
    Identity target;
    Key nonce;                       // of our hello
    Key peer_nonce;                  // of the peer's
    Clock::time_point next_try{};    // of a handshake frame
    Clock::duration pause{};         // between tries that find no room
    Clock::duration repeat_after{};  // of a hello that nobody answers
    Clock::time_point quiet_since{};
    std::map<std::uint32_t, std::vector<std::byte>> early;  // frames that overtook others
    Clock::time_point gap_since{};
    std::vector<SendBuffer*> held;  // control frames that the provider has no room for
    PeerProbe probe;
    std::string raw_address;  // libfabric's
    std::string failure;
  };

  Channel* channel_of(PeerId peer) const noexcept {
    return peer < by_peer_.size() ? by_peer_[peer] : nullptr;
  }
  Channel* make_channel(PeerId peer, const Address& address, std::string& why_not);
  bool find_address(std::string_view raw, fi_addr_t& out, std::string& why_not);

  // Writes a frame into `out`, padded so that the next one in a receive buffer is aligned.
  std::size_t fill(std::byte* out, const Channel& channel, std::uint32_t sequence, Meta meta,
                   const Slice* slices, int count, std::size_t payload) noexcept;
  // Gives a filled buffer to the provider; on success it is the provider's.
  ssize_t launch(const Channel& channel, SendBuffer& buffer) noexcept;
  SendStatus hold(Channel& channel, Meta meta, const Slice* slices, int count,
                  std::size_t payload) noexcept;
  // Sends what is held, as far as there is room. False when the channel failed.
  bool send_held(Channel& channel) noexcept;
  void drop_held(Channel& channel) noexcept;
  enum class Sent : std::uint8_t { yes, no_room, failed };
  Sent send_handshake(Channel& channel, FrameType type, std::uint32_t sequence) noexcept;
  // The provider lost a handshake frame.
  void repeat_handshake(Channel& channel) noexcept;

  void on_completion(const fi_cq_data_entry& entry) noexcept;
  void on_error() noexcept;
  void on_frame(std::span<const std::byte> frame) noexcept;
  // The next frame of the channel, whole.
  void accept(Channel& channel, std::span<const std::byte> frame) noexcept;
  // A frame that comes too soon, or after one that is lost.
  void keep(Channel& channel, std::uint32_t sequence, std::span<const std::byte> frame) noexcept;
  void on_hello(std::span<const std::byte> payload);
  void on_hello_ack(Channel& channel, std::span<const std::byte> payload) noexcept;

  void attend(Channel& channel) noexcept;
  void attend_pending() noexcept;
  // One step; false when the channel needs no more attention.
  bool attend_to(Channel& channel, Clock::time_point now) noexcept;
  void watch(Channel& channel, Clock::time_point now);
  // Remembers a failure, for poll() to report.
  void fail(Channel& channel, std::string why) noexcept;
  void break_channel(Channel& channel, std::string_view why) noexcept;
  void break_all(std::string_view why) noexcept;

  Start transfer(bool put, PeerId peer, std::byte* local, const LinkRegion& local_region,
                 std::uint64_t address, const LinkRegion& remote_region, std::size_t size,
                 Operation* operation) noexcept;

  const OfiOptions options_;
  const Identity identity_;
  FrameSink& sink_;
  Counters& counters_;
  std::unique_ptr<OfiFabric> fabric_;
  std::uint64_t host_tag_ = 0;
  std::size_t inject_size_ = 0;
  SendPool sends_;
  ReceivePool receives_;
  OfiTransfers transfers_;
  std::vector<std::byte> own_address_;
  std::vector<std::unique_ptr<Channel>> channels_;  // by slot; never shrinks
  std::vector<Channel*> by_peer_;
  std::vector<Channel*> pending_;
  std::vector<Channel*> attending_;
  std::unordered_map<std::string, fi_addr_t> addresses_;
};

}  // namespace lfc
