#include "world.hpp"

#include <algorithm>
#include <cstring>

#include "watch.hpp"

namespace programs {

namespace {
int role_of_this() {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int all_roles() {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
}  // namespace

int Circle::rank_of(int role) const {
  for (int rank = 0; rank < size(); ++rank)
    if (members[static_cast<std::size_t>(rank)] == role) return rank;
  return -1;
}

// --- The order in which ranks come ---

// In a drawn order each rank may wait for one before it; so no circle of waits arises.
std::vector<Entry> draw_entries(Draw& draw, int roles) {
  std::vector<Entry> entries(static_cast<std::size_t>(roles));
  if (draw.one_in(3)) return entries;
  const std::vector<int> order = draw.permutation(roles);
  const bool tokens = draw.one_in(2);
  for (std::size_t i = 0; i < order.size(); ++i) {
    Entry& e = entries[static_cast<std::size_t>(order[i])];
    if (draw.one_in(2)) {
      e.how = draw.pick({Entry::kSleep, Entry::kSleep, Entry::kCompute, Entry::kPoll});
      // Mostly shorter than the time after which the helper thread checks for an absent rank, sometimes longer.
      e.milliseconds = draw.one_in(25) ? draw.in(6, 25) : draw.in(1, 15) / 10.0;
    }
    if (tokens && i > 0 && draw.one_in(2)) e.waits_for = order[draw.below(i)];
    if (tokens && draw.one_in(4)) e.stays = draw.one_in(8) ? draw.in(5, 40) : draw.in(1, 20) / 10.0;
  }
  return entries;
}

std::string text_of(const std::vector<Entry>& entries) {
  const char* const names[] = {"", " sleeps", " computes", " polls"};
  std::string text;
  for (std::size_t role = 0; role < entries.size(); ++role) {
    const Entry& e = entries[role];
    if (e.how == Entry::kAtOnce && e.waits_for < 0 && e.stays == 0) continue;
    text += text.empty() ? " [" : ", ";
    text += std::to_string(role);
    char time[32];
    std::snprintf(time, sizeof time, " %.1f ms", e.milliseconds);
    if (e.how != Entry::kAtOnce) text += names[e.how] + std::string(time);
    if (e.waits_for >= 0) text += " comes after " + std::to_string(e.waits_for);
    std::snprintf(time, sizeof time, " stays %.1f ms", e.stays);
    if (e.stays > 0) text += time;
  }
  return text.empty() ? text : text + "]";
}

void World::linger(Entry::How how, double milliseconds) {
  if (milliseconds <= 0) return;
  if (how == Entry::kSleep) {
    watch_call("asleep");
    pause_seconds(milliseconds / 1000);
    return;
  }
  const double until = MPI_Wtime() + milliseconds / 1000;
  while (MPI_Wtime() < until) {
    int flag;
    if (how == Entry::kPoll)
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, tokens_, &flag, MPI_STATUS_IGNORE);
  }
}

void World::enter(int step, const std::vector<Entry>& entries) {
  const Entry& mine = entries[static_cast<std::size_t>(me)];
  linger(mine.how, mine.milliseconds);
  if (mine.waits_for < 0 || !active(mine.waits_for)) return;
  watch_call(("waits to be let in by " + std::to_string(mine.waits_for)).c_str());
  int word = 0;
  MPI_Recv(&word, 1, MPI_INT, all.rank_of(mine.waits_for), step, tokens_, MPI_STATUS_IGNORE);
  if (word != step) fail("the token of step %d came as %d", step, word);
}

void World::begun(int step, const std::vector<Entry>& entries) {
  linger(Entry::kPoll, entries[static_cast<std::size_t>(me)].stays);
  for (int role = 0; role < roles; ++role) {
    if (entries[static_cast<std::size_t>(role)].waits_for != me || !active(role)) continue;
    watch_call(("lets in " + std::to_string(role)).c_str());
    if (own.one_in(2))
      MPI_Send(&step, 1, MPI_INT, all.rank_of(role), step, tokens_);
    else
      MPI_Ssend(&step, 1, MPI_INT, all.rank_of(role), step, tokens_);
  }
}

// --- Beginning and end ---

World::World(std::uint64_t seed_of_all, int step_limit, const std::vector<bool>& left_out)
    : seed(seed_of_all),
      roles(all_roles()),
      me(role_of_this()),
      own(mixed(seed, 1000 + static_cast<std::uint64_t>(me))),
      steps_(step_limit) {
  const auto out = [&](int role) {
    return static_cast<std::size_t>(role) < left_out.size() &&
           left_out[static_cast<std::size_t>(role)];
  };
  MPI_Comm_split(MPI_COMM_WORLD, out(me) ? MPI_UNDEFINED : 0, me, &all.comm);
  for (int role = 0; role < roles; ++role)
    if (!out(role)) all.members.push_back(role);
  if (!takes_part()) return;
  messages = all.comm;
  duplicate_all();
}

World::World(const World& whole, int thread, MPI_Comm own_comm, bool shares_messages,
             int step_limit)
    : seed(whole.seed),
      roles(whole.roles),
      me(whole.me),
      all{own_comm, whole.all.members},
      messages(shares_messages ? whole.messages : own_comm),
      own(mixed(seed,
                1000 * static_cast<std::uint64_t>(thread + 2) + static_cast<std::uint64_t>(me))),
      steps_(step_limit) {
  duplicate_all();
}

void World::duplicate_all() {
  MPI_Comm_dup(all.comm, &tokens_);
  MPI_Comm_dup(all.comm, &circles[0].comm);
  circles[0].members = all.members;
}

World::~World() {
  if (!takes_part()) return;
  watch_call("end of the program");
  for (Circle& circle : circles)
    if (circle.comm != MPI_COMM_NULL) MPI_Comm_free(&circle.comm);
  MPI_Comm_free(&tokens_);
  MPI_Comm_free(&all.comm);
}

// --- Communicators ---

void World::replace_circle(int which, Way way, std::uint64_t key) {
  Circle& circle = circles[which];
  if (circle.comm != MPI_COMM_NULL) MPI_Comm_free(&circle.comm);
  circle.members.clear();
  const auto colour = [&](int role) {
    const std::uint64_t drawn = mixed(key, static_cast<std::uint64_t>(role));
    return way == kSplit ? static_cast<int>(drawn % 3) : drawn % 3 == 0 ? MPI_UNDEFINED : 0;
  };
  const bool reverse = key % 2 == 0 && (way == kSplit || way == kSubset);
  for (int role : all.members)
    if (way == kDup || way == kIdup || (colour(role) == colour(me) && colour(me) != MPI_UNDEFINED))
      circle.members.push_back(role);
  if (reverse) std::reverse(circle.members.begin(), circle.members.end());
  switch (way) {
    case kDup: MPI_Comm_dup(all.comm, &circle.comm); break;
    case kIdup: {
      MPI_Request request;
      MPI_Comm_idup(all.comm, &circle.comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    }
    case kSplit:
    case kSubset: MPI_Comm_split(all.comm, colour(me), reverse ? -me : me, &circle.comm); break;
    case kCreate: {
      MPI_Group everybody, group;
      std::vector<int> ranks;
      for (int role : all.members)
        if (colour(role) == 0) ranks.push_back(all.rank_of(role));
      MPI_Comm_group(all.comm, &everybody);
      MPI_Group_incl(everybody, static_cast<int>(ranks.size()), ranks.data(), &group);
      MPI_Comm_create(all.comm, group, &circle.comm);
      MPI_Group_free(&group);
      MPI_Group_free(&everybody);
      break;
    }
    default: circle.members.clear();
  }
  if (circle.comm == MPI_COMM_NULL) circle.members.clear();
}

// --- Requests ---

void World::wait_for(std::vector<MPI_Request>& requests) {
  const int n = static_cast<int>(requests.size());
  watch_call("waits for its requests");
  switch (own.below(5)) {
    case 0:
      for (int i = n - 1; i >= 0; --i)
        MPI_Wait(&requests[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE);
      return;
    case 1:
      for (int index = 0; index != MPI_UNDEFINED;)
        MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE);
      return;
    case 2:
      for (int done = 0; !done;) MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE);
      return;
    case 3: {
      std::vector<int> which(requests.size() + 1);
      for (int done = 0; done != MPI_UNDEFINED;)
        MPI_Waitsome(n, requests.data(), &done, which.data(), MPI_STATUSES_IGNORE);
      return;
    }
    default: MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE);
  }
}

void World::finish(int step, std::vector<MPI_Request> requests, std::function<void()> check) {
  const int due = own.one_in(3) ? step + own.in(1, 4) : step;
  pending_.push_back({std::move(requests), std::move(check), due});
  if (due == step) finish_due(step);
}

void World::finish_due(int step) {
  for (std::size_t i = 0; i < pending_.size();) {
    if (pending_[i].due > step && step < steps_) {
      ++i;
      continue;
    }
    Pending ending = std::move(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    wait_for(ending.requests);
    ending.check();
  }
}

void World::finish_all() { finish_due(steps_); }

// --- The digest ---

void World::note(const void* data, std::size_t size, std::uint64_t key) {
  const char* bytes = static_cast<const char*>(data);
  std::uint64_t hash = mixed(key, size);
  for (std::size_t at = 0; at < size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<std::size_t>(8, size - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  digest_ += scramble(hash);
}

}  // namespace programs
