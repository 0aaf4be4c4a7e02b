// States: the enumerations whose values records show, each with its words. The engine and its services count in these,
// and lfc-look reads them, so neither has numbers of its own.
//
//   look::PeerState state = look::PeerState::connected;      // the engine
//   show(look::word_of(look::kWordsOfPeerState, number));    // lfc-look, which reads it from outside: "connected"
//   if (number == look::number_of(look::PeerState::known)) show("no connection yet");
//
// A new value goes to the end, for lfc-look also reads processes of other builds. The types of frames are in
// wire/frame.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lfc::look {

// The driver of the control program (engine/config.hpp).
enum class Policy : std::uint8_t { single, floating, fixed };
constexpr std::array kWordsOfPolicy{"single", "floating", "fixed"};

enum class PeerState : std::uint8_t { known, connected, broken, removed };
constexpr std::array kWordsOfPeerState{"not connected", "connected", "lost", "removed"};

// Items of a queue of the engine (engine/waiting.hpp).
enum class WaitingKind : std::uint8_t { message, operation, service, call };

// Actions of the helper thread (engine/watchdog.hpp).
enum class ThreadAction : std::uint8_t {
  rest,   // waits for the time; arrivals do not matter
  sleep,  // waits for an arrival, or for the time
  serve,  // runs the control program
};
constexpr std::array kWordsOfThreadAction{"rests", "sleeps until something arrives", "serves"};

// Events of a link (engine/trace.hpp).
enum class LinkEvent : std::uint8_t {
  none,
  sent,
  refused,  // the link has no room for a frame
  received,
  put,
  got,
  connected,  // by us
  met,        // by the peer
  closed,
  broken,
};
constexpr std::array kWordsOfLinkEvent{"",    "sent",      "no room for", "received", "put",
                                       "got", "connected", "met",         "closed",   "lost"};

// An origin's lock of one target of a window (services/windows/protocol/origin_peers.hpp).
enum class TargetLock : std::uint8_t { none, wanted, requested, held, assumed };

template <class State>
constexpr std::uint64_t number_of(State state) noexcept {
  return static_cast<std::uint64_t>(state);
}

// The word of a number that a record shows: "?" for one that this build does not know.
template <std::size_t N>
constexpr const char* word_of(const std::array<const char*, N>& words,
                              std::uint64_t number) noexcept {
  return number < N ? words[number] : "?";
}

// Each list of words ends with that of the last value.
static_assert(kWordsOfPolicy.size() == number_of(Policy::fixed) + 1);
static_assert(kWordsOfPeerState.size() == number_of(PeerState::removed) + 1);
static_assert(kWordsOfThreadAction.size() == number_of(ThreadAction::serve) + 1);
static_assert(kWordsOfLinkEvent.size() == number_of(LinkEvent::broken) + 1);

}  // namespace lfc::look
