#include "print.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "lfc/collective_call.h"
#include "verdict.hpp"

namespace look {
namespace {

template <std::size_t N>
const char* name_of(const std::array<const char*, N>& names, std::uint64_t value) {
  return value < N ? names[value] : "?";
}

// The enums of the same names in common/engine.
constexpr std::array kPolicies{"single", "floating", "fixed"};
constexpr std::array kActions{"rests", "sleeps until something arrives", "serves"};
constexpr std::array kStates{"not connected", "connected", "lost", "removed"};

void line(const char* head, const std::string& text) {
  std::printf("  %-10s %s\n", head, text.c_str());
}

std::string number(const Row& row, const char* name, const char* text) {
  return row[name] == 0 ? std::string() : ", " + std::to_string(row[name]) + " " + text;
}

void print_engine(const Rank& rank, const Row& ni) {
  std::string text = std::string("policy ") + name_of(kPolicies, ni["policy"]);
  if (ni["thread"] == 0) {
    text += ", no thread";
  } else {
    text += std::string(", thread ") + name_of(kActions, ni["thread_action"]) + " (" +
            rank.thread_state + ")";
  }
  text += number(ni, "masks", "masks") +
          number(ni, "host_queue", "messages received for the rank") +
          (ni["left_over"] != 0 ? ", something is left to be tried again" : "") +
          (ni["used"] == 0 ? ", no communication yet" : "");
  line("engine", text);
  std::string counters;
  bool counts = false;
  for (const Row::Value& value : ni.values) {
    counts = counts || value.name == "frames_sent";  // the first of the counters
    if (counts && value.number != 0)
      counters += (counters.empty() ? "" : ", ") + value.name + " " + std::to_string(value.number);
  }
  line("counters", counters.empty() ? "all 0" : counters);
}

void print_peer(const Row& peer) {
  if (peer["state"] == 0 && peer["waiting"] == 0) return;
  const std::string head = "rank " + std::to_string(peer["rank"]);
  line(head.c_str(), std::string(peer.text("link")) + ", " + name_of(kStates, peer["state"]) +
                         ", credits " + std::to_string(peer["credits"]) + ", window " +
                         std::to_string(peer["window"]) + ", owed " + std::to_string(peer["owed"]) +
                         number(peer, "waiting", "waiting") +
                         number(peer, "answers", "answers waiting") +
                         number(peer, "outstanding", "operations without a reply") +
                         (peer["to_retry"] != 0 ? ", the link has no room" : ""));
}

std::string in_words(const Row::Value& value) {
  if (!value.text.empty()) return value.text;
  std::string text;
  for (const std::uint64_t each : value.list)
    text += (text.empty() ? "" : " ") + std::to_string(each);
  if (!value.list.empty()) return text;
  constexpr std::uint64_t kAddresses = std::uint64_t{1} << 32;  // and names drawn at random
  char hexadecimal[32];
  std::snprintf(hexadecimal, sizeof hexadecimal, "%llx",
                static_cast<unsigned long long>(value.number));
  return value.number < kAddresses ? std::to_string(value.number) : hexadecimal;
}

// Prints a row that has no function of its own: all values that are not 0. Leaves out rows of routes, because they only
// name the other members.
void print_other(const Row& row) {
  if (row.kind == "window_route" || row.kind == "neon_route") return;
  const bool has_collective = row.kind == "communicator" && row["operation"] != 0;
  std::string text;
  for (const Row::Value& value : row.values) {
    const bool is_kind = has_collective && value.name == "kind";
    if (is_kind || value.number != 0 || !value.text.empty())
      text += (text.empty() ? "" : ", ") + value.name + " " +
              (is_kind ? lfc_coll_name(value.number) : in_words(value));
  }
  const bool of_member = row.kind == "window_target" || row.kind == "window_origin";
  if (!text.empty())
    line((row.kind + (of_member ? " " + std::to_string(row.index) : "")).c_str(), text);
}

constexpr std::array kEvents{"",    "sent",      "no room for", "received", "put",
                             "got", "connected", "met",         "closed",   "lost"};
constexpr std::array kFrames{"",        "hello",        "hello answer", "goodbye",
                             "credits", "message",      "put",          "put ack",
                             "get",     "get data",     "atomic",       "atomic reply",
                             "service", "service data", "service ack",  "rail"};

std::string event_in_words(const Rank& rank, const Row& event) {
  std::string peer = "?";
  for (const Row& row : rank.rows)
    if (row.kind == "peer" && row["id"] == event["peer"]) peer = std::to_string(row["rank"]);
  const bool frame = event["type"] != 0;
  return std::string(name_of(kEvents, event["what"])) + (frame ? " " : "") +
         name_of(kFrames, event["type"]) + ", rank " + peer +
         (frame || event["bytes"] != 0 ? ", " + std::to_string(event["bytes"]) + " B" : "") +
         (frame ? ", tag " + std::to_string(event["tag"]) : "") +
         number(event, "credits", "credits");
}

// In the order in which they happened, with the time before the last one.
void print_events(const Rank& rank) {
  std::vector<const Row*> events;
  for (const Row& row : rank.rows)
    if (row.kind == "event" && row["what"] != 0) events.push_back(&row);
  std::stable_sort(events.begin(), events.end(),
                   [](const Row* a, const Row* b) { return (*a)["time"] < (*b)["time"]; });
  for (const Row* event : events) {
    char time[32];
    std::snprintf(time, sizeof time, "%+.6f s ",
                  -static_cast<double>((*events.back())["time"] - (*event)["time"]) / 1e9);
    line("event", time + event_in_words(rank, *event));
  }
}

void print_socket(const Socket& socket) {
  if (socket.unsent + socket.unread == 0) return;
  line("socket", socket.local + " to " + socket.remote + ": " + std::to_string(socket.unsent) +
                     " bytes not acknowledged, sent again " + std::to_string(socket.retries) +
                     " times, " + std::to_string(socket.unread) + " bytes not read");
}

}  // namespace

void print(const Rank& rank) {
  std::printf("\nrank %u, process %d (%s): %s\n", rank.rank(), rank.pid, rank.program.c_str(),
              (rank.polled ? "is inside MPI" : doing(rank)).c_str());
  for (const Row& row : rank.rows) {
    if (row.kind == "ni") {
      print_engine(rank, row);
    } else if (row.kind == "peer") {
      print_peer(row);
    } else if (row.kind != "event") {
      print_other(row);
    }
  }
  for (const Socket& socket : rank.sockets) print_socket(socket);
  print_events(rank);
}

}  // namespace look
