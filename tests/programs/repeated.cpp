// Rounds of messages on few keys (communicator, two ranks, tag), so that channels open, close, and give messages to the
// matching below. Each round draws anew how messages are sent and received, and communicators come and go between
// rounds.
//
// No round waits for ever: each rank starts its sends in the order of the list, and a rank that receives late does it
// in this order, too, and uses no blocking sends. So the first message of the list that has not arrived is held up by
// neither side. The order of receives and that of messages determine which receive gets which message; for receives of
// any source, only the order of each sender does, so no rank begins the next round before these have ended.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>

#include "layout.hpp"
#include "rounds.hpp"
#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

constexpr std::size_t kBuffered = 1 << 20;  // of all buffered messages of a rank
constexpr std::size_t kRoom = 16384;        // of a persistent receive

struct Persistent {
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<char> memory;
  bool active = false;
};

// By role and tag, several for each.
using Slots = std::map<std::pair<int, int>, std::array<Persistent, 4>>;

struct Receive {
  Message message;  // unless it is of any source
  int source, tag;
  Layout layout;
  std::vector<char> memory;
  MPI_Request request = MPI_REQUEST_NULL;
  Persistent* persistent = nullptr;  // it has the request and the memory
  bool freed = false;
};

class Repeated : public Step {
 public:
  Repeated(Draw& draw, const Scale& scale)
      : in_thread_(scale.in_thread),
        element_(static_cast<Element>(draw.below(kElements))),
        rounds_(draw, scale.roles, element_) {}

  std::string text() const override { return rounds_.text(); }
  void end(World& world, int step) override;

 private:
  void make_circle(World& world, std::uint64_t key);
  void leave_circle(World& world);
  bool mine(const Message& m) const {
    return circle_.rank_of(m.from) >= 0 && circle_.rank_of(m.to) >= 0;
  }
  int tag(int which) const { return tag_of(step_, kRepeatedTag + which); }

  void take_round(World& world, Round& round);
  std::deque<Receive> patterns(World& world, const std::vector<Message*>& messages,
                               const Part& part) const;
  void start_receive(World& world, Receive receive);
  static Persistent* idle_slot(Slots& slots, int role, int tag);
  void send(World& world, const Message& m, bool blocking);
  bool send_persistent(World& world, const Message& m);
  void receive_late(World& world, Round& round, Message& m, const Part& part);
  Message& whose(World& world, Round& round, const MPI_Status& status, bool any_tag) const;
  void check_status(const Message& m, int source, const MPI_Status& status) const;
  void settle(World& world, Round* round, bool all);
  void finish(World& world, Round* round, std::deque<Receive> ending);
  void settle_sends(World& world);
  void start_all();

  const bool in_thread_;
  const Element element_;
  const Rounds rounds_;

  int step_ = 0;
  Circle circle_;
  std::size_t buffered_ = 0;
  std::deque<Receive> posted_;
  Slots sends_, receives_;
  std::vector<Persistent*> starting_;  // together
  std::deque<Persistent> sent_;        // ordinary sends; active: freed
};

// --- Communicators ---

void Repeated::make_circle(World& world, std::uint64_t key) {
  const std::uint64_t way = key % 5;
  const auto colour = [&](int role) { return way == 4 ? role % 2 : 0; };
  circle_.members.clear();
  for (int role : world.all.members)
    if (colour(role) == colour(world.me)) circle_.members.push_back(role);
  watch_call("makes a communicator");
  if (way < 2) {
    MPI_Comm_dup(world.all.comm, &circle_.comm);
  } else {
    const bool reverse = way == 3;
    if (reverse) std::reverse(circle_.members.begin(), circle_.members.end());
    MPI_Comm_split(world.all.comm, colour(world.me), reverse ? -world.me : world.me, &circle_.comm);
  }
}

// Ordinary requests may outlive the communicator.
void Repeated::leave_circle(World& world) {
  const auto is_persistent = [](const Receive& r) { return r.persistent != nullptr; };
  if (std::any_of(posted_.begin(), posted_.end(), is_persistent)) settle(world, nullptr, true);
  for (auto& [name, slots] : receives_)
    for (Persistent& slot : slots)
      if (slot.request != MPI_REQUEST_NULL) MPI_Request_free(&slot.request);
  receives_.clear();
  for (auto& [name, slots] : sends_)
    for (Persistent& slot : slots) {
      if (slot.request != MPI_REQUEST_NULL) MPI_Request_free(&slot.request);
      sent_.push_back(std::move(slot));
    }
  sends_.clear();
  MPI_Comm_free(&circle_.comm);
}

// --- Sends ---

void Repeated::start_all() {
  if (starting_.empty()) return;
  std::vector<MPI_Request> requests;
  for (const Persistent* each : starting_) requests.push_back(each->request);
  if (requests.size() == 1)
    MPI_Start(requests.data());
  else
    MPI_Startall(static_cast<int>(requests.size()), requests.data());
  for (std::size_t i = 0; i < starting_.size(); ++i) starting_[i]->request = requests[i];
  starting_.clear();
}

// Null: all are active.
Persistent* Repeated::idle_slot(Slots& slots, int role, int tag) {
  for (Persistent& slot : slots[{role, tag}])
    if (!slot.active) return &slot;
  return nullptr;
}

// False: all requests of this kind are still active.
bool Repeated::send_persistent(World& world, const Message& m) {
  for (Persistent& each : sends_[{m.to, m.tag}]) {
    if (!each.active || !world.own.one_in(2)) continue;
    start_all();
    int done = 0;
    MPI_Test(&each.request, &done, MPI_STATUS_IGNORE);
    each.active = done == 0;
  }
  Persistent* const idle = idle_slot(sends_, m.to, m.tag);
  if (idle == nullptr) return false;
  Persistent& slot = *idle;
  if (slot.request != MPI_REQUEST_NULL && world.own.one_in(16)) MPI_Request_free(&slot.request);
  const std::vector<char> data = spread(m.here, contents(m.key, m.here.packed()));
  if (slot.request == MPI_REQUEST_NULL) {
    slot.memory = data;
    const Typed type(m.here);
    const auto init = m.here.total % 3 == 0 ? MPI_Ssend_init : MPI_Send_init;
    init(slot.memory.data(), m.here.count, type.type, circle_.rank_of(m.to), tag(m.tag),
         circle_.comm, &slot.request);
  }
  std::memcpy(slot.memory.data(), data.data(), data.size());
  slot.active = true;
  starting_.push_back(&slot);
  if (world.own.one_in(3)) start_all();
  if (!world.own.one_in(24)) return true;
  start_all();
  MPI_Request_free(&slot.request);
  sent_.push_back(std::move(slot));
  slot = Persistent();
  return true;
}

void Repeated::send(World& world, const Message& m, bool blocking) {
  if (m.how == Send::kPersistent && send_persistent(world, m)) return;
  start_all();
  sent_.push_back({MPI_REQUEST_NULL, spread(m.here, contents(m.key, m.here.packed())), false});
  Persistent& sent = sent_.back();
  const char* const data = sent.memory.data();
  const Typed type(m.here);
  const int count = m.here.count, to = circle_.rank_of(m.to), with = tag(m.tag);
  Send how = m.how;
  if (how == Send::kBuffered) {
    const std::size_t room = m.here.packed() + MPI_BSEND_OVERHEAD;
    if (in_thread_ || buffered_ + room > kBuffered)
      how = Send::kPlain;
    else
      buffered_ += room;
  }
  watch_call(("send to " + std::to_string(m.to)).c_str());
  if (blocking) {
    blocking_send(how)(data, count, type.type, to, with, circle_.comm);
    return;
  }
  nonblocking_send(how)(data, count, type.type, to, with, circle_.comm, &sent.request);
  sent.active = world.own.one_in(20);
  if (sent.active) MPI_Request_free(&sent.request);
}

// --- Receives ---

void Repeated::check_status(const Message& m, int source, const MPI_Status& status) const {
  int bytes = 0, cancelled = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  MPI_Test_cancelled(&status, &cancelled);
  if (status.MPI_SOURCE != source || status.MPI_TAG != tag(m.tag) ||
      static_cast<std::size_t>(bytes) != m.there.packed() || cancelled)
    fail("message of %zu bytes from %d with tag %d came as %d bytes from rank %d with tag %d",
         m.there.packed(), m.from, m.tag, bytes, status.MPI_SOURCE, status.MPI_TAG);
}

// The earliest message of the round that a receive of any source may have matched.
Message& Repeated::whose(World& world, Round& round, const MPI_Status& status, bool any_tag) const {
  for (Message& m : round.messages) {
    if (m.to != world.me || m.arrived || !mine(m) || circle_.rank_of(m.from) != status.MPI_SOURCE)
      continue;
    if (!any_tag && tag(m.tag) != status.MPI_TAG) continue;
    m.arrived = true;
    check_status(m, status.MPI_SOURCE, status);
    return m;
  }
  fail("a message from rank %d with tag %d, which nobody has sent", status.MPI_SOURCE,
       status.MPI_TAG);
}

// Receives for these messages, in some order, with the message that each gets.
std::deque<Receive> Repeated::patterns(World& world, const std::vector<Message*>& messages,
                                       const Part& part) const {
  std::map<std::pair<int, int>, std::deque<Message*>> streams;
  for (Message* m : messages) streams[{m->from, m->tag}].push_back(m);
  std::deque<Receive> made;
  for (std::size_t left = messages.size(); left > 0; --left) {
    auto stream =
        std::next(streams.begin(), static_cast<std::ptrdiff_t>(world.own.below(streams.size())));
    const Message& m = *stream->second.front();
    made.push_back({m, circle_.rank_of(m.from), tag(m.tag), m.there, {}});
    stream->second.pop_front();
    if (stream->second.empty()) streams.erase(stream);
  }
  if (part.any_source) {
    for (Receive& each : made) {
      each.source = MPI_ANY_SOURCE;
      if (part.any_tag) each.tag = MPI_ANY_TAG;
    }
    return made;
  }
  if (!part.any_tag) return made;
  // Some are of any tag. Each message goes to the first receive that it fits, and each must find one.
  std::deque<Receive> mixed_tags = made;
  for (Receive& each : mixed_tags)
    if (world.own.one_in(2)) each.tag = MPI_ANY_TAG;
  std::vector<bool> taken(made.size());
  for (const Message* m : messages) {
    std::size_t at = 0;
    while (at < made.size() &&
           (taken[at] || mixed_tags[at].source != circle_.rank_of(m->from) ||
            (mixed_tags[at].tag != MPI_ANY_TAG && mixed_tags[at].tag != tag(m->tag))))
      ++at;
    if (at == made.size()) return made;
    taken[at] = true;
    mixed_tags[at].message = *m;
    mixed_tags[at].layout = m->there;
  }
  return mixed_tags;
}

void Repeated::start_receive(World& world, Receive receive) {
  const bool exact = receive.source != MPI_ANY_SOURCE && receive.tag != MPI_ANY_TAG;
  const unsigned chances = rounds_.persistent()                       ? 8
                           : receive.message.how == Send::kPersistent ? 6
                                                                      : 1;
  Persistent* const slot =
      exact && receive.message.there.bytes() <= kRoom && world.own.below(8) < chances
          ? idle_slot(receives_, receive.message.from, receive.message.tag)
          : nullptr;
  if (slot != nullptr) {
    const Layout room = contiguous(element_, kRoom / size_of(element_));
    if (slot->request != MPI_REQUEST_NULL && world.own.one_in(16)) MPI_Request_free(&slot->request);
    if (slot->request == MPI_REQUEST_NULL) {
      slot->memory = marked(room);
      MPI_Recv_init(slot->memory.data(), room.count, type_of(element_), receive.source, receive.tag,
                    circle_.comm, &slot->request);
    }
    std::fill(slot->memory.begin(), slot->memory.end(), kMark);
    slot->active = true;
    receive.persistent = slot;
    starting_.push_back(slot);
    posted_.push_back(std::move(receive));
    if (world.own.one_in(3)) start_all();
    return;
  }
  start_all();
  receive.memory = marked(receive.layout);
  posted_.push_back(std::move(receive));
  Receive& started = posted_.back();
  const Typed type(started.layout);
  MPI_Irecv(started.memory.data(), started.layout.count, type.type, started.source, started.tag,
            circle_.comm, &started.request);
  started.freed = exact && world.own.one_in(24);
  if (started.freed) MPI_Request_free(&started.request);
}

void Repeated::receive_late(World& world, Round& round, Message& m, const Part& part) {
  const int source = part.any_source ? MPI_ANY_SOURCE : circle_.rank_of(m.from);
  const int which = part.any_tag ? MPI_ANY_TAG : tag(m.tag);
  if (!part.any_source && !part.any_tag && rounds_.persistent() && part.late <= Late::kStart) {
    start_receive(world, {m, source, which, m.there, {}});
    start_all();
    std::deque<Receive> only;
    only.push_back(std::move(posted_.back()));
    posted_.pop_back();
    watch_call(("late persistent receive from " + std::to_string(m.from)).c_str());
    finish(world, nullptr, std::move(only));
    return;
  }
  const Layout layout = part.any_source ? contiguous(element_, longest(round)) : m.there;
  std::vector<char> memory = marked(layout);
  const Typed type(layout);
  MPI_Status status;
  MPI_Message handle = MPI_MESSAGE_NULL;
  std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
  int found = 0;
  watch_call(("late receive, way " + std::to_string(static_cast<int>(part.late)) + ", from " +
              std::to_string(m.from))
                 .c_str());
  switch (part.late) {
    case Late::kReceive:
      MPI_Recv(memory.data(), layout.count, type.type, source, which, circle_.comm, &status);
      break;
    case Late::kStart:
      MPI_Irecv(memory.data(), layout.count, type.type, source, which, circle_.comm,
                request.data());
      status = wait_somehow(world.own, request, true)[0];
      break;
    case Late::kMatch: MPI_Mprobe(source, which, circle_.comm, &handle, &status); break;
    case Late::kMatchPoll:
      while (!found) MPI_Improbe(source, which, circle_.comm, &found, &handle, &status);
      break;
    case Late::kProbe: MPI_Probe(source, which, circle_.comm, &status); break;
    case Late::kPoll:
      while (!found) MPI_Iprobe(source, which, circle_.comm, &found, &status);
      break;
  }
  if (part.late == Late::kMatch) {
    MPI_Mrecv(memory.data(), layout.count, type.type, &handle, &status);
  } else if (part.late == Late::kMatchPoll) {
    MPI_Imrecv(memory.data(), layout.count, type.type, &handle, request.data());
    status = wait_somehow(world.own, request, true)[0];
  } else if (part.late == Late::kProbe || part.late == Late::kPoll) {
    MPI_Recv(memory.data(), layout.count, type.type, status.MPI_SOURCE, status.MPI_TAG,
             circle_.comm, &status);
  }
  Message& got = part.any_source ? whose(world, round, status, part.any_tag) : m;
  check_status(got, circle_.rank_of(got.from), status);
  if (part.any_source)
    check_any(world, got, memory);
  else
    check(world, got, memory, got.there);
}

// --- Waits ---

// Waits for posted receives, for all or for some.
void Repeated::settle(World& world, Round* round, bool all) {
  start_all();
  std::deque<Receive> left, ending;
  for (Receive& each : posted_)
    (!all && world.own.one_in(3) ? left : ending).push_back(std::move(each));
  posted_ = std::move(left);
  finish(world, round, std::move(ending));
}

void Repeated::finish(World& world, Round* round, std::deque<Receive> ending) {
  std::vector<MPI_Request> requests;
  bool any_source = false;
  for (const Receive& each : ending) {
    any_source = any_source || each.source == MPI_ANY_SOURCE;
    requests.push_back(each.persistent != nullptr ? each.persistent->request : each.request);
  }
  watch_call("waits for receives");
  const std::vector<MPI_Status> statuses = wait_somehow(world.own, requests, any_source);
  for (std::size_t i = 0; i < ending.size(); ++i) {
    Receive& each = ending[i];
    const bool known = !statuses.empty() && !each.freed;
    if (each.source == MPI_ANY_SOURCE) {
      check_any(world, whose(world, *round, statuses[i], each.tag == MPI_ANY_TAG), each.memory);
      continue;
    }
    if (known) check_status(each.message, each.source, statuses[i]);
    if (each.persistent != nullptr) {
      each.persistent->request = requests[i];
      each.persistent->active = false;
      std::vector<char> memory = each.persistent->memory;
      check_any(world, each.message, memory);
      continue;
    }
    if (each.freed) {  // only its contents show that it has ended
      const std::vector<char> due =
          spread(each.layout, contents(each.message.key, each.layout.packed()));
      watch_call("the message of a freed receive");
      for (int found = 0; first_difference(each.memory, due) >= 0;)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world.all.comm, &found, MPI_STATUS_IGNORE);
    }
    check(world, each.message, each.memory, each.layout);
  }
}

void Repeated::settle_sends(World& world) {
  std::vector<MPI_Request> requests;
  for (const Persistent& each : sent_)
    if (each.request != MPI_REQUEST_NULL) requests.push_back(each.request);
  watch_call("waits for sends");
  wait_somehow(world.own, requests, false);
  for (Persistent& each : sent_) each.request = MPI_REQUEST_NULL;
  std::erase_if(sent_, [](const Persistent& each) { return !each.active; });
}

// --- The step ---

void Repeated::take_round(World& world, Round& round) {
  const Part& part = round.parts[static_cast<std::size_t>(world.me)];
  std::vector<Message*> posted, late;
  std::map<std::pair<int, int>, bool> is_late;
  for (Message& m : round.messages) {
    if (m.to != world.me || !mine(m)) continue;
    bool& after = is_late[{m.from, m.tag}];
    after =
        after || part.when == When::kLate || (part.when == When::kPartly && world.own.one_in(3));
    (after ? late : posted).push_back(&m);
  }
  const bool cancels = round.ready && world.own.one_in(3);
  if (cancels && world.own.one_in(2)) cancel_receives(world.own, circle_, tag(0));
  for (Receive& each : patterns(world, posted, part)) {
    if (part.any_source) each.layout = contiguous(element_, longest(round));
    start_receive(world, std::move(each));
  }
  start_all();
  if (cancels) cancel_receives(world.own, circle_, tag(0));
  if (round.ready) {
    start_all();
    watch_call("waits for all to have posted");
    MPI_Barrier(circle_.comm);
  }
  for (const Message& m : round.messages)
    if (m.from == world.me && mine(m)) send(world, m, part.blocking);
  start_all();
  for (Message* m : late) receive_late(world, round, *m, part);
  if (round.isolated || world.own.one_in(2)) settle(world, &round, round.isolated);
  if (world.own.one_in(2)) settle_sends(world);
  if (!round.isolated) return;
  watch_call("waits for all to have received");
  MPI_Barrier(circle_.comm);
}

void Repeated::end(World& world, int step) {
  std::vector<char> buffer(kBuffered);
  step_ = step;
  if (!in_thread_) MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  for (int number = 0; number < rounds_.count(); ++number) {
    Round round = rounds_.draw(number);
    if (round.new_circle) {
      if (number > 0) leave_circle(world);
      make_circle(world, round.key);
    }
    take_round(world, round);
  }
  settle(world, nullptr, true);
  leave_circle(world);
  settle_sends(world);
  watch_call("waits for all to have received all");
  MPI_Barrier(world.all.comm);
  void* detached;
  int size;
  if (!in_thread_) MPI_Buffer_detach(&detached, &size);
  sent_.clear();
}

}  // namespace

StepPointer draw_repeated(Draw& draw, const Scale& scale) {
  return std::make_unique<Repeated>(draw, scale);
}

}  // namespace programs
