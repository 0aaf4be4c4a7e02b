// Connection: the state of the connection with one peer.
//
//   setting_up -> open -> closing -> closed        failing: poll() has to report it;  broken: reported
//
// Windows: a peer is promised limits::kVerbsWindow frames, which take a credit, and kUncounted more, which take none:
// the frame that opens the connection, the goodbye, and notes that return credits. No more than kMostNotes can
// be unread: each returns at least OwedCredits::refresh(), and there are no more credits than one window.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "flow/credits.hpp"
#include "link/verbs/device.hpp"
#include "link/verbs/hello.hpp"
#include "link/verbs/liveness.hpp"
#include "link/verbs/send_queue.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace lfc::verbs {

inline const std::uint32_t kMostNotes =
    limits::kVerbsWindow / OwedCredits::refresh(limits::kVerbsWindow);
inline const std::uint32_t kUncounted = 2 + kMostNotes;
// Credits of a window that are reserved for control frames.
inline constexpr std::uint32_t kControlFrames = 8;

// Endpoint: the section of this link in a process's address.
struct Endpoint {
  std::uint64_t node = 0;
  RawGid gid{};
  std::uint32_t datagram_pair = 0;  // number of the queue pair for datagrams
  std::uint32_t key = 0;            // of the datagrams
  std::uint16_t piece = 0;          // bytes of its receive buffers
  std::uint16_t liveness_port = 0;  // UDP port of its LivenessPort, on Ethernet
  std::uint16_t lid = 0;
  std::uint8_t ethernet = 0;
  std::uint8_t unused = 0;
};
static_assert(sizeof(Endpoint) == 40);

// Word: the immediate data of each piece of a frame.
struct Word {
  std::uint8_t type = 0;  // of the frame; kMore: another piece of it follows
  std::uint8_t tag = 0;
  std::uint8_t credits = 0;   // the engine's
  std::uint8_t returned = 0;  // the link's
};
static_assert(sizeof(Word) == 4);
inline constexpr std::uint8_t kMore = 0x80;
// Frames of the link itself, which have no bytes and take no credit.
inline constexpr std::uint8_t kNote = 0x7d;
inline constexpr std::uint8_t kOpen = 0x7e;
inline constexpr std::uint8_t kGoodbye = 0x7f;

struct Connection {
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { setting_up, open, failing, closing, closed, broken };

  // Used by each send.
  Handle<ibv_qp> pair;
  SendQueue queue;
  std::uint32_t credits = 0;  // frames that the peer can take
  OwedCredits owed;           // to the peer
  std::uint32_t slot = 0;
  PeerId peer = kNoPeer;
  State state = State::setting_up;
  bool due = false;               // on the list of connections that owe credits that are due
  bool pending = false;           // on the list of connections that need attention
  std::vector<std::byte> pieces;  // of a frame that is not yet complete

  // Used by set-up, failures and the end only.
  bool connected = false;        // the queue pair knows the peer's
  bool wanted = false;           // by connect()
  bool repeats_request = false;  // until the reply arrives
  bool repeats_reply = false;    // until a frame arrives over the queue pair
  bool sent_goodbye = false;
  bool goodbye_left = false;
  bool received_goodbye = false;
  Identity identity;  // the peer's; with its key if we send the request
  Endpoint there;
  Offer ours;
  Offer theirs;
  Key our_nonce;    // of our request
  Key their_nonce;  // of the peer's
  Handle<ibv_ah> way;
  Clock::time_point next_try{};
  Clock::duration repeat_after{};
  Clock::time_point silent_from{};  // from then on a missing reply is acted upon
  LivenessProbe probe;
  Clock::time_point give_up{};  // of a closing one
  std::string failure;

  bool has_pair() const noexcept { return pair != nullptr; }
};

}  // namespace lfc::verbs
