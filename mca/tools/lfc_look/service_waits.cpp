#include "service_waits.hpp"

#include <algorithm>
#include <array>

#include "lfc/collective_call.h"
#include "look/states.hpp"

namespace look {
namespace {

using lfc::look::number_of;
using lfc::look::TargetLock;

// Returns the rank of a member of a window: its routes name peers of the engine, which have ranks.
std::optional<std::uint32_t> member(const Rank& rank, const char* routes, std::uint64_t owner,
                                    std::uint64_t index) {
  for (const Row& route : rank.rows) {
    if (route.kind != routes || route.owner != owner || route.index != index) continue;
    for (const Row& peer : rank.rows)
      if (peer.kind == "peer" && peer["id"] == route["peer"])
        return static_cast<std::uint32_t>(peer["rank"]);
    return rank.rank();  // it needs no route to itself
  }
  return std::nullopt;
}

std::string called_member(std::optional<std::uint32_t> rank, std::uint64_t index) {
  return rank ? called(*rank) : "member " + std::to_string(index);
}

// --- Windows ---

// One window as one rank sees it.
struct Side {
  const Rank& rank;
  const Row& window;
  std::optional<std::uint32_t> member(std::uint64_t index) const {
    return index == window["member"] ? rank.rank()
                                     : look::member(rank, "window_route", window.owner, index);
  }
};

// The name that the window has at that member: there it is the same for all.
std::uint64_t id_at(const Side& side, std::uint64_t index) {
  if (index == side.window["member"]) return side.window["id"];
  for (const Row& route : side.rank.rows)
    if (route.kind == "window_route" && route.owner == side.window.owner && route.index == index)
      return route["id"];
  return 0;
}

// Returns a rank that holds the lock at that rank of the window that has this name there.
std::optional<std::uint32_t> holder(const Job& job, std::uint32_t at, std::uint64_t id,
                                    std::uint32_t asker) {
  for (const Rank& rank : job) {
    for (const Row& window : rank.rows) {
      if (window.kind != "window") continue;
      const Side side{rank, window};
      for (const Row& target : rank.rows)
        if (target.kind == "window_target" && target.owner == window.owner &&
            target["lock"] == number_of(TargetLock::held) && rank.rank() != asker &&
            side.member(target.index) == at && id_at(side, target.index) == id)
          return rank.rank();
    }
  }
  return std::nullopt;
}

void add_lock(const Job& job, const Side& side, const Row& target, std::vector<Wait>& to) {
  // A lock that is not mapped is requested by the first operation only.
  const bool is_requested =
      target["lock"] == number_of(TargetLock::requested)
          ? target["waiting"] != 0
          : target["lock"] == number_of(TargetLock::wanted) && target["mapped_lock"] != 0;
  if (!is_requested) return;
  const auto at = side.member(target.index);
  const std::string what = "the lock of a window at " + called_member(at, target.index);
  const auto by = at ? holder(job, *at, id_at(side, target.index), side.rank.rank()) : std::nullopt;
  to.push_back(by ? Wait{what + ", which " + called(*by) + " holds", by} : Wait{what, at});
}

void add_target(const Job& job, const Side& side, const Row& target, std::vector<Wait>& to) {
  const auto number = side.member(target.index);
  const std::string name = called_member(number, target.index);
  add_lock(job, side, target, to);
  const auto missing = static_cast<std::int32_t>(target["posts"] - target["posts_used"]);
  if (target["in_access"] != 0 && target["access_granted"] == 0 && missing < 0 &&
      target["waiting"] != 0)
    to.push_back({name + " to open its window to it (MPI_Win_post)", number});
  if (target["counted"] < target["wanted"] || target["replies"] != 0)
    to.push_back({"LFC in " + name + " to answer operations on a window", number, true});
}

}  // namespace

void add_window_waits(const Job& job, const Rank& rank, std::vector<Wait>& to) {
  for (const Row& window : rank.rows) {
    if (window.kind != "window") continue;
    const Side side{rank, window};
    const std::vector<std::uint64_t> origins = window.list("exposed_to");
    for (const Row& row : rank.rows) {
      if (row.owner != window.owner) continue;
      if (row.kind == "window_target") add_target(job, side, row, to);
      const bool exposed = window["exposed"] != 0 && row.kind == "window_origin" &&
                           std::count(origins.begin(), origins.end(), row.index) != 0;
      if (!exposed || static_cast<std::int32_t>(row["completes"] - row["completes_used"]) >= 0)
        continue;
      const auto number = side.member(row.index);
      to.push_back(
          {called_member(number, row.index) + " to end its access to a window (MPI_Win_complete)",
           number});
    }
  }
}

void add_collective_waits(const Job& job, const Rank& rank, std::vector<Wait>& to) {
  for (const Row& own : rank.rows) {
    if (own.kind != "communicator" || own["operation"] == 0) continue;
    const std::uint64_t kind = own["kind"];
    const std::string what = std::string(lfc_coll_name(kind)) + " of a communicator of " +
                             std::to_string(own["ranks"]) + " ranks";
    if (lfc_coll_is_among_neighbours(kind)) {
      to.push_back({"neighbours to take part in the " + what});
      continue;
    }
    bool all_here = true;
    std::size_t seen = 0;
    for (const Rank& other : job) {
      for (const Row& row : other.rows) {
        if (row.kind != "communicator" || row["key"] != own["key"]) continue;
        ++seen;
        if (row["next_step"] > own["first_step"]) continue;
        all_here = false;
        to.push_back({called(other.rank()) + " to call the " + what, other.rank()});
      }
    }
    if (!all_here) continue;
    to.push_back({"the " + what +
                  (seen < own["ranks"] ? ", which ranks on other nodes have to call or pass on"
                                       : ", which all of them have called")});
  }
}

void add_neon_waits(const Job&, const Rank& rank, std::vector<Wait>& to) {
  for (const Row& buffer : rank.rows) {
    if (buffer.kind != "announced" || buffer["live"] == 0 || buffer["persistent"] != 0) continue;
    const std::vector<std::uint64_t> notified = buffer.list("notified");
    for (const std::uint64_t origin : buffer.list("origins")) {
      if (std::count(notified.begin(), notified.end(), origin) != 0) continue;
      const auto number = member(rank, "neon_route", buffer.owner, origin);
      to.push_back({called_member(number, origin) +
                        " to fill the buffer announced to it with tag " +
                        std::to_string(buffer["tag"]),
                    number});
    }
  }
}

// A rank that broadcasts waits for a number; the slowest rank delays that when it is a window behind.
void add_ordered_waits(const Job& job, const Rank& rank, std::vector<Wait>& to) {
  for (const Row& own : rank.rows) {
    if (own.kind != "ordered" || (own["asking"] == 0 && own["unsent"] == 0)) continue;
    const Row* slowest = &own;
    std::uint32_t number = rank.rank();
    for (const Rank& other : job)
      for (const Row& row : other.rows)
        if (row.kind == "ordered" && row["key"] == own["key"] &&
            row["taken"] < (*slowest)["taken"]) {
          slowest = &row;
          number = other.rank();
        }
    if (slowest == &own) {
      to.push_back({"a number for its ordered broadcast"});
      continue;
    }
    to.push_back({called(number) + " to take ordered broadcasts, of which it has taken " +
                      std::to_string((*slowest)["taken"]),
                  number});
  }
}

}  // namespace look
