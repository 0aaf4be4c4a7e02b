// Delivery: the receiving side of a bond. It puts the frames of all rails in order and hands them on, handles notes,
// and detects violations of the protocol.
//
//   Rails rails(delivery);          // calls it
//
// Invariants: frames of a session are handed on in the order of their numbers, each once; a peer without a bond passes
// unchanged (tests/unit/link/bond/bond_test.cpp). It never closes a rail or gives up a peer: that is a deferred call
// (deferred_calls.hpp). Threads: as the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "link/bond/connector.hpp"
#include "link/bond/entries.hpp"
#include "link/bond/numbered_frames.hpp"

namespace lfc::bond {

class Delivery final : public RailEvents {
 public:
  Delivery(Rails& rails, Sessions& sessions, Losses& losses, NumberedFrames& frames,
           Transfers& transfers, Connector& connector, Entries& entries, FrameSink& sink,
           Counters& counters) noexcept
      : rails_(rails),
        sessions_(sessions),
        losses_(losses),
        frames_(frames),
        transfers_(transfers),
        connector_(connector),
        entries_(entries),
        sink_(sink),
        counters_(counters) {}

  void on_rail_frame(std::uint8_t rail, PeerId id, Meta meta,
                     std::span<const std::byte> payload) override;
  PeerId on_rail_connect(std::uint8_t rail, const Address& from) override {
    return connector_.caller(rail, from);
  }
  Batch may_batch(bool stream) noexcept override { return sink_.may_batch(stream); }
  void on_rail_broken(std::uint8_t rail, PeerId id, std::string_view why) override;

 private:
  void on_enter(Session& session, std::uint8_t rail, const Head& head, Meta meta,
                std::span<const std::byte> payload);
  void on_note(Session& session, std::uint8_t rail, const Note& note);
  void deliver(Session& session, Meta meta, std::span<const std::byte> payload);
  void violation(Session& session, std::string_view what);

  Rails& rails_;
  Sessions& sessions_;
  Losses& losses_;
  NumberedFrames& frames_;
  Transfers& transfers_;
  Connector& connector_;
  Entries& entries_;
  FrameSink& sink_;
  Counters& counters_;
};

}  // namespace lfc::bond
