#include "lfc/channels.h"

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>

#include "engine/process_ni.hpp"
#include "services/channels/protocol/receiver.hpp"

// Only a name: the pointer is one to an lfc::channels::Receive.
struct lfc_channel_receive;

namespace {

using lfc::channels::Key;
using lfc::channels::Outcome;
using lfc::channels::Receive;
using lfc::channels::Receiver;

lfc_channel_host host{};

lfc_channel_name name_of(const Key& key) noexcept {
  return {key.name.comm, key.name.source, key.name.tag};
}
lfc::channels::Name name_of(const lfc_channel_name& name) noexcept {
  return {name.comm, name.source, name.tag};
}

class Below final : public lfc::channels::Below {
 public:
  void post(Receive& receive) override { host.post(receive.owner); }
  Outcome outcome(const Receive& receive) override {
    return static_cast<Outcome>(host.outcome(receive.owner));
  }
  void give(const Key& key, std::uint16_t number, std::byte* frame, std::size_t size) override {
    const lfc_channel_name name = name_of(key);
    host.give(&name, number, frame, size);
  }
  bool empty(const Key& key) override {
    const lfc_channel_name name = name_of(key);
    return host.empty(&name, key.all.front()->owner);
  }
  void done(Receive& receive, const std::byte* frame, std::size_t size) override {
    host.done(receive.owner, frame + LFC_CHANNEL_HEAD, size - LFC_CHANNEL_HEAD);
  }
  void offer(Key& key) override { host.offer(key.all.front()->owner, key.id); }
};

struct Channels {
  explicit Channels(std::shared_ptr<lfc::Ni> of) : ni(std::move(of)) {}

  std::shared_ptr<lfc::Ni> ni;
  Below below;
  Receiver receiver{below, LFC_CHANNEL_HEAD};
  std::uint64_t sent = 0;
};

Channels* channels = nullptr;  // of this process
std::atomic<bool> stopped{false};

Receive& of(lfc_channel_receive* receive) noexcept { return *reinterpret_cast<Receive*>(receive); }

}  // namespace

extern "C" {

bool lfc_channels_open(const lfc_channel_host* from) try {
  host = *from;
  std::shared_ptr<lfc::Ni> ni = lfc::process_ni();
  if (channels == nullptr && ni != nullptr) channels = new Channels(std::move(ni));
  stopped.store(false, std::memory_order_relaxed);
  return channels != nullptr;
} catch (const std::exception&) {
  return false;
}

void lfc_channels_close(void) {
  delete channels;
  channels = nullptr;
}

bool lfc_channels_reach(uint32_t peer) {
  return peer != LFC_NO_PEER && channels->ni->link_traits(peer).arrives_in_send;
}

bool lfc_channel_note(uint32_t peer, uint8_t tag, const lfc_slice* slices, int count) {
  return !stopped.load(std::memory_order_relaxed) &&
         channels->ni->try_send(peer, tag, reinterpret_cast<const lfc::Slice*>(slices), count);
}

bool lfc_channel_send(uint32_t peer, uint8_t tag, const lfc_slice* slices, int count) {
  if (!lfc_channel_note(peer, tag, slices, count)) return false;
  ++channels->sent;
  return true;
}

void lfc_channels_progress(void) { channels->ni->progress(); }

void lfc_channels_stop(void) { stopped.store(true, std::memory_order_relaxed); }

lfc_channel_receive* lfc_channel_expect(const lfc_channel_name* name, size_t capacity, bool direct,
                                        void* request) try {
  auto receive = std::make_unique<Receive>(channels->receiver.key(name_of(*name)));
  receive->capacity = capacity;
  receive->direct = direct;
  receive->owner = request;
  channels->receiver.add(*receive);
  return reinterpret_cast<lfc_channel_receive*>(receive.release());
} catch (const std::exception&) {
  return nullptr;
}

void lfc_channel_drop(lfc_channel_receive* receive) {
  channels->receiver.remove(of(receive));
  delete &of(receive);
}

bool lfc_channel_start(lfc_channel_receive* receive) {
  channels->receiver.start(of(receive));
  return of(receive).place == Receive::Place::here;
}

void lfc_channel_yield(lfc_channel_receive* receive) { channels->receiver.yield(of(receive)); }

void lfc_channels_other(uint32_t comm, int32_t source, int32_t tag) {
  channels->receiver.foreign(comm, source, tag);
}

void lfc_channels_reveal(uint32_t comm, int32_t source, int32_t tag) {
  channels->receiver.reveal(comm, source, tag);
}

uint16_t lfc_channels_frame(const lfc_channel_name* name, uint16_t number) {
  return channels->receiver.on_frame(name_of(*name), number);
}

bool lfc_channel_arrived(uint32_t id, void* frame, size_t size) {
  Key* key = channels->receiver.find(id);
  if (key == nullptr || size < LFC_CHANNEL_HEAD) return false;
  channels->receiver.on_message(*key, static_cast<std::byte*>(frame), size);
  return true;
}

void* lfc_channel_request(uint32_t id) {
  const Key* key = channels->receiver.find(id);
  return key == nullptr || key->all.empty() ? nullptr : key->all.front()->owner;
}

void lfc_channels_forget(uint32_t comm) { channels->receiver.forget(comm); }

void lfc_channels_describe(char* text, size_t size) {
  *text = '\0';
  if (channels == nullptr) return;
  const lfc::channels::Totals& totals = channels->receiver.totals();
  std::snprintf(
      text, size, "sent=%llu here=%llu early=%llu given=%llu posted=%llu yielded=%llu",
      static_cast<unsigned long long>(channels->sent), static_cast<unsigned long long>(totals.here),
      static_cast<unsigned long long>(totals.early), static_cast<unsigned long long>(totals.given),
      static_cast<unsigned long long>(totals.posted),
      static_cast<unsigned long long>(totals.yielded));
}

}  // extern "C"
