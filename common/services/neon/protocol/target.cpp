#include "services/neon/protocol/target.hpp"

#include <algorithm>
#include <cstring>

#include "base/stored_words.hpp"
#include "services/neon/protocol/origin.hpp"

namespace lfc::neon {
namespace {

// Returns the record of that origin and tag; null: there is none.
template <class Peers>
auto* find_record(const Peers& peers, Rank origin, std::uint32_t tag) noexcept {
  const auto* const known = peers.find(origin);
  return known != nullptr ? known->records.find(tag) : nullptr;
}

void complete_if_due(Announcement& buffer) {
  if (buffer.notifications != buffer.due) return;
  buffer.live = false;
  buffer.done(&buffer, buffer.status);
}

// Makes the announcement live, to so many origins.
void begin(Announcement& buffer, std::size_t origins) {
  buffer.live = true;
  buffer.status = Status::ok;
  buffer.notified.clear();
  buffer.due = buffer.notifications + origins;
}

std::uint32_t cost_of(const Header& header, std::size_t size) noexcept {
  return (header.flags & kCharged) != 0 ? static_cast<std::uint32_t>(size) + kOverhead : 0;
}

// The fate of a received frame.
enum class Fate : std::uint8_t { now, later, late, malformed };

template <class Peer, class Record>
Fate judge(const Peer& peer, const Record& each, const Header& header, std::size_t size,
           std::uint32_t budget) {
  const std::uint64_t cost = cost_of(header, size);
  if (peer.held + peer.owed.count() + cost > budget) return Fate::malformed;
  const auto ahead = static_cast<std::int32_t>(header.generation - each.announced);
  if (ahead == 0 && each.live != nullptr) return Fate::now;
  if (ahead > 0) return cost > 0 ? Fate::later : Fate::malformed;
  const bool discarded = each.withdrawn != 0 && reached(each.withdrawn, header.generation);
  return discarded ? Fate::late : Fate::malformed;
}

}  // namespace

Target::Target(std::uint32_t ranks, const Limits& limits, Outlet& outlet, Carrier& carrier,
               Statistics& statistics)
    : MappedTarget(carrier),
      limits_(limits),
      outlet_(outlet),
      carrier_(carrier),
      statistics_(statistics),
      peers_(ranks) {}

Target::~Target() {
  drop_early();
  peers_.for_each([](Peer& peer) {
    while (GetReply* each = peer.get_replies.pop()) delete each;
  });
}

// --- Announcements ---

Status Target::announce(Announcement& buffer) {
  // The usual case: to its only origin once more.
  auto* const only = static_cast<Record*>(buffer.only);
  if (only == nullptr || buffer.live || only->is_busy() || outlet_.is_lost(only->origin))
    return announce_to_all(buffer);
  begin(buffer, 1);
  open(*only, buffer);
  return Status::ok;
}

Status Target::announce_to_all(Announcement& buffer) {
  if (buffer.live) return Status::busy;
  Status status = Status::ok;
  for (auto at = buffer.origins.begin(); at != buffer.origins.end(); ++at) {
    const Rank origin = *at;
    if (origin >= peers_.size()) return Status::rank;
    if (std::find(buffer.origins.begin(), at, origin) != at) return Status::rank;
    const Record* const known = find_record(peers_, origin, buffer.tag);
    if (known != nullptr && known->is_busy()) return Status::busy;
    if (outlet_.is_lost(origin)) status = Status::unreachable;
  }
  if (status != Status::ok) return status;
  buffer.notified.reserve(buffer.origins.size());
  begin(buffer, buffer.origins.size());
  for (const Rank origin : buffer.origins) {
    Peer& peer = peers_.at(origin);
    const Record* const named = peer.records.find(buffer.tag);
    if (named != nullptr && named->announced == 0) --peer.unknown;
    Record& each = peer.records.make(buffer.tag);
    each.origin = origin;
    each.tag = buffer.tag;
    if (buffer.origins.size() == 1 && !buffer.persistent) buffer.only = &each;
    open(each, buffer);
  }
  if (buffer.persistent) {
    buffer.done(&buffer, Status::ok);
  } else if (buffer.origins.empty()) {
    complete_if_due(buffer);
  }
  return Status::ok;
}

void Target::open(Record& each, Announcement& buffer) {
  each.announced = next_generation(each.announced);
  each.close();
  each.live = &buffer;
  if (each.wanted_always || (each.wanted && reached(each.announced, each.want))) grant(each);
  each.wanted = each.wanted && !reached(each.announced, each.want);
  Generation* first = each.early;
  if (first == nullptr || first->number != each.announced) return MappedTarget::open(each);
  each.early = first->next;
  adopt(each, *first);
  delete first;
}

// Puts frames in place that arrived before their announcement.
void Target::adopt(Record& each, Generation& early) {
  Peer& peer = peers_.at(each.origin);
  const std::uint32_t generation = early.number;
  while (Piece* piece = early.pieces.pop()) {
    const std::uint32_t cost = cost_of(piece->header, piece->bytes.size());
    peer.held -= cost;
    statistics_.parked -= cost;
    // A hostile origin has sent more than its final frame counts: the generation is over before they are.
    if (each.live != nullptr && each.announced == generation) {
      accept(each, piece->header, piece->bytes.data(), piece->bytes.size());
    } else {
      ++statistics_.late;
    }
    refund(each.origin, cost);
    delete piece;
  }
  if (each.live != nullptr && each.announced == generation) ++statistics_.hybrid;
}

void Target::grant(Record& each) {
  each.granted = each.announced;
  Header header;
  header.kind = Kind::grant;
  header.tag = each.tag;
  header.generation = each.announced;
  header.extra = each.live->size;
  ++statistics_.grants;
  outlet_.control(each.origin, header, &each.live->token);
}

// Recalls the grant of a withdrawn announcement from the origin.
void Target::take_back(Record& each) {
  if (outlet_.is_lost(each.origin)) return;
  each.recalled = each.live;
  ++each.recalled->unheard;
  refuse_grant(each, each.announced, kFailed | kRecalled);
}

bool Target::on_recalled(Rank from, const Header& header) {
  Record* each = find_record(peers_, from, header.tag);
  if (each == nullptr || each->recalled == nullptr || each->withdrawn != header.generation)
    return false;
  each->acknowledge_recall();
  return true;
}

void Target::refuse_grant(const Record& each, std::uint32_t generation, std::uint8_t flags) {
  Header refusal;
  refusal.kind = Kind::grant;
  refusal.flags = flags;
  refusal.tag = each.tag;
  refusal.generation = generation;
  const Token none;
  outlet_.control(each.origin, refusal, &none);
}

bool Target::withdraw(Announcement& buffer) {
  const bool was_live = buffer.live;
  for (const Rank origin : buffer.origins) {
    if (origin >= peers_.size()) continue;
    Record* each = find_record(peers_, origin, buffer.tag);
    if (each == nullptr || each->live != &buffer) continue;
    const MappedEntry::State state = close(*each);
    if (state == MappedEntry::State::done) {  // a final put came first
      fire(*each);
      continue;
    }
    if (state == MappedEntry::State::busy) {
      each->closing = &buffer;
      ++buffer.unheard;
    }
    each->withdrawn = each->announced;
    if (each->granted == each->announced) take_back(*each);
    each->close();
    peers_.at(origin).confirmations.note_failure(buffer.tag, each->announced, kFailed);
    confirm_waiting(*each, kAllFrames);
    // Ends gets that read from the buffer, because it may be gone after this call.
    Fifo<GetReply> rest;
    Fifo<GetReply>& get_replies = peers_.at(origin).get_replies;
    while (GetReply* one = get_replies.pop()) {
      if (one->buffer == &buffer) {
        reply(origin, Kind::reply, one->header.id, kFailed);
        delete one;
      } else {
        rest.push(one);
      }
    }
    get_replies = rest;
  }
  buffer.live = false;
  return was_live;
}

// Handles the complete generation of a record: its notification and all its data have been received.
void Target::fire(Opened& opened) {
  auto& each = static_cast<Record&>(opened);
  Announcement& buffer = *each.live;
  close(each);
  ++buffer.notifications;
  if (buffer.persistent) {
    open(each, buffer);
    return;
  }
  each.close();
  buffer.notified.push_back(each.origin);
  complete_if_due(buffer);
}

// --- Frames ---

Target::Record* Target::record(Rank from, std::uint32_t tag) {
  Peer& peer = peers_.at(from);
  Record* known = peer.records.find(tag);
  if (known != nullptr || peer.unknown >= kMaxTags) return known;
  ++peer.unknown;
  known = &peer.records.make(tag);
  known->origin = from;
  known->tag = tag;
  return known;
}

bool Target::on_data(Rank from, const Header& header, const std::byte* payload, std::size_t size) {
  Peer& peer = peers_.at(from);
  Record* each = record(from, header.tag);
  if (each == nullptr) return false;
  switch (judge(peer, *each, header, size, limits_.budget)) {
    case Fate::malformed: return false;
    case Fate::later: park(peer, *each, header, payload, size); return true;
    case Fate::late:
      ++statistics_.late;
      if ((header.flags & kStrong) != 0) reply(from, Kind::delivered, header.id, kFailed);
      break;
    case Fate::now:
      if (!accept(*each, header, payload, size)) return false;
      break;
  }
  refund(from, cost_of(header, size));
  return true;
}

// Does what the final frame of the generation would do, which has no bytes and is the only one.
bool Target::on_notified(Rank from, std::uint32_t tag, std::uint32_t key) {
  const Record* const each = find_record(peers_, from, tag);
  if (each == nullptr || each->granted == 0 ||
      generation_bits(each->granted) != generation_bits(key))
    return false;
  Header header;
  header.kind = Kind::data;
  header.flags = kFinal;
  header.tag = tag;
  header.generation = each->granted;
  header.count = 1;
  return on_data(from, header, nullptr, 0);
}

bool Target::on_get(Rank from, const Header& header) {
  Peer& peer = peers_.at(from);
  Record* each = record(from, header.tag);
  if (each == nullptr) return false;
  switch (judge(peer, *each, header, 0, limits_.budget)) {
    case Fate::malformed: return false;
    case Fate::later: park(peer, *each, header, nullptr, 0); return true;
    case Fate::late:
      ++statistics_.late;
      reply(from, Kind::reply, header.id, kFailed);
      break;
    case Fate::now:
      if (!accept(*each, header, nullptr, 0)) return false;
      break;
  }
  refund(from, cost_of(header, 0));
  return true;
}

void Target::park(Peer& peer, Record& each, const Header& header, const std::byte* payload,
                  std::size_t size) {
  Generation** place = &each.early;
  while (*place != nullptr && !reached((*place)->number, header.generation))
    place = &(*place)->next;
  if (*place == nullptr || (*place)->number != header.generation) {
    auto* made = new Generation;
    made->number = header.generation;
    made->next = *place;
    *place = made;
  }
  auto* piece = new Piece;
  piece->header = header;
  if (size > 0) piece->bytes = carrier_.keep({payload, size});
  (*place)->pieces.push(piece);
  ++(*place)->frames;
  const std::uint32_t cost = cost_of(header, size);
  peer.held += cost;
  ++statistics_.early;
  statistics_.parked += cost;
  statistics_.parked_most = std::max(statistics_.parked_most, statistics_.parked);
}

// Accepts a frame of the announced generation. False: it cannot be one.
bool Target::accept(Record& each, const Header& header, const std::byte* payload,
                    std::size_t size) {
  if (header.kind == Kind::data) {
    accept_data(each, header, payload, size);
    return count(each, header);
  }
  Announcement& buffer = *each.live;
  if (!fits(header.offset, header.extra, buffer.size)) {
    ++statistics_.overruns;
    reply(each.origin, Kind::reply, header.id, kFailed | kOverrun);
    return count(each, header);
  }
  // It counts when the bytes have been read: no notification lets the buffer change before.
  reply_to_get(each.origin, header, buffer.address + header.offset, &each, &buffer, nullptr);
  return true;
}

void Target::accept_data(Record& each, const Header& header, const std::byte* payload,
                         std::size_t size) {
  Announcement& buffer = *each.live;
  // No piece of a put is written if one of its pieces does not fit.
  const bool good = (header.flags & kOverrun) == 0 && header.extra <= buffer.size &&
                    fits(header.offset, size, buffer.size);
  if (good) {
    store_words(buffer.address + header.offset, payload, size);
  } else {
    ++statistics_.overruns;
    buffer.status = Status::range;
    peers_.at(each.origin)
        .confirmations.note_failure(header.tag, header.generation, kFailed | kOverrun);
  }
  if ((header.flags & kStrong) != 0)
    reply(each.origin, Kind::delivered, header.id, good ? 0 : kFailed | kOverrun);
}

bool Target::count(Record& each, const Header& header) {
  if ((header.flags & kFinal) != 0) {
    if (each.expected != 0 || header.count == 0) return false;
    each.expected = header.count;
  }
  if (!each.arrivals.add(header.count)) return false;
  if (each.expected != 0 && each.arrivals.last() > each.expected) return false;
  const bool all = each.expected != 0 && each.arrivals.whole() == each.expected;
  confirm_waiting(each, all ? kAllFrames : each.arrivals.whole());
  if (all) fire(each);
  return true;
}

bool Target::on_want(Rank from, const Header& header) {
  Record* each = record(from, header.tag);
  if (each == nullptr) return false;
  each->wanted_always = each->wanted_always || (header.flags & kAlways) != 0;
  if (!reached(each->announced, header.generation)) {
    each->wanted = true;
    each->want = header.generation;
  } else if (each->live != nullptr) {
    grant(*each);
  } else if (each->withdrawn != 0 && reached(each->withdrawn, header.generation)) {
    refuse_grant(*each, header.generation, kFailed);
  } else {
    // Fired: other frames have overtaken this `want`, and the origin no longer waits.
  }
  return true;
}

// --- Budget ---

void Target::refund(Rank origin, std::uint32_t bytes) {
  if (bytes == 0) return;
  Peer& peer = peers_.at(origin);
  peer.owed.add(bytes);
  // The window is the budget that is not parked; half of it is early enough that a busy origin does not run dry.
  if (!peer.owed.due(limits_.budget - std::min(limits_.budget, peer.held))) return;
  Header header;
  header.kind = Kind::refund;
  outlet_.control(origin, header);
}

std::uint32_t Target::collect(Rank origin) noexcept {
  Peer* const known = peers_.find(origin);
  if (known == nullptr) return 0;
  const std::uint32_t bytes = known->owed.count();
  known->owed.collect(bytes);
  return bytes;
}

// --- Ends ---

void Target::drop_early() {
  peers_.for_each([this](Peer& peer) {
    for (Record& each : peer.records) statistics_.parked -= each.drop_early();
    peer.held = 0;
  });
}

std::uint32_t Target::Record::drop_early() noexcept {
  std::uint32_t cost = 0;
  while (Generation* first = early) {
    early = first->next;
    while (Piece* piece = first->pieces.pop()) {
      cost += cost_of(piece->header, piece->bytes.size());
      delete piece;
    }
    delete first;
  }
  return cost;
}

void Target::on_lost(Rank lost) {
  Peer* const known = peers_.find(lost);
  if (known == nullptr) return;  // it has sent nothing, and no buffer was announced to it
  while (GetReply* each = known->get_replies.pop()) delete each;
  known->assemblies.clear();
  known->confirmations = {};
  for (Record& each : known->records) {
    const std::uint32_t dropped = each.drop_early();
    known->held -= dropped;
    statistics_.parked -= dropped;
    if (each.recalled != nullptr) each.acknowledge_recall();
    Announcement* buffer = each.live;
    const bool done = close(each) == MappedEntry::State::done;
    forget(each);
    if (buffer == nullptr) continue;
    if (done) {
      fire(each);
      continue;
    }
    each.live = nullptr;
    buffer->status = Status::unreachable;
    if (buffer->persistent) continue;
    ++buffer->notifications;
    complete_if_due(*buffer);
  }
}

std::vector<Target::Early> Target::early() const {
  std::vector<Early> all;
  peers_.for_each([&](const Peer& peer) {
    for (const Record& each : peer.records)
      for (const Generation* one = each.early; one != nullptr; one = one->next)
        all.push_back({each.origin, each.tag, one->number, one->frames});
  });
  return all;
}

}  // namespace lfc::neon
