// FakePort: a port of the test's own for one service: no engine, no link, no time; the test says who has a credit.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/service_port.hpp"

namespace lfc {

struct FakePortParts {
  SendLock own_lock{SendLock::Kind::none};
  Identity own_identity{{1, 1}, {}, 4};
  Counters own_counters;
};

// Peer i is the process {1, i}. What is sent to those who have a credit arrives at once; the rest waits.
struct FakePort final : FakePortParts, ServicePort {
  FakePort() : ServicePort(own_lock, own_identity, own_counters) {}

  void attach(ServiceId, Service* it) noexcept override { service = it; }
  PeerId find(ProcessName name) const noexcept override { return name.rank; }
  ProcessName name(PeerId peer) const noexcept override { return {1, peer}; }
  bool is_broken(PeerId peer) const noexcept override { return broken[peer]; }
  std::size_t max_payload() const noexcept override { return 1024; }
  bool try_announce(PeerId, std::uint8_t, const Slice*, int) noexcept override { return false; }
  bool try_send(PeerId peer, ServiceId, const Slice* slices, int, bool) noexcept override {
    if (!credit[peer]) return false;
    sent.push_back(peer);
    const auto* const bytes = static_cast<const std::byte*>(slices[0].data);
    head.assign(bytes, bytes + slices[0].size);
    return true;
  }
  void push(PeerId) noexcept override {}
  void post(PeerId, Message& message) override { waiting.push_back(&message); }
  bool try_send_data(PeerId, ServiceId, const Slice*, int) noexcept override { return false; }
  void withdraw(PeerId, Message& message) noexcept override { std::erase(waiting, &message); }
  void control(PeerId, ServiceId, const void*, std::size_t) override {}
  bool has_credit(PeerId peer) const noexcept override { return credit[peer]; }
  void release(PeerId peer) override { released.push_back(peer); }
  void ack(PeerId, ServiceId, const void*, std::size_t) override {}
  void wake(ServiceId) noexcept override {}
  void call_host(WaitingCall&) noexcept override {}

  Service* service = nullptr;
  std::array<bool, 4> credit{true, true, true, true}, broken{};
  std::vector<PeerId> sent, released;
  std::vector<Message*> waiting;
  std::vector<std::byte> head;  // of the last frame that was sent: its first slice
};

}  // namespace lfc
