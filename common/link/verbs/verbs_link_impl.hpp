// The class behind make_verbs_link(). Its parts:
//   verbs_link.cpp      frames out and in, waiting, remote memory
//   verbs_channels.cpp  channels: how they begin and end
//   verbs_trouble.cpp   what goes wrong with channels, ports and the device
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "link/verbs/buffers.hpp"
#include "link/verbs/channel.hpp"
#include "link/verbs/datagrams.hpp"
#include "link/verbs/health.hpp"
#include "link/verbs/transfers.hpp"
#include "link/verbs/verbs_link.hpp"

namespace lfc::verbs {

class VerbsLink final : public Link {
 public:
  VerbsLink(const VerbsOptions& options, const Identity& identity, FrameSink& sink,
            Counters& counters, std::unique_ptr<Device> device);
  ~VerbsLink() override;
  bool open(std::string& why_not);

  std::size_t max_payload() const noexcept override { return payload_; }
  void publish(AddressWriter& writer) const override;
  void set_own_address(std::span<const std::byte> address) override;
  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override;
  void close(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
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
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;

 private:
  using Clock = Channel::Clock;
  using State = Channel::State;

  Channel* channel_of(PeerId peer) const noexcept {
    return peer < by_peer_.size() ? by_peer_[peer] : nullptr;
  }

  // --- Frames ---

  bool post(Channel& channel, Word word, ibv_sge* pieces, int count, const Work& work,
            bool more) noexcept;
  bool send_inline(Channel& channel, Word word, const Slice* slices, int count,
                   std::size_t size) noexcept;
  bool send_pieces(Channel& channel, Word word, const Slice* slices, int count,
                   std::size_t size) noexcept;
  // A frame of the link's own.
  bool send_note(Channel& channel, std::uint8_t type) noexcept;
  std::uint8_t collect(Channel& channel) noexcept;
  void on_completion(const ibv_wc& ended) noexcept;
  void on_sent(Channel& channel, std::uint32_t number, ibv_wc_status status) noexcept;
  void on_receive(const ibv_wc& ended, std::uint32_t index) noexcept;
  // True: it has taken a credit.
  bool accept(Channel& channel, Word word, std::span<const std::byte> bytes) noexcept;
  void on_note(Channel& channel, std::uint8_t type) noexcept;
  void return_credits() noexcept;
  // Sees to completions for what has left without.
  void ask_for_ends() noexcept;
  Start transfer(bool put, PeerId peer, std::byte* local, const LinkRegion& local_region,
                 std::uint64_t address, const LinkRegion& remote_region, std::size_t size,
                 Operation* operation) noexcept;

  // --- Channels ---

  Channel* make_channel(PeerId peer, const Address& address, std::string& why_not);
  bool make_pair(Channel& channel, std::string& why_not);
  bool connect_pair(Channel& channel, std::string& why_not);
  void on_datagram(std::span<const std::byte> bytes) noexcept;
  void on_ask(const Hello& hello);
  void on_answer(const Hello& hello);
  void on_gone(const Hello& hello);
  bool say(Channel& channel, HelloPart::Kind kind) noexcept;
  void attend(Channel& channel) noexcept;
  void attend_pending() noexcept;
  // False: it needs no more.
  bool attend_to(Channel& channel, Clock::time_point now) noexcept;
  bool attend_to_hello(Channel& channel, Clock::time_point now) noexcept;
  void end_if_done(Channel& channel) noexcept;

  // --- Trouble ---

  // What the device and its port have to tell; what follows is pending.
  void heed_events() noexcept;
  // Nobody answers, and the kernel there says why.
  bool is_gone(Channel& channel, Clock::time_point now) noexcept;
  // Remembers a failure, for poll() to report.
  void fail(Channel& channel, std::string_view why) noexcept;
  void break_channel(Channel& channel, std::string_view why) noexcept;
  // Its queue pair goes, with all that it holds.
  void dispose(Channel& channel) noexcept;
  std::string ends_of(const Channel& channel) const;

  const VerbsOptions options_;
  const Identity identity_;
  FrameSink& sink_;
  Counters& counters_;
  const std::unique_ptr<Device> device_;
  Health health_;
  Endpoint here_;
  std::size_t payload_ = 0;
  std::size_t inline_ = 0;
  int pieces_inline_ = 1;
  std::uint32_t outstanding_ = 0;  // work requests of all channels
  ReceivePool receives_;
  SendPool sends_;
  Datagrams datagrams_;
  Transfers transfers_;
  HelloInbox inbox_;
  std::vector<std::byte> own_address_;
  std::vector<std::unique_ptr<Channel>> channels_;  // by slot; never shrinks
  std::vector<Channel*> by_peer_;
  std::unordered_map<std::uint32_t, Channel*> by_pair_;  // by number of our queue pair
  std::vector<Channel*> pending_;
  std::vector<Channel*> attending_;
  std::vector<Channel*> due_;
  Door door_;
  mutable bool asked_to_drain_ = false;
  bool ending_ = false;
};

}  // namespace lfc::verbs
