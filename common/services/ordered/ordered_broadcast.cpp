#include "services/ordered/ordered_broadcast.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lfc {
namespace {

// MulticastHeader::tag, `number` and `word`.
enum : std::uint8_t {
  kData,     // its number; packets of the message that follow it
  kRequest,  // -; how many numbers
  kGrant,    // the first; -
  kReport,   // numbers below it have been taken; -
};

}  // namespace

OrderedBroadcast::OrderedBroadcast(Multicast& multicast, const Options& options)
    : multicast_(multicast),
      options_(options),
      held_(options.window, std::min(options.packet, multicast.max_packet())) {}

OrderedBroadcast::~OrderedBroadcast() = default;

void OrderedBroadcast::join(std::uint64_t key, std::vector<ProcessName> names, std::uint32_t self,
                            std::vector<PeerId> peers) {
  self_ = self;
  key_ = key;
  if (is_sequencer()) sequencer_.emplace(static_cast<std::uint32_t>(names.size()), options_.window);
  // All members take part in the trees, also those that share a node: each has its own copy.
  std::vector<std::uint64_t> nodes(names.size());
  std::iota(nodes.begin(), nodes.end(), std::uint64_t{0});
  multicast_.join(group_, key, Membership(std::move(names), nodes), self, std::move(peers), *this);
}

void OrderedBroadcast::leave() noexcept { multicast_.leave(std::exchange(group_, nullptr)); }

// A member breaks the protocol and cannot be identified. The other members are notified as for a lost member.
void OrderedBroadcast::accuse() {
  fault_.raise(Fault::protocol);
  multicast_.give_up(*group_, Multicast::Reason::loss);
}

void OrderedBroadcast::refuse() {
  const ServicePort::Access access(multicast_.port());
  accuse();
}

bool OrderedBroadcast::place(std::uint64_t number, std::uint32_t origin, std::uint64_t following,
                             std::span<const std::byte> bytes) noexcept {
  if (!held_.place(number, origin, following, bytes)) return false;
  if (call_ != nullptr) call_->request();
  return true;
}

// --- Sending ---

void OrderedBroadcast::start(std::span<const std::byte> bytes) {
  const ServicePort::Access access(multicast_.port());
  outgoing_.begin(bytes);
  const std::uint64_t count = Outgoing::packets(bytes.size(), held_.packet());
  if (!is_sequencer()) {
    send_control(options_.sequencer, kRequest, 0, count);
  } else if (sequencer_->request(self_, count)) {
    grant();
  }
}

void OrderedBroadcast::give_up() noexcept {
  const ServicePort::Access access(multicast_.port());
  outgoing_.give_up();
}

void OrderedBroadcast::send_control(std::uint32_t member, std::uint8_t tag, std::uint64_t number,
                                    std::uint64_t word) {
  MulticastHeader header;
  header.tag = tag;
  header.number = number;
  header.word = word;
  multicast_.send_direct(*group_, member, header, {});
}

void OrderedBroadcast::grant() {
  while (const auto ticket = sequencer_->next()) {
    if (ticket->member == self_) {
      send(ticket->first);
    } else {
      send_control(ticket->member, kGrant, ticket->first, 0);
    }
  }
}

// The numbers have come. Each packet is also put into its place at this member.
void OrderedBroadcast::send(std::uint64_t first) {
  MulticastHeader header;
  header.tag = kData;
  header.fan = static_cast<std::uint8_t>(options_.fan);
  const bool sound = outgoing_.go(
      first, held_.packet(),
      [&](std::uint64_t number, std::uint64_t following, std::span<const std::byte> part) {
        if (!place(number, self_, following, part)) return false;
        header.number = number;
        header.word = following;
        multicast_.send(*group_, header, part, outgoing_.unsent());
        return true;
      });
  if (!sound) accuse();  // the sequencer may not grant this number
}

// --- Receiving ---

Multicast::Receiver::Reception OrderedBroadcast::take(const MulticastHeader& header,
                                                      std::span<const std::byte> bytes) {
  if (header.tag == kData) {
    if (header.kind != MulticastHeader::Kind::tree || header.shape != TreeShape::monotone)
      return Reception::malformed;
    // The last hop only forwards the packet, so the group ends, and not the connection.
    if (!place(header.number, header.origin, header.word, bytes)) accuse();
    return Reception::taken;
  }
  if (header.kind != MulticastHeader::Kind::direct || !bytes.empty()) return Reception::malformed;
  bool sound = false;
  if (header.tag == kGrant && header.origin == options_.sequencer) {
    sound = outgoing_.requesting() || fault() != Fault::none;
    if (sound && fault() == Fault::none) send(header.number);
  } else if (is_sequencer() && (header.tag == kRequest || header.tag == kReport)) {
    sound = header.tag == kRequest ? sequencer_->request(header.origin, header.word)
                                   : sequencer_->progress(header.origin, header.number);
    if (sound) grant();
  }
  return sound ? Reception::taken : Reception::malformed;
}

void OrderedBroadcast::report() {
  const ServicePort::Access access(multicast_.port());
  reported_ = held_.taken();
  if (!is_sequencer()) {
    send_control(options_.sequencer, kReport, reported_, 0);
  } else if (sequencer_->progress(self_, reported_)) {
    grant();
  }
}

bool OrderedBroadcast::all_taken() {
  const ServicePort::Access access(multicast_.port());
  return sequencer_->slowest() == sequencer_->handed_out();
}

std::uint64_t OrderedBroadcast::handed_out() {
  const ServicePort::Access access(multicast_.port());
  return sequencer_->handed_out();
}

}  // namespace lfc
