#include "lfc/channels.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>

#include "c_api/process_state.hpp"
#include "engine/ni.hpp"
#include "services/channels/channels.hpp"
#include "stats/counter_line.hpp"

// Only names: the pointers are those to a Receive, a Sender and a Key of lfc::channels.
struct lfc_channel_receive;
struct lfc_channel_sender;
struct lfc_channel_key;

namespace lfc::channels {

// HostChannels: the channels of this process, over the matching of their host.
class HostChannels final : private MatchingPort {
 public:
  HostChannels(Ni& ni, const lfc_channel_host& host) : channels(ni, *this, host.tag), host_(host) {}

  std::uint8_t tag() const noexcept { return host_.tag; }

  Channels channels;

 private:
  static lfc_channel_request* request_of(const Receive& receive) noexcept {
    return static_cast<lfc_channel_request*>(receive.owner);
  }
  static lfc_channel_name to_c(const Name& name) noexcept {
    return {name.comm, name.rank, name.tag};
  }

  void post(Receive& receive) override {
    lfc_channel_request* const request = request_of(receive);
    request->calls->post(request);
  }
  Outcome outcome(const Receive& receive) override {
    const lfc_channel_request* const request = request_of(receive);
    return static_cast<Outcome>(request->calls->outcome(request));
  }
  void pass_to_matching(const Name& message_name, std::uint32_t peer, std::uint16_t number,
                        std::byte* frame, std::size_t size) override {
    const lfc_channel_name name = to_c(message_name);
    host_.give(&name, peer, number, frame, size);
  }
  bool empty(const Key& key) override {
    const lfc_channel_name name = to_c(key.end.name);
    return host_.empty(&name);
  }
  void done(Receive& receive, const std::byte* frame, std::size_t size) override {
    lfc_channel_request* const request = request_of(receive);
    request->calls->done(request, frame + kMessageHead, size - kMessageHead);
  }

  const lfc_channel_host host_;
};

}  // namespace lfc::channels

namespace {

using lfc::channels::HostChannels;
using lfc::channels::Key;
using lfc::channels::Receive;
using lfc::channels::Receiver;
using lfc::channels::Sender;

lfc::ProcessState::Attached<HostChannels>& state() noexcept {
  return lfc::process_state().channels;
}

lfc::channels::Channels& channels() noexcept { return state().service->channels; }
Receiver& receiver() noexcept { return channels().receiver(); }

lfc::channels::End end_of(const lfc_channel_end& end) noexcept {
  return {{end.name.comm, end.name.rank, end.name.tag}, end.peer, end.self};
}

Receive& receive_of(lfc_channel_receive* receive) noexcept {
  return *reinterpret_cast<Receive*>(receive);
}

// The bytes are the engine's, and may be overwritten.
void arrived(void*, std::uint32_t from, std::uint8_t, const void* bytes, std::size_t size) {
  channels().on_message(from, const_cast<std::byte*>(static_cast<const std::byte*>(bytes)), size);
}

}  // namespace

extern "C" {

bool lfc_channels_open(const lfc_channel_host* host) try {
  if (!state().open([&](lfc::Ni& ni) { return new HostChannels(ni, *host); })) return false;
  lfc::process_state().messages.routes.divert(host->tag, arrived);
  return true;
} catch (const std::exception&) {
  return false;
}

void lfc_channels_close(void) {
  if (state().service == nullptr) return;
  lfc::process_state().messages.routes.restore(state().service->tag());
  state().close();
}

bool lfc_channels_reach(uint32_t peer) { return channels().reaches(peer); }

lfc_channel_sender* lfc_channel_sender_of(const lfc_channel_end* end) try {
  return reinterpret_cast<lfc_channel_sender*>(&channels().senders().use(end_of(*end)));
} catch (const std::exception&) {
  return nullptr;
}

void lfc_channel_leave(lfc_channel_sender* sender) {
  channels().senders().leave(*reinterpret_cast<Sender*>(sender));
}

bool lfc_channel_is_refused(const lfc_channel_sender* sender) {
  return reinterpret_cast<const Sender*>(sender)->refused;
}

bool lfc_channel_send(const lfc_channel_sender* sender, const void* data, size_t size) {
  return channels().send(*reinterpret_cast<const Sender*>(sender), {data, size});
}

void lfc_channels_progress(void) { state().ni->progress(); }

void lfc_channels_stop(void) {
  if (state().service != nullptr) channels().stop();
}

lfc_channel_receive* lfc_channel_expect(const lfc_channel_end* end, double gain_us, size_t capacity,
                                        bool direct, lfc_channel_request* request) try {
  Key& key = receiver().key(end_of(*end));
  auto receive = std::make_unique<Receive>(key);
  key.gain_us = gain_us;
  receive->capacity = capacity;
  receive->direct = direct;
  receive->owner = request;
  receiver().add(*receive);
  return reinterpret_cast<lfc_channel_receive*>(receive.release());
} catch (const std::exception&) {
  return nullptr;
}

void lfc_channel_drop(lfc_channel_receive* receive) {
  receiver().remove(receive_of(receive));
  delete &receive_of(receive);
}

bool lfc_channel_start(lfc_channel_receive* receive) {
  receiver().start(receive_of(receive));
  return receive_of(receive).place == Receive::Place::on_channel;
}

lfc_channel_key* lfc_channel_pin(const lfc_channel_end* end, double gain_us) try {
  Key& key = receiver().pin(end_of(*end));
  key.gain_us = gain_us;
  return reinterpret_cast<lfc_channel_key*>(&key);
} catch (const std::exception&) {
  return nullptr;
}

bool lfc_channel_is_closed(const lfc_channel_key* key) {
  return reinterpret_cast<const Key*>(key)->closed;
}

lfc_channel_receive* lfc_channel_make(lfc_channel_request* request) {
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
  receiver().start(receive);
  return receive.place == Receive::Place::on_channel;
}

void lfc_channel_ended(lfc_channel_receive* receive) { receiver().ended(receive_of(receive)); }

void lfc_channel_yield(lfc_channel_receive* receive) { receiver().yield(receive_of(receive)); }

void lfc_channels_other(uint32_t comm, int32_t source, int32_t tag) {
  receiver().before_other_receive(comm, source, tag);
}

const uint16_t* lfc_channels_names(void) { return receiver().keys().names(); }

void lfc_channels_reveal(uint32_t comm, int32_t source, int32_t tag) {
  receiver().before_probe(comm, source, tag);
}

uint16_t lfc_channels_frame(uint32_t comm, int32_t source, int32_t tag, uint16_t number) {
  return receiver().on_frame({comm, source, tag}, number);
}

void lfc_channels_forget(uint32_t comm) { receiver().forget(comm); }

void lfc_channels_describe(uint64_t sent, char* text, size_t size) {
  *text = '\0';
  if (state().service == nullptr) return;
  const lfc::channels::Totals& totals = receiver().totals();
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
  const lfc::channels::Totals& received = receiver().totals();
  *totals = {channels().senders().opened(), received.closed, received.given,
             receiver().keys().won_us()};
}

}  // extern "C"
