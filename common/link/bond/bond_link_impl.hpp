// The class behind make_bond_link(). Its parts:
//   bond_link.cpp       the Link interface: sessions from connect to goodbye, poll()
//   bond_frames.cpp     numbered frames, acknowledgements and notes
//   bond_transfers.cpp  puts and gets in chunks
//   bond_rails.cpp      rails that die: how that is noticed, and what follows
// Calls from rails (frames, ends of chunks, broken connections) only note what is to be done where it
// would mean to close a rail or give up a peer; attend() does it, outside of any rail's poll().
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "link/bond/bond_link.hpp"
#include "link/bond/rail_choice.hpp"
#include "link/bond/session.hpp"

namespace lfc::bond {

class BondLink final : public Bond {
 public:
  BondLink(const BondOptions& options, const Identity& identity, FrameSink& sink,
           Counters& counters);
  ~BondLink() override;

  FrameSink& rail_sink() override { return *sinks_[rails_.size()]; }
  void add_rail(std::string label, std::unique_ptr<Link> rail, RailUse use) override;
  std::size_t rails() const noexcept override { return rails_.size(); }

  std::size_t max_payload() const noexcept override { return max_payload_; }
  void publish(AddressWriter& writer) const override;
  void set_own_address(std::span<const std::byte> address) override;

  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override;
  void close(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
  int poll() noexcept override;
  void push() noexcept override;
  std::chrono::nanoseconds kept_since() const noexcept override;
  void wait_fds(std::vector<int>& out) const override;
  Armed arm() noexcept override;
  void disarm() noexcept override;
  bool drained() const noexcept override;
  std::size_t memory() const noexcept override;

  bool remote_memory(PeerId peer) const noexcept override;
  bool register_memory(void* data, std::size_t size, LinkRegion& out) override;
  void deregister_memory(LinkRegion& region) noexcept override;
  Start put(PeerId peer, const void* source, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;
  Start get(PeerId peer, void* destination, const LinkRegion& local, std::uint64_t address,
            const LinkRegion& remote, std::size_t size, Operation* operation) noexcept override;

 private:
  // Tells the bond which rail something comes from.
  struct RailSink final : FrameSink {
    RailSink(BondLink& bond_, std::uint8_t rail_) : bond(bond_), rail(rail_) {}
    void on_frame(PeerId id, Meta meta, std::span<const std::byte> payload) override {
      bond.frame_on_rail(rail, id, meta, payload);
    }
    PeerId on_connect(Link&, const Address& from) override { return bond.caller(rail, from); }
    Keep may_keep(bool stream) noexcept override { return bond.sink_.may_keep(stream); }
    void on_broken(PeerId id, Link&, std::string_view why) override {
      bond.rail_broken(rail, id, why);
    }
    BondLink& bond;
    const std::uint8_t rail;
  };
  struct Rail {
    std::string label;
    std::unique_ptr<Link> link;
    RailUse use = RailUse::all;
    std::uint32_t quiet = 0;  // polls since it had an event
  };
  std::uint8_t rail_count() const noexcept { return static_cast<std::uint8_t>(rails_.size()); }

  // bond_link.cpp
  Session* of(PeerId peer) const noexcept {
    return peer < by_peer_.size() ? by_peer_[peer] : nullptr;
  }
  Session* session(PeerId id) const noexcept {
    return id < sessions_.size() ? sessions_[id].get() : nullptr;
  }
  Session& begin(const Address& address, PeerId peer);
  bool join(Session& session, std::uint8_t rail, std::string& why_not);
  bool connect_rails(Session& session, std::string& why_not);
  bool widen(Session& session);
  PeerId caller(std::uint8_t rail, const Address& from);
  void finish(Session& session, Session::State state);
  void close_rails(Session& session) noexcept;
  void forget(Session& session) noexcept;
  void bury() noexcept;
  void stir(Session& session) noexcept;
  int attend();
  bool settle(Session& session);
  bool say_goodbye(Session& session);

  // bond_frames.cpp
  void frame_on_rail(std::uint8_t rail, PeerId id, Meta meta, std::span<const std::byte> payload);
  void note_on_rail(Session& session, std::uint8_t rail, const Note& note);
  void deliver(Session& session, Meta meta, std::span<const std::byte> payload);
  void violation(Session& session, std::string_view what);
  SendStatus send_numbered(Session& session, Meta meta, const Slice* slices, int count) noexcept;
  SendStatus transmit(Session& session, std::uint8_t rail, std::uint32_t number, Meta meta,
                      const Slice* slices, int count, std::size_t size) noexcept;
  SendStatus send_note(Session& session, std::uint8_t rail, const Note& note) noexcept;
  std::uint8_t rail_for(Session& session, std::size_t size) const noexcept;
  bool send_unsent(Session& session) noexcept;
  void tell(Session& session, std::uint8_t rail) noexcept;

  // bond_transfers.cpp
  Start start(PeerId peer, bool is_put, void* memory, std::uint64_t address,
              const LinkRegion& remote, std::size_t size, Operation* operation) noexcept;
  bool feed(Session& session);
  Chunk* next_chunk(Session& session);
  std::uint8_t rail_with_room(const Session& session, std::uint32_t tried) const noexcept;
  Start start_chunk(Session& session, Chunk& chunk, std::uint8_t rail) noexcept;
  static void chunk_done(Operation* self, Result result);
  void chunk_ended(Chunk& chunk, Result result);
  void account(Chunk& chunk, Result result);
  void complete(Session& session, Transfer& transfer, Result result);
  void abandon_transfers(Session& session);
  Chunk& take_chunk();

  // bond_rails.cpp
  void rail_broken(std::uint8_t rail, PeerId id, std::string_view why);
  void suspect(Session& session, std::uint8_t rail, std::string_view why) noexcept;
  void leave_rail(Session& session, std::uint8_t rail);
  void peer_left(Session& session, std::uint8_t rail);
  void check_time();
  void check_rails(Session& session, Clock::time_point now);
  bool has_work(const Session& session, std::uint8_t rail) const noexcept;
  void life(Session& session, std::uint8_t rail) noexcept;
  void tell_user(const Session& session, std::uint8_t rail, std::string_view why) const;

  const BondOptions options_;
  RailChoice choice_;
  const Identity identity_;
  FrameSink& sink_;
  Counters& counters_;
  std::vector<std::unique_ptr<RailSink>> sinks_;
  std::vector<Rail> rails_;
  std::size_t max_payload_ = 0;

  std::vector<std::unique_ptr<Session>> sessions_;  // by id; ids are not used again
  std::vector<Session*> by_peer_;
  std::unordered_map<std::uint64_t, Session*> by_name_;  // the latest that is not over
  std::vector<Session*> restless_;
  std::deque<Chunk> chunks_;
  std::vector<Chunk*> spare_chunks_;
  std::deque<Transfer> transfers_;
  std::vector<Transfer*> spare_transfers_;
  std::vector<Operation*> cancelled_;  // completed by the next poll()
  bool over_ = false;                  // some session can be forgotten
  std::uint64_t ticks_ = 0;
  Clock::time_point next_check_{};
};

}  // namespace lfc::bond
