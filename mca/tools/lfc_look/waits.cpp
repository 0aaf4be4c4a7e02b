#include "waits.hpp"

#include <algorithm>

#include "look/states.hpp"
#include "service_waits.hpp"
#include "wire/frame.hpp"

namespace look {
namespace {

using lfc::look::number_of;
using lfc::look::PeerState;
using lfc::look::WaitingKind;

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

bool needs_credit(const Row& peer) {
  if (peer["head"] == number_of(WaitingKind::message) ||
      peer["head"] == number_of(WaitingKind::packet))
    return needs_credit(static_cast<lfc::FrameType>(peer["head_type"]));
  return peer["head"] == number_of(WaitingKind::operation);
}

// --- Links ---

bool belongs_to(const Rank& rank, const Socket& other_end) {
  return std::any_of(rank.sockets.begin(), rank.sockets.end(), [&](const Socket& socket) {
    return socket.local == other_end.remote && socket.remote == other_end.local;
  });
}

// The rank at the other end of a connection.
std::optional<std::uint32_t> other_end(const Job& job, const Socket& socket) {
  for (const Rank& rank : job)
    if (belongs_to(rank, socket)) return rank.rank();
  return std::nullopt;
}

// Data that the kernel retransmits and the other side does not acknowledge.
void add_cut_links(const Job& job, const Rank& rank, std::vector<Wait>& to) {
  constexpr std::uint64_t kRetries = 2;  // one may be lost
  for (const Socket& socket : rank.sockets) {
    if (socket.unsent == 0 || socket.retries < kRetries) continue;
    const auto on = other_end(job, socket);
    to.push_back({"an acknowledgement of " + counted(socket.unsent, "byte", "bytes") + " from " +
                      (on ? called(*on) + ", " : "") + socket.remote +
                      ", which the kernel has sent again " +
                      counted(socket.retries, "time", "times") +
                      " to no avail: the cable is cut, or the node is gone",
                  on});
  }
}

void add_peer(const Row& peer, std::vector<Wait>& to) {
  const auto number = static_cast<std::uint32_t>(peer["rank"]);
  const std::string name = called(number);
  const std::uint64_t waiting = peer["waiting"];
  if (peer["state"] > number_of(PeerState::connected)) return;
  const std::string behind =
      waiting > 1 ? " (" + counted(waiting, "message waits", "messages wait") + ")" : "";
  if (waiting != 0 && peer["state"] == number_of(PeerState::known)) {
    to.push_back({"a connection to " + name + behind, number, true});
  } else if (waiting != 0 && peer["credits"] == 0 && needs_credit(peer)) {
    to.push_back({"a credit of " + name + behind, number, true});
  } else if (waiting + peer["answers"] != 0 || peer["to_retry"] != 0) {
    const std::string place = peer["ring"] != 0 ? "room in the ring of " + name
                                                : "room in the connection to " + name + " (" +
                                                      std::string(peer.text("link")) + ")";
    to.push_back({place + behind, number, true});
  } else if (peer["outstanding"] != 0) {
    to.push_back({"LFC in " + name + " to answer " +
                      counted(peer["outstanding"], "put, get or atomic operation",
                              "puts, gets and atomic operations"),
                  number, true});
  }
}

}  // namespace

const Rank* find_rank(const Job& job, std::uint32_t number) noexcept {
  for (const Rank& rank : job)
    if (rank.rank() == number) return &rank;
  return nullptr;
}

std::string called(std::uint32_t rank) { return "rank " + std::to_string(rank); }

std::vector<Wait> waits_of(const Job& job, const Rank& rank) {
  std::vector<Wait> found;
  add_cut_links(job, rank, found);
  for (const Row& row : rank.rows)
    if (row.kind == "peer" && row["rank"] != rank.rank()) add_peer(row, found);
  add_window_waits(job, rank, found);
  add_collective_waits(job, rank, found);
  add_neon_waits(job, rank, found);
  add_ordered_waits(job, rank, found);
  return found;
}

}  // namespace look
