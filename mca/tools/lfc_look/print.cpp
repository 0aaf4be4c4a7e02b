#include "print.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "lfc/collective_call.h"
#include "look/states.hpp"
#include "verdict.hpp"
#include "wire/frame.hpp"

namespace look {
namespace {

using lfc::look::number_of;
using lfc::look::PeerState;
using lfc::look::word_of;

void line(const char* head, const std::string& text) {
  std::printf("  %-10s %s\n", head, text.c_str());
}

std::string number(const Row& row, const char* name, const char* text) {
  return row[name] == 0 ? std::string() : ", " + std::to_string(row[name]) + " " + text;
}

bool is_counter(std::string_view name) {
  static constexpr std::string_view kNames[] = {
#define LFC_COUNTER(name, help) #name,
#include "stats/counters.def"
#undef LFC_COUNTER
  };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void print_engine(const Rank& rank, const Row& ni) {
  std::string text = std::string("policy ") + word_of(lfc::look::kWordsOfPolicy, ni["policy"]);
  if (ni["thread"] == 0) {
    text += ", no thread";
  } else {
    text += std::string(", thread ") +
            word_of(lfc::look::kWordsOfThreadAction, ni["thread_action"]) + " (" +
            rank.thread_state + ")";
  }
  text += number(ni, "host_queue", "messages received for the rank") +
          (ni["left_over"] != 0 ? ", something is left to be tried again" : "") +
          (ni["used"] == 0 ? ", no communication yet" : "");
  line("engine", text);
  std::string counters;
  bool counts = false;  // from the first on, also if the engine of another build has more
  for (const Row::Value& value : ni.values) {
    counts = counts || is_counter(value.name);
    if (counts && value.number != 0)
      counters += (counters.empty() ? "" : ", ") + value.name + " " + std::to_string(value.number);
  }
  line("counters", counters.empty() ? "all 0" : counters);
}

void print_peer(const Row& peer) {
  if (peer["state"] == number_of(PeerState::known) && peer["waiting"] == 0) return;
  const std::string head = "rank " + std::to_string(peer["rank"]);
  line(head.c_str(), std::string(peer.text("link")) + ", " +
                         word_of(lfc::look::kWordsOfPeerState, peer["state"]) + ", credits " +
                         std::to_string(peer["credits"]) + ", window " +
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

// "put ack"
std::string words_of(lfc::FrameType type) {
  std::string words = to_string(type);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string event_in_words(const Rank& rank, const Row& event) {
  std::string peer = "?";
  for (const Row& row : rank.rows)
    if (row.kind == "peer" && row["id"] == event["peer"]) peer = std::to_string(row["rank"]);
  const bool frame = event["type"] != 0;
  return std::string(word_of(lfc::look::kWordsOfLinkEvent, event["what"])) +
         (frame ? " " + words_of(static_cast<lfc::FrameType>(event["type"])) : "") + ", rank " +
         peer + (frame || event["bytes"] != 0 ? ", " + std::to_string(event["bytes"]) + " B" : "") +
         (frame ? ", tag " + std::to_string(event["tag"]) : "") +
         number(event, "credits", "credits");
}

// In the order in which they happened, with the time before the last one.
void print_events(const Rank& rank) {
  std::vector<const Row*> events;
  for (const Row& row : rank.rows)
    if (row.kind == "event" && row["what"] != number_of(lfc::look::LinkEvent::none))
      events.push_back(&row);
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
