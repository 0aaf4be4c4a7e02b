// Connection: the state of one TCP connection of the tcp link.
//
//   paused -> connecting -> hello_sent -> established   we connect
//   accepted -> waiting -> established                  the peer connects
//   established -> closing -> dead                      we closed the peer; goodbye is on its way
//
// `paused` has no socket, and ends at once unless an earlier connection to the same process ended before it was
// established (retries.hpp). `waiting` ends at once unless an older connection to the same process has not ended yet,
// or the sink returns kPeerLater.
// Threads: as Link.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "link/tcp/burst.hpp"
#include "link/tcp/inbox.hpp"
#include "link/tcp/memory.hpp"
#include "link/tcp/outbox.hpp"
#include "link/tcp/retries.hpp"
#include "link/tcp/socket.hpp"
#include "link/tcp/stream.hpp"
#include "wire/address.hpp"
#include "wire/node_name.hpp"

namespace lfc::tcp {

using Clock = std::chrono::steady_clock;

enum class State : std::uint8_t {
  paused,
  connecting,
  hello_sent,
  accepted,
  waiting,
  established,
  closing,
  dead,
};

// The destination of the segment, or of the placed frame, that is arriving.
struct Landing {
  Kind kind = kPut;
  OpRef operation{};
  std::uint64_t region = 0;     // put
  std::uint64_t address = 0;    // put: of the next byte
  std::byte* direct = nullptr;  // get_data: the next byte's place
  Meta meta{};                  // of a frame whose bytes are placed, and its begin:
  std::array<std::byte, kPlacedHead> head{};
  std::size_t landed = 0;  // of it, behind that
  std::size_t left = 0;
  std::size_t padding = 0;
  bool last = false;     // the segment that ends its operation
  bool refused = false;  // put: some byte of the operation had no place
  bool active() const noexcept { return left + padding != 0; }
  Placing placing() const noexcept { return {head, landed, left}; }
};

struct Connection {
  Connection(Socket socket_, State state_, RegisteredMemory& memory)
      : socket(std::move(socket_)), state(state_), out(memory) {}

  int fd() const noexcept { return socket.fd(); }
  std::string ends() const {
    const std::string name = address ? node_name(*address) : std::string();
    return to + (name.empty() ? "" : " of " + name) + " from " + from;
  }
  bool is(State which) const noexcept { return state == which; }

  Socket socket;
  State state;
  PeerId peer = kNoPeer;           // set before `established`
  std::optional<Address> address;  // the peer's, once known
  std::string link;                // the peer's link that listens, if we connect
  std::string to, from;            // addresses, for the user
  Key nonce;                       // of the hello
  Clock::time_point since{};       // the process began to connect, or the connection was accepted
  Clock::time_point deadline = Clock::time_point::max();
  Retries retries;                  // of a connection that we make
  std::optional<IpAddress> caller;  // of an accepted one

  Outbox out;
  int error = 0;                 // errno of a failed send; poll() ends the connection
  std::uint32_t operations = 0;  // ours, under way
  std::uint32_t gets = 0;        // among them
  Burst burst;                   // since the last poll
  bool unsent = false;           // in the link's list of outboxes to flush
  bool shut = false;             // closing: nothing more to send
  std::uint32_t stuck = 0;       // flushes in a row that moved nothing

  Inbox in;
  Landing landing;
  std::uint8_t sequence = 0;       // of the frame that is due
  bool bulk_expected = false;      // another segment follows: read little ahead of it
  std::uint8_t placed_lately = 0;  // short reads left after a placed frame
  bool unauthenticated = false;    // accepted, and not established yet
  bool active = false;             // read directly, not in the epoll set
  std::uint32_t idle = 0;          // polls since the last byte, while active
  Silence silence;                 // of the peer's node
};

// Returns the reason why a connection could not be made, and the cure.
inline std::string no_connection(const Connection& connection, int error) {
  return connection.ends() + ": " + std::strerror(error) + " (firewall? LFC listens on " +
         connection.to + "; btl_lfc_ports limits it to ports that are open)";
}

inline std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100) +
         " s";
}

// The reason of a loss: silence, ...
inline std::string no_reply_text(const Connection& connection, std::chrono::milliseconds lasts,
                                 const char* meanwhile) {
  return connection.ends() + ": its node has acknowledged nothing for " + seconds_text(lasts) +
         ", " + meanwhile +
         " (is it down, or its cable unplugged, or does a firewall drop packets?)";
}
// ... an end that the peer's kernel reported without a goodbye of its process; ...
inline std::string no_goodbye(const Connection& connection, const char* what) {
  return connection.ends() + ": " + what + ", last heard " +
         seconds_text(connection.socket.since_received()) +
         " ago (did its process crash, was it killed, or did it end without MPI_Finalize?)";
}
// ... too little memory in this process; ...
inline std::string no_memory(const Connection& connection) {
  return connection.ends() + ": " + std::strerror(ENOMEM) +
         " for its receive buffer (does ulimit -v limit the address space of this process?)";
}
// ... or another error on this node.
inline std::string no_way(const Connection& connection, int error) {
  return connection.ends() + ": " + std::strerror(error) + ", last heard " +
         seconds_text(connection.socket.since_received()) +
         " ago (is an interface down, or a route gone?)";
}

}  // namespace lfc::tcp
