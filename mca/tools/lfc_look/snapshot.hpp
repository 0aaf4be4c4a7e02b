// Snapshot: the observed state of a job's ranks, as plain values. reader.hpp makes it from the memory of processes, and
// process.hpp from the kernel's data; or a test makes it.
//
//   Row peer{"peer", {{"rank", 5}, {"credits", 0}, {"waiting", 3}}};
//   if (peer["waiting"] != 0 && peer["credits"] == 0) ...       // missing values are 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace look {

// One object that is shown, with its numbers and texts by name.
struct Row {
  struct Value {
    std::string name;
    std::uint64_t number = 0;
    std::string text{};
    std::vector<std::uint64_t> list{};
  };

  std::string kind;
  std::vector<Value> values{};
  std::uint64_t owner = 0;
  std::size_t index = 0;  // among the rows that were shown together

  const Value* find(std::string_view name) const noexcept {
    for (const Value& value : values)
      if (value.name == name) return &value;
    return nullptr;
  }
  bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
  std::uint64_t operator[](std::string_view name) const noexcept {
    const Value* const value = find(name);
    return value == nullptr ? 0 : value->number;
  }
  std::string_view text(std::string_view name) const noexcept {
    const Value* const value = find(name);
    return value == nullptr ? std::string_view() : std::string_view(value->text);
  }
  std::vector<std::uint64_t> list(std::string_view name) const {
    const Value* const value = find(name);
    return value == nullptr ? std::vector<std::uint64_t>() : value->list;
  }
};

// A TCP connection, as the kernel reports it.
struct Socket {
  std::string local, remote;  // address:port
  std::uint64_t unsent = 0;   // bytes that the other side has not acknowledged
  std::uint64_t unread = 0;   // bytes that have come and were not read
  std::uint64_t retries = 0;  // how often in a row the kernel has sent the same bytes again
};

// One rank. Counts of changes are those between two looks, `looked` seconds apart.
struct Rank {
  int pid = 0;
  std::string program{};
  char state = 'S';            // of its main thread, as in /proc/PID/stat
  std::string sleeps_in{};     // the kernel's function, if it sleeps
  std::string thread_state{};  // of the engine's thread: letter and function; empty: there is none
  double looked = 0;
  bool polled = false;             // it has been inside MPI meanwhile
  std::optional<double> silent{};  // seconds since it last was, if that is known
  bool exact = false;  // from its own engine; else it is the time for which it has not run at all
  std::uint64_t frames = 0;  // that it has sent and received meanwhile
  std::vector<Row> rows{};
  std::vector<Socket> sockets{};

  // The first row of a kind.
  const Row* find(std::string_view kind) const noexcept {
    for (const Row& row : rows)
      if (row.kind == kind) return &row;
    return nullptr;
  }
  std::uint64_t ni(std::string_view name) const noexcept {
    const Row* const row = find("ni");
    return row == nullptr ? 0 : (*row)[name];
  }
  std::uint32_t job() const noexcept { return static_cast<std::uint32_t>(ni("job")); }
  std::uint32_t rank() const noexcept { return static_cast<std::uint32_t>(ni("rank")); }
};

// The ranks of one job that are on this node, by rank.
using Job = std::vector<Rank>;

}  // namespace look
