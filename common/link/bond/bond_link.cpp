#include "link/bond/bond_link.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "link/bond/bond_link_impl.hpp"

namespace lfc::bond {
namespace {

constexpr std::uint64_t kTimePeriod = 16;  // polls between looks at the clock

}  // namespace

BondLink::BondLink(const BondOptions& options, FrameSink& sink, Counters& counters)
    : Bond({.name = options.name, .wakes = true, .remote_memory = true}),
      options_(options),
      delivery_(rails_, sessions_, losses_, frames_, transfers_, connector_, entries_, sink,
                counters),
      rails_(delivery_),
      losses_(rails_, sessions_, options_, counters),
      frames_(rails_, sessions_, losses_, counters),
      transfers_(rails_, sessions_, losses_, counters),
      entries_(rails_, sessions_, losses_),
      connector_(*this, rails_, sessions_, losses_, transfers_, options_, sink),
      returns_(rails_, sessions_, losses_, entries_, connector_, options_, counters),
      watch_(rails_, sessions_, losses_, frames_, options_),
      deferred_calls_(*this, rails_, sessions_, losses_, frames_, transfers_, entries_, connector_,
                      sink) {}

// Sends a goodbye to each peer. The rails then send the frames that they still hold, as far as they can.
BondLink::~BondLink() {
  for (const auto& session : sessions_.all()) {
    if (session == nullptr || session->plain || session->state != Session::State::open) continue;
    static_cast<void>(frames_.send_goodbye(*session));
  }
}

void BondLink::add_rail(std::string label, std::unique_ptr<Link> rail, RailUse use) {
  traits_.kind = rail->traits().kind;
  traits_.wakes = traits_.wakes && rail->traits().wakes;
  traits_.remote_memory = traits_.remote_memory && rail->traits().remote_memory;
  traits_.registration_costs |= rail->traits().registration_costs;
  rails_.add(std::move(label), std::move(rail), use);
  traits_.message_payload = rails_.max_message();
}

void BondLink::close(PeerId peer) noexcept {
  Session* session = sessions_.of(peer);
  if (session == nullptr) return;
  sessions_.forget(*session);
  // Frames that wait for another rail still have to arrive.
  const bool carries = session->lead != kNoRail || session->retained.count() != 0;
  const bool talking = carries && !session->plain && !session->connect_due;
  if (session->state == Session::State::ending) return;  // our goodbye is due already
  if (session->state != Session::State::open || !talking) {
    transfers_.abandon(*session);
    connector_.finish(*session, Session::State::over);
    return;
  }
  session->state = Session::State::closing;
  const bool hurry = session->chunks != 0;  // the caller takes its memory back now
  transfers_.abandon(*session);
  const bool sent = frames_.send_goodbye(*session);
  if (hurry) {
    connector_.finish(*session, Session::State::over);
  } else if (!sent) {
    sessions_.make_restless(*session);
  }
}

SendStatus BondLink::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  Session* session = sessions_.of(peer);
  if (session == nullptr || session->state != Session::State::open) [[unlikely]]
    return SendStatus::broken;
  if (session->plain) return rails_[session->lead].link->send(session->id, meta, slices, count);
  return frames_.send(*session, meta, slices, count);
}

int BondLink::poll() noexcept {
  int events = rails_.poll();
  if (sessions_.restless()) events += deferred_calls_.run();
  if (transfers_.cancelled()) events += transfers_.complete_cancelled();
  if (rails_.polls() % kTimePeriod == 0 || slept_) {
    slept_ = false;
    const Clock::time_point present = present_.at(options_.now());
    watch_.check(present);
    if (sessions_.incomplete()) returns_.check(present);
  }
  if (sessions_.has_ended()) sessions_.free_ended();
  return events;
}

Link::Armed BondLink::arm() noexcept {
  if (transfers_.cancelled()) return Armed::busy;
  slept_ = true;
  // Only a timer detects that a rail no longer makes progress.
  const bool timed =
      sessions_.restless() || sessions_.has_ended() || watch_.has_work() || returns_.connecting();
  return rails_.arm(timed ? Armed::partly : Armed::fully);
}

bool BondLink::drained() const noexcept {
  for (const auto& session : sessions_.all())
    if (session != nullptr && (session->retained.unsent() != 0 || session->goodbye_due))
      return false;
  return rails_.drained();
}

std::size_t BondLink::memory() const noexcept {
  std::size_t bytes = rails_.memory();
  for (const auto& session : sessions_.all())
    if (session != nullptr) bytes += session->retained.memory() + session->arrivals.memory();
  return bytes;
}

bool BondLink::remote_memory(PeerId peer) const noexcept {
  const Session* session = sessions_.of(peer);
  return session != nullptr && transfers_.served(*session);
}

Link::Start BondLink::put(PeerId peer, const void* source, const LinkRegion& local,
                          std::uint64_t address, const LinkRegion& remote, std::size_t size,
                          Operation* operation) noexcept {
  Session* session = sessions_.of(peer);
  if (session == nullptr) return Start::failed;
  if (session->plain && session->state == Session::State::open)
    return rails_[session->lead].link->put(session->id, source, local, address, remote, size,
                                           operation);
  return transfers_.start(*session, true, const_cast<void*>(source), address, remote, size,
                          operation);
}

Link::Start BondLink::get(PeerId peer, void* destination, const LinkRegion& local,
                          std::uint64_t address, const LinkRegion& remote, std::size_t size,
                          Operation* operation) noexcept {
  Session* session = sessions_.of(peer);
  if (session == nullptr) return Start::failed;
  if (session->plain && session->state == Session::State::open)
    return rails_[session->lead].link->get(session->id, destination, local, address, remote, size,
                                           operation);
  return transfers_.start(*session, false, destination, address, remote, size, operation);
}

}  // namespace lfc::bond

namespace lfc {

std::unique_ptr<Bond> make_bond_link(const BondOptions& options, FrameSink& sink,
                                     Counters& counters) {
  return std::make_unique<bond::BondLink>(options, sink, counters);
}

std::size_t bond_peer_memory() noexcept {
  return bond::Retained::kMostMemory + limits::kBondBytes + bond::Retained::kControlBytes;
}

}  // namespace lfc
