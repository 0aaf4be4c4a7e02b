// States: the enumerations whose values records show, each with its words. The engine and its services count in these,
// and lfc-look reads them, so neither has numbers of its own.
//
//   look::PeerState state = look::PeerState::connected;      // the engine
//   show(look::word_of(look::kWordsOfPeerState, number));    // lfc-look, which reads it from outside: "connected"
//   if (number == look::number_of(look::PeerState::known)) show("no connection yet");
//
// A row has a value and its word (lfc/words.h). A new value goes to the end, for lfc-look also reads processes of other
// builds. The types of frames are in wire/frame.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lfc/words.h"

namespace lfc::look {

// The driver of the control program (engine/config.hpp).
#define LFC_POLICIES(ROW) ROW(single, "single") ROW(floating, "floating") ROW(fixed, "fixed")
enum class Policy : std::uint8_t { LFC_POLICIES(LFC_VALUE) };
inline constexpr std::array kWordsOfPolicy{LFC_POLICIES(LFC_WORD)};

#define LFC_PEER_STATES(ROW)  \
  ROW(known, "not connected") \
  ROW(connected, "connected") \
  ROW(broken, "lost")         \
  ROW(removed, "removed")
enum class PeerState : std::uint8_t { LFC_PEER_STATES(LFC_VALUE) };
inline constexpr std::array kWordsOfPeerState{LFC_PEER_STATES(LFC_WORD)};

// Items of a queue of the engine (engine/waiting.hpp).
enum class WaitingKind : std::uint8_t { message, operation, service, call, packet };

// Actions of the helper thread (engine/watchdog.hpp): it waits for the time, and arrivals do not matter; it waits for
// an arrival, or for the time; it runs the control program.
#define LFC_THREAD_ACTIONS(ROW) \
  ROW(rest, "rests") ROW(sleep, "sleeps until something arrives") ROW(serve, "serves")
enum class ThreadAction : std::uint8_t { LFC_THREAD_ACTIONS(LFC_VALUE) };
inline constexpr std::array kWordsOfThreadAction{LFC_THREAD_ACTIONS(LFC_WORD)};

// Events of a link (engine/trace.hpp). It is connected by this process, or met by the peer.
#define LFC_LINK_EVENTS(ROW)  \
  ROW(none, "")               \
  ROW(sent, "sent")           \
  ROW(refused, "no room for") \
  ROW(received, "received")   \
  ROW(put, "put")             \
  ROW(got, "got")             \
  ROW(connected, "connected") \
  ROW(met, "met")             \
  ROW(closed, "closed")       \
  ROW(broken, "lost")
enum class LinkEvent : std::uint8_t { LFC_LINK_EVENTS(LFC_VALUE) };
inline constexpr std::array kWordsOfLinkEvent{LFC_LINK_EVENTS(LFC_WORD)};

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

}  // namespace lfc::look
