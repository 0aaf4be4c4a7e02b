#include "lfc/channels.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "c_api/process_state.hpp"
#include "engine/process_ni.hpp"
#include "services/channels/protocol/receiver.hpp"
#include "services/channels/protocol/senders.hpp"
#include "stats/counter_line.hpp"

// Only names: the pointers are those to a Receive, a Sender and a Key of lfc::channels.
struct lfc_channel_receive;
struct lfc_channel_sender;
struct lfc_channel_key;

namespace {

using lfc::channels::Key;
using lfc::channels::Note;
using lfc::channels::NoteKind;
using lfc::channels::Outcome;
using lfc::channels::Receive;
using lfc::channels::Receiver;
using lfc::channels::Sender;
using lfc::channels::Senders;

// The head of a message, with its name at the receiver.
struct MessageHead {
  std::uint32_t channel;
  std::int32_t rank, tag;
  std::uint16_t comm;
};
static_assert(offsetof(MessageHead, comm) + sizeof(std::uint16_t) == LFC_CHANNEL_HEAD);

// A note; it begins with a number that no channel has. Both processes run on one node.
struct NoteFrame {
  std::uint32_t no_channel = 0;
  Note note;
};

lfc_channel_host host{};

lfc_channel_name name_of(const lfc::channels::Name& name) noexcept {
  return {name.comm, name.rank, name.tag};
}
lfc::channels::Name name_of(const lfc_channel_name& name) noexcept {
  return {name.comm, name.rank, name.tag};
}
lfc::channels::End end_of(const lfc_channel_end& end) noexcept {
  return {name_of(end.name), end.peer, end.self};
}

class HostMatching final : public lfc::channels::MatchingPort {
 public:
  void post(Receive& receive) override { host.post(receive.owner); }
  Outcome outcome(const Receive& receive) override {
    return static_cast<Outcome>(host.outcome(receive.owner));
  }
  void pass_to_matching(const lfc::channels::Name& message_name, std::uint32_t peer,
                        std::uint16_t number, std::byte* frame, std::size_t size) override {
    const lfc_channel_name name = name_of(message_name);
    host.give(&name, peer, number, frame, size);
  }
  bool empty(const Key& key) override {
    const lfc_channel_name name = name_of(key.end.name);
    return host.empty(&name);
  }
  void done(Receive& receive, const std::byte* frame, std::size_t size) override {
    host.done(receive.owner, frame + LFC_CHANNEL_HEAD, size - LFC_CHANNEL_HEAD);
  }
};

std::atomic<bool> stopped{false};

// PostedNote: a note that has to wait for room or a credit.
struct PostedNote : lfc::Message {
  explicit PostedNote(const NoteFrame& note_frame) : frame(note_frame) {
    slices[0] = {&frame, sizeof frame};
    slice_count = 1;
    tag = host.tag;
    done = [](lfc::Message* self, lfc::Result) { delete static_cast<PostedNote*>(self); };
  }
  NoteFrame frame;
};

struct Channels final : private lfc::channels::Notes {
  explicit Channels(std::shared_ptr<lfc::Ni> engine) : ni(std::move(engine)) {}

  [[gnu::always_inline]] bool send_now(std::uint32_t peer, lfc::Slice head, lfc::Slice body) {
    return !stopped.load(std::memory_order_relaxed) &&
           ni->try_send(peer, host.tag, std::array{head, body}.data(), 2);
  }
  void on_note(std::uint32_t from, const Note& note) {
    if (note.kind == NoteKind::wish)
      receiver.on_wish(from, note);
    else
      senders.on_note(from, note);
  }

  std::shared_ptr<lfc::Ni> ni;
  HostMatching matching;
  Receiver receiver{matching, *this, LFC_CHANNEL_HEAD};
  Senders senders{*this};

 private:
  // A note is lost if memory is short.
  void post(std::uint32_t peer, const NoteFrame& frame) {
    if (auto* const note = new (std::nothrow) PostedNote(frame)) ni->post(peer, *note);
  }
  void send(std::uint32_t peer, const Note& note) override {
    const NoteFrame frame{.note = note};
    if (!send_now(peer, {&frame, sizeof frame}, {})) post(peer, frame);
  }
};

Channels* channels = nullptr;  // of this process

Receive& receive_of(lfc_channel_receive* receive) noexcept {
  return *reinterpret_cast<Receive*>(receive);
}

// A frame of a channel has come. One that names no channel of this process is ignored.
void arrived(void*, std::uint32_t from, std::uint8_t, const void* data, std::size_t size) {
  auto* const frame = const_cast<std::byte*>(static_cast<const std::byte*>(data));
  MessageHead head{};
  if (size < LFC_CHANNEL_HEAD) return;
  std::memcpy(&head, frame, LFC_CHANNEL_HEAD);
  if (head.channel != 0) {
    channels->receiver.on_message(head.channel, {head.comm, head.rank, head.tag}, frame, size);
  } else if (NoteFrame note; size == sizeof note) {
    std::memcpy(&note, frame, sizeof note);
    channels->on_note(from, note.note);
  }
}

}  // namespace

extern "C" {

bool lfc_channels_open(const lfc_channel_host* from) try {
  host = *from;
  std::shared_ptr<lfc::Ni> ni = lfc::process_ni();
  if (channels == nullptr && ni != nullptr) channels = new Channels(std::move(ni));
  stopped.store(false, std::memory_order_relaxed);
  if (channels == nullptr) return false;
  lfc::process_state().messages.routes.divert(host.tag, arrived);
  return true;
} catch (const std::exception&) {
  return false;
}

void lfc_channels_close(void) {
  if (channels != nullptr) lfc::process_state().messages.routes.restore(host.tag);
  delete channels;
  channels = nullptr;
}

bool lfc_channels_reach(uint32_t peer) {
  return peer != LFC_NO_PEER && channels->ni->link_traits(peer).arrives_in_send;
}

lfc_channel_sender* lfc_channel_sender_of(const lfc_channel_end* end) try {
  return reinterpret_cast<lfc_channel_sender*>(&channels->senders.use(end_of(*end)));
} catch (const std::exception&) {
  return nullptr;
}

void lfc_channel_leave(lfc_channel_sender* sender) {
  channels->senders.leave(*reinterpret_cast<Sender*>(sender));
}

bool lfc_channel_is_refused(const lfc_channel_sender* sender) {
  return reinterpret_cast<const Sender*>(sender)->refused;
}

bool lfc_channel_send(const lfc_channel_sender* channel_sender, const void* data, size_t size) {
  const Sender& sender = *reinterpret_cast<const Sender*>(channel_sender);
  if (sender.channel == 0) return false;
  const lfc::channels::End& end = sender.end;
  const MessageHead head{sender.channel, end.self, end.name.tag,
                         static_cast<std::uint16_t>(end.name.comm)};
  return channels->send_now(end.peer, {&head, LFC_CHANNEL_HEAD}, {data, size});
}

void lfc_channels_progress(void) { channels->ni->progress(); }

void lfc_channels_stop(void) { stopped.store(true, std::memory_order_relaxed); }

lfc_channel_receive* lfc_channel_expect(const lfc_channel_end* end, double gain_us, size_t capacity,
                                        bool direct, void* request) try {
  Key& key = channels->receiver.key(end_of(*end));
  auto receive = std::make_unique<Receive>(key);
  key.gain_us = gain_us;
  receive->capacity = capacity;
  receive->direct = direct;
  receive->owner = request;
  channels->receiver.add(*receive);
  return reinterpret_cast<lfc_channel_receive*>(receive.release());
} catch (const std::exception&) {
  return nullptr;
}

void lfc_channel_drop(lfc_channel_receive* receive) {
  channels->receiver.remove(receive_of(receive));
  delete &receive_of(receive);
}

bool lfc_channel_start(lfc_channel_receive* receive) {
  channels->receiver.start(receive_of(receive));
  return receive_of(receive).place == Receive::Place::on_channel;
}

lfc_channel_key* lfc_channel_pin(const lfc_channel_end* end, double gain_us) try {
  Key& key = channels->receiver.pin(end_of(*end));
  key.gain_us = gain_us;
  return reinterpret_cast<lfc_channel_key*>(&key);
} catch (const std::exception&) {
  return nullptr;
}

bool lfc_channel_is_closed(const lfc_channel_key* key) {
  return reinterpret_cast<const Key*>(key)->closed;
}

lfc_channel_receive* lfc_channel_make(void* request) {
  auto* const receive = new (std::nothrow) Receive;
  if (receive != nullptr) receive->owner = request;
  return reinterpret_cast<lfc_channel_receive*>(receive);
}

void lfc_channel_unmake(lfc_channel_receive* receive) { delete &receive_of(receive); }

bool lfc_channel_start_on(lfc_channel_receive* started, lfc_channel_key* key, size_t capacity,
                          bool direct) {
  Receive& receive = receive_of(started);
  receive.key = reinterpret_cast<Key*>(key);
  receive.capacity = capacity;
  receive.direct = direct;
  channels->receiver.start(receive);
  return receive.place == Receive::Place::on_channel;
}

void lfc_channel_ended(lfc_channel_receive* receive) {
  channels->receiver.ended(receive_of(receive));
}

void lfc_channel_yield(lfc_channel_receive* receive) {
  channels->receiver.yield(receive_of(receive));
}

void lfc_channels_other(uint32_t comm, int32_t source, int32_t tag) {
  channels->receiver.before_other_receive(comm, source, tag);
}

const uint16_t* lfc_channels_names(void) { return channels->receiver.keys().names(); }

void lfc_channels_reveal(uint32_t comm, int32_t source, int32_t tag) {
  channels->receiver.before_probe(comm, source, tag);
}

uint16_t lfc_channels_frame(uint32_t comm, int32_t source, int32_t tag, uint16_t number) {
  return channels->receiver.on_frame({comm, source, tag}, number);
}

void lfc_channels_forget(uint32_t comm) { channels->receiver.forget(comm); }

void lfc_channels_describe(uint64_t sent, char* text, size_t size) {
  *text = '\0';
  if (channels == nullptr) return;
  const lfc::channels::Totals& totals = channels->receiver.totals();
  lfc::CounterLine line(text, size);
  line.add("sent", sent);
  line.add("here", totals.on_channel);
  line.add("early", totals.early);
  line.add("given", totals.given);
  line.add("posted", totals.posted);
  line.add("yielded", totals.yielded);
  line.add("closed", totals.closed);
}

void lfc_channels_total(lfc_channel_totals* totals) {
  const lfc::channels::Totals& received = channels->receiver.totals();
  *totals = {channels->senders.opened(), received.closed, received.given,
             channels->receiver.keys().won_us()};
}

}  // extern "C"
