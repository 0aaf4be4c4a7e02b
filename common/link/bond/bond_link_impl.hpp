// BondLink: the class behind make_bond_link(), made of
//   rails.hpp            the links, and the sinks that add the number of the rail
//   sessions.hpp         the peers (session.hpp)
//   connector.hpp        how sessions begin, and over which rails
//   entries.hpp          the first frames on a connection
//   numbered_frames.hpp  frames out, and delivery.hpp: frames in
//   transfers.hpp        puts and gets in chunks
//   losses.hpp           rails that are lost, rail_watch.hpp: rails without progress, returns.hpp: rails that return
//   deferred_calls.hpp   calls that are made outside of any rail's poll()
// Calls from rails (frames, ends of chunks, broken connections) never close a rail or give up a peer. They note that it
// is due, and DeferredCalls does it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "link/bond/bond_link.hpp"
#include "link/bond/deferred_calls.hpp"
#include "link/bond/delivery.hpp"
#include "link/bond/rail_watch.hpp"
#include "link/bond/returns.hpp"
#include "link/present_time.hpp"

namespace lfc::bond {

class BondLink final : public Bond {
 public:
  BondLink(const BondOptions& options, FrameSink& sink, Counters& counters);
  ~BondLink() override;

  FrameSink& rail_sink() override { return rails_.next_sink(); }
  void add_rail(std::string label, std::unique_ptr<Link> rail, RailUse use) override;
  std::size_t rails() const noexcept override { return rails_.count(); }

  std::size_t max_payload() const noexcept override { return rails_.max_payload(); }
  void publish(AddressWriter& writer) const override { connector_.publish(writer); }
  void set_own_address(std::span<const std::byte> address) override {
    connector_.set_own_address(address);
  }

  bool reach(const Address& peer, std::string& why_not) override {
    return rails_.reach(peer, why_not);
  }
  bool connect(PeerId peer, const Address& address, std::string& why_not) override {
    return connector_.connect(peer, address, why_not);
  }
  void close(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
  int poll() noexcept override;
  void flush() noexcept override { rails_.flush(); }
  std::chrono::nanoseconds batched_since() const noexcept override {
    return rails_.batched_since();
  }
  void wait_fds(std::vector<int>& out) const override { rails_.wait_fds(out); }
  Armed arm() noexcept override;
  void disarm() noexcept override { rails_.disarm(); }
  bool drained() const noexcept override;
  std::size_t memory() const noexcept override;

  bool remote_memory(PeerId peer) const noexcept override;
  bool register_memory(void* data, std::size_t size, LinkRegion& out) override {
    return rails_.register_memory(data, size, out);
  }
  void deregister_memory(LinkRegion& region) noexcept override { rails_.deregister_memory(region); }
  Start put(PeerId peer, const void* source, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;

 private:
  const BondOptions options_;
  Delivery delivery_;  // first: it refers to the members below, which are destroyed before it
  Rails rails_;
  Sessions sessions_;
  Losses losses_;
  NumberedFrames frames_;
  Transfers transfers_;
  Entries entries_;
  Connector connector_;
  PresentTime present_;  // of all deadlines that a peer has to meet
  Returns returns_;
  RailWatch watch_;
  DeferredCalls deferred_calls_;
  bool slept_ =
      true;  // since the last look at the clock, so that few polls may have been many seconds
};

}  // namespace lfc::bond
