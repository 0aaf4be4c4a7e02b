// Settings for the examples in common/link/bond, but for those of link.cpp
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include "given.hpp"
#include "link/bond/arrivals.hpp"
#include "link/bond/bond_link.hpp"
#include "link/bond/connector.hpp"
#include "link/bond/deferred_calls.hpp"
#include "link/bond/delivery.hpp"
#include "link/bond/entries.hpp"
#include "link/bond/losses.hpp"
#include "link/bond/numbered_frames.hpp"
#include "link/bond/rail_choice.hpp"
#include "link/bond/rail_watch.hpp"
#include "link/bond/rails.hpp"
#include "link/bond/retained.hpp"
#include "link/bond/returns.hpp"
#include "link/bond/sessions.hpp"
#include "link/bond/transfers.hpp"

namespace lfc::bond::examples {

using lfc::examples::Given;

extern const Given connect, count, deliver, frame, from, id, is_put, memory, number, other, payload,
    protocol_error, remote, settle, size, report_to_user, round;
extern int events;
extern std::unique_ptr<Link> make_link(FrameSink& sink);
extern const Slice* slices;

void arrivals(Arrivals& arrivals, Meta meta) {
#include "common/link/bond/arrivals.hpp.example"
}

void connector(Connector& connector, Session& session, const Address& address, PeerId peer,
               std::string& why_not, std::uint32_t rail) {
#include "common/link/bond/connector.hpp.example"
}

void delivery(Delivery& delivery) {
#include "common/link/bond/delivery.hpp.example"
}

void deferred_calls_of(DeferredCalls& deferred_calls, Sessions& sessions) {
#include "common/link/bond/deferred_calls.hpp.example"
}

bool entries_of(Entries& entries, Session& session, const Head& head, Note note,
                std::uint8_t rail) {
#include "common/link/bond/entries.hpp.example"
  return sent;
}

void losses(Losses& losses, Session& session, std::uint32_t rail, std::uint32_t connection) {
#include "common/link/bond/losses.hpp.example"
}

void numbered_frames(NumberedFrames& frames, Session& session, Meta meta, std::uint8_t rail) {
#include "common/link/bond/numbered_frames.hpp.example"
}

void rail_choice(const BondOptions& options, std::span<const std::byte> address,
                 const Address& peer, std::uint8_t rails, std::uint8_t rail,
                 const std::string& why) {
#include "common/link/bond/rail_choice.hpp.example"
}

void rail_watch(RailWatch& watch, Clock::time_point present) {
#include "common/link/bond/rail_watch.hpp.example"
}

void rails(RailEvents& events, std::size_t rail, Session& session, Meta meta){
#include "common/link/bond/rails.hpp.example"
}

SendStatus retained(Retained& retained, bool control, Meta meta, Head head, std::uint32_t rail) {
  constexpr SendStatus again = SendStatus::again;
#include "common/link/bond/retained.hpp.example"
  return SendStatus::sent;
}

void returns_of(Rails& rails, Sessions& sessions, Losses& losses, Entries& entries,
                Connector& connector, const BondOptions& options, Counters& counters,
                Clock::time_point present) {
#include "common/link/bond/returns.hpp.example"
}

void sessions(const Address& address, PeerId peer) {
#include "common/link/bond/sessions.hpp.example"
}

void transfers(Transfers& transfers, Sessions& sessions, Session& session, std::uint64_t address,
               Operation* operation) {
#include "common/link/bond/transfers.hpp.example"
}

}  // namespace lfc::bond::examples
