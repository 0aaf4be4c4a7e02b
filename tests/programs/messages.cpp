// Messages between all pairs, sent and received in every way that MPI has.
//
// A sender starts all its messages at once, or sends them one after the other. A receiver posts its receives first,
// or uses blocking receives, wildcards or probes. A rank that receives late does not use blocking sends. So the
// first message of the list that has not arrived is never held up by its own sender or receiver.
#include <cstring>
#include <deque>
#include <map>

#include "layout.hpp"
#include "message.hpp"
#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

// Posted: as named, any source, any tag of a named source, or both (on a separate communicator). Late: in the order
// of the list, then receives that take any message.
enum class Receive { kNamed, kAnySource, kAnyTag, kAny, kLate, kProbe, kPoll, kMatch, kMatchPoll };
constexpr int kReceives = 9;

struct Arriving {
  Message* message;  // null: whichever comes
  std::vector<char> memory;
  MPI_Status status;
};

const char* name_of(Receive how) {
  const char* const names[] = {"named",       "any source",    "any tag",
                               "any",         "late",          "late, probes",
                               "late, polls", "late, matches", "late, polls and matches"};
  return names[static_cast<int>(how)];
}

class Messages : public Step {
 public:
  Messages(Draw& draw, const Scale& scale);
  std::string text() const override;
  void prepare(World& world, int step) override;
  void begin(World& world, int step) override;
  void end(World& world, int step) override;

 private:
  bool late(int role) const { return receives_[static_cast<std::size_t>(role)] >= Receive::kLate; }
  bool mine(const World& world, const Message& m) const {
    return world.active(m.from) && world.active(m.to);
  }
  void post_named(World& world, int step);
  void post_any(World& world, int step);
  void post_hopeless(World& world, int step);
  MPI_Request start(World& world, int step, Message& m);
  void send_blocking(World& world, int step);
  void receive_late(World& world, int step);
  void receive_next(World& world, int step, Receive how);
  Message& whose(World& world, int step, const MPI_Status& status, bool any_tag);
  void check_any(World& world, int step, Arriving& a, bool any_tag);
  Layout largest() const { return contiguous(element_, most_); }

  Element element_;
  std::size_t most_ = 0;
  std::vector<Receive> receives_;  // of each role
  std::vector<bool> blocking_;     // sends of each role
  std::deque<Message> messages_;
  std::uint64_t order_;
  bool lonely_;   // a communicator of its own
  bool buffers_;  // some may be buffered
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::deque<std::vector<char>> sent_;
  std::deque<Arriving> arriving_;
  std::vector<MPI_Request> sends_, posted_;
  std::vector<char> buffer_;
};

constexpr std::size_t kBuffered = 1 << 21;  // of all buffered messages of a rank

Messages::Messages(Draw& draw, const Scale& scale) {
  buffers_ = !scale.in_thread;
  element_ = static_cast<Element>(draw.below(kElements));
  for (int role = 0; role < scale.roles; ++role) {
    receives_.push_back(static_cast<Receive>(draw.below(kReceives)));
    blocking_.push_back(draw.one_in(3) && !late(role));
  }
  lonely_ = draw.one_in(6);
  for (Receive& how : receives_) {
    if (how == Receive::kAny && !lonely_) how = Receive::kAnySource;
    // Other threads' tags may be on the same communicator.
    if (how == Receive::kAnyTag && !lonely_ && scale.in_thread) how = Receive::kNamed;
  }
  const int count = draw.count(scale.count);
  const std::size_t bytes = count > 40 ? 2000 : count > 12 ? 70000 : scale.bytes;
  std::vector<std::size_t> buffered(static_cast<std::size_t>(scale.roles));
  const bool one_pair = draw.one_in(3);
  const int first = draw.in(0, scale.roles - 1), second = draw.in(0, scale.roles - 1);
  for (int i = 0; i < count; ++i) {
    Message m;
    m.from = one_pair ? first : draw.in(0, scale.roles - 1);
    m.to = one_pair ? second : draw.in(0, scale.roles - 1);
    m.tag = draw.in(0, 3);
    const std::size_t total = draw.bytes(bytes) / size_of(element_);
    m.how = draw.pick({Send::kPlain, Send::kPlain, Send::kSynchronous, Send::kBuffered});
    m.here = draw_layout(draw, element_, total);
    m.there = draw_layout(draw, element_, total);
    m.key = draw.next();
    std::size_t& used = buffered[static_cast<std::size_t>(m.from)];
    if (m.how == Send::kBuffered) used += m.here.packed() + MPI_BSEND_OVERHEAD;
    // A process has one buffer, whichever thread sends.
    if (used > kBuffered || (m.how == Send::kBuffered && scale.in_thread)) m.how = Send::kPlain;
    most_ = std::max(most_, total);
    messages_.push_back(std::move(m));
  }
  order_ = draw.next();
}

std::string Messages::text() const {
  std::string text = std::to_string(messages_.size()) + " messages of up to " +
                     std::to_string(most_) + " " + programs::name_of(element_) +
                     (lonely_ ? ", own communicator;" : ";");
  for (std::size_t role = 0; role < receives_.size(); ++role) {
    std::size_t out = 0, in = 0;
    for (const Message& m : messages_) {
      out += static_cast<std::size_t>(m.from) == role;
      in += static_cast<std::size_t>(m.to) == role;
    }
    if (out + in == 0) continue;
    text += " " + std::to_string(role) + " sends " + std::to_string(out) +
            (blocking_[role] ? " blocking" : "") + ", receives " + std::to_string(in) + " " +
            name_of(receives_[role]) + ";";
  }
  return text;
}

// --- The sender ---

MPI_Request Messages::start(World& world, int step, Message& m) {
  sent_.push_back(spread(m.here, contents(m.key, m.here.packed())));
  const Typed type(m.here);
  const int to = world.all.rank_of(m.to), tag = tag_of(step, m.tag);
  MPI_Request request = MPI_REQUEST_NULL;
  nonblocking_send(m.how)(sent_.back().data(), m.here.count, type.type, to, tag, comm_, &request);
  return request;
}

void Messages::send_blocking(World& world, int step) {
  for (Message& m : messages_) {
    if (m.from != world.me || !mine(world, m)) continue;
    const std::vector<char> data = spread(m.here, contents(m.key, m.here.packed()));
    const Typed type(m.here);
    const int to = world.all.rank_of(m.to), tag = tag_of(step, m.tag);
    watch_call(("blocking send to " + std::to_string(m.to)).c_str());
    blocking_send(m.how)(data.data(), m.here.count, type.type, to, tag, comm_);
  }
}

// --- The receiver ---

// The earliest message that has not arrived and that such a receive may have matched.
Message& Messages::whose(World& world, int step, const MPI_Status& status, bool any_tag) {
  for (Message& m : messages_) {
    if (m.to != world.me || m.arrived || !mine(world, m) ||
        world.all.rank_of(m.from) != status.MPI_SOURCE)
      continue;
    if (any_tag || tag_of(step, m.tag) == status.MPI_TAG) {
      if (tag_of(step, m.tag) != status.MPI_TAG)
        fail("message from %d: tag %d overtook %d", m.from, status.MPI_TAG, tag_of(step, m.tag));
      return m;
    }
  }
  fail("a message from rank %d with tag %d, which nobody has sent", status.MPI_SOURCE,
       status.MPI_TAG);
}

void Messages::check_any(World& world, int step, Arriving& a, bool any_tag) {
  Message& m = a.message != nullptr ? *a.message : whose(world, step, a.status, any_tag);
  int bytes = 0;
  MPI_Get_count(&a.status, MPI_BYTE, &bytes);
  if (static_cast<std::size_t>(bytes) != m.there.packed())
    fail("message from %d with tag %d has %d bytes, not %zu", m.from, m.tag, bytes,
         m.there.packed());
  m.arrived = true;
  if (a.message != nullptr)
    check(world, m, a.memory, m.there);
  else
    programs::check_any(world, m, a.memory);
}

void Messages::post_named(World& world, int step) {
  // Any order of the streams, each in its own.
  std::map<std::pair<int, int>, std::deque<Message*>> streams;
  std::size_t left = 0;
  for (Message& m : messages_) {
    if (m.to != world.me || !mine(world, m)) continue;
    streams[{m.from, m.tag}].push_back(&m);
    ++left;
  }
  Draw draw(order_);
  for (; left > 0; --left) {
    auto stream =
        std::next(streams.begin(), static_cast<std::ptrdiff_t>(draw.below(streams.size())));
    Message* m = stream->second.front();
    stream->second.pop_front();
    if (stream->second.empty()) streams.erase(stream);
    arriving_.push_back({m, marked(m->there), {}});
    const Typed type(m->there);
    posted_.push_back(MPI_REQUEST_NULL);
    MPI_Irecv(arriving_.back().memory.data(), m->there.count, type.type, world.all.rank_of(m->from),
              tag_of(step, m->tag), comm_, &posted_.back());
  }
}

void Messages::post_any(World& world, int step) {
  const Receive how = receives_[static_cast<std::size_t>(world.me)];
  const Layout room = largest();
  for (const Message& m : messages_) {
    if (m.to != world.me || !mine(world, m)) continue;
    arriving_.push_back({nullptr, marked(room), {}});
    posted_.push_back(MPI_REQUEST_NULL);
    MPI_Irecv(arriving_.back().memory.data(), room.count, type_of(element_),
              how == Receive::kAnyTag ? world.all.rank_of(m.from) : MPI_ANY_SOURCE,
              how == Receive::kAnySource ? tag_of(step, m.tag) : MPI_ANY_TAG, comm_,
              &posted_.back());
  }
}

// A receive that no message matches; it is cancelled.
void Messages::post_hopeless(World& world, int step) {
  int word = 0, cancelled = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&word, 1, MPI_INT, world.own.one_in(2) ? MPI_ANY_SOURCE : 0, tag_of(step, kHopelessTag),
            comm_, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  if (!cancelled) fail("a receive of nothing was not cancelled");
}

void Messages::receive_next(World& world, int step, Receive how) {
  const bool any_tag = lonely_;
  const int tag = any_tag ? MPI_ANY_TAG : tag_of(step, 0);
  MPI_Status status;
  MPI_Message handle = MPI_MESSAGE_NULL;
  int flag = 0;
  // Without a separate communicator the tag must identify the step, so the probes use the tags in turn.
  if (how == Receive::kProbe && any_tag) {
    MPI_Probe(MPI_ANY_SOURCE, tag, comm_, &status);
  } else if (how == Receive::kMatch && any_tag) {
    MPI_Mprobe(MPI_ANY_SOURCE, tag, comm_, &handle, &status);
  } else {
    for (int turn = 0; !flag; ++turn) {
      const int wanted = any_tag ? tag : tag_of(step, turn % 4);
      if (how == Receive::kMatch || how == Receive::kMatchPoll)
        MPI_Improbe(MPI_ANY_SOURCE, wanted, comm_, &flag, &handle, &status);
      else
        MPI_Iprobe(MPI_ANY_SOURCE, wanted, comm_, &flag, &status);
    }
  }
  Message& m = whose(world, step, status, any_tag);
  Arriving a{&m, marked(m.there), {}};
  const Typed type(m.there);
  if (handle == MPI_MESSAGE_NULL)
    MPI_Recv(a.memory.data(), m.there.count, type.type, status.MPI_SOURCE, status.MPI_TAG, comm_,
             &a.status);
  else
    MPI_Mrecv(a.memory.data(), m.there.count, type.type, &handle, &a.status);
  check_any(world, step, a, any_tag);
}

void Messages::receive_late(World& world, int step) {
  const Receive how = receives_[static_cast<std::size_t>(world.me)];
  watch_call(name_of(how));
  for (Message& m : messages_) {
    if (m.to != world.me || !mine(world, m)) continue;
    if (how != Receive::kLate) {
      receive_next(world, step, how);
      continue;
    }
    watch_call(("MPI_Recv from " + std::to_string(m.from)).c_str());
    Arriving a{&m, marked(m.there), {}};
    const Typed type(m.there);
    MPI_Recv(a.memory.data(), m.there.count, type.type, world.all.rank_of(m.from),
             tag_of(step, m.tag), comm_, &a.status);
    check_any(world, step, a, false);
  }
}

// --- The step ---

void Messages::prepare(World& world, int) {
  comm_ = world.messages;
  if (lonely_) MPI_Comm_dup(world.all.comm, &comm_);
}

void Messages::begin(World& world, int step) {
  const Receive how = receives_[static_cast<std::size_t>(world.me)];
  if (how == Receive::kNamed) post_named(world, step);
  if (how > Receive::kNamed && how < Receive::kLate) post_any(world, step);
  if (world.own.one_in(4)) post_hopeless(world, step);
  if (buffers_) {
    buffer_.resize(kBuffered + messages_.size() * MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(buffer_.data(), static_cast<int>(buffer_.size()));
  }
  if (blocking_[static_cast<std::size_t>(world.me)]) return;
  for (Message& m : messages_)
    if (m.from == world.me && mine(world, m)) sends_.push_back(start(world, step, m));
}

void Messages::end(World& world, int step) {
  if (blocking_[static_cast<std::size_t>(world.me)]) send_blocking(world, step);
  if (late(world.me)) receive_late(world, step);
  watch_call("MPI_Waitall of the receives");
  std::vector<MPI_Status> statuses(posted_.size());
  MPI_Waitall(static_cast<int>(posted_.size()), posted_.data(), statuses.data());
  const Receive how = receives_[static_cast<std::size_t>(world.me)];
  for (std::size_t i = 0; i < posted_.size(); ++i) {
    arriving_[i].status = statuses[i];
    check_any(world, step, arriving_[i], how == Receive::kAnyTag || how == Receive::kAny);
  }
  if (buffers_) {
    watch_call("MPI_Buffer_detach");
    void* buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
  }
  if (lonely_) {
    // This communicator is freed here, so its sends cannot be left to a later step.
    watch_call("waits for its sends");
    MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
    MPI_Comm_free(&comm_);
    return;
  }
  world.finish(step, std::move(sends_), [] {});
}

}  // namespace

StepPointer draw_messages(Draw& draw, const Scale& scale) {
  return std::make_unique<Messages>(draw, scale);
}

}  // namespace programs
