// Shares of fragments: no message passes messages that ob1 keeps for its peer, and ob1 sends all kept messages in the
// end. Models of ob1 (its lists and when it tries them) and of the NI's queues drive the test.
#include "../../../btl_lfc/shares.h"

#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace {

constexpr int kControl = -1;  // exempt from any order
constexpr int kPart = -2;     // part of a message that has begun; exempt as well
struct Message {
  int peer;
  int number;
};

class Host {
 public:
  Host(unsigned seed, unsigned peers, unsigned limit, bool mixed, bool threads)
      : random_(seed), peers_(peers), threads_(threads) {
    for (std::size_t id = 0; id < peers_.size(); ++id)
      lfc_shares_init(&peers_[id].shares, limit, mixed && id % 2 != 0 ? LFC_FAR : LFC_NEAR);
  }

  void step() {
    Peer& peer = peers_[draw(static_cast<unsigned>(peers_.size()))];
    const int id = static_cast<int>(&peer - peers_.data());
    switch (draw(10)) {
      case 0:
      case 1:
      case 2: send({id, peer.next++}); break;
      case 3: send({id, kControl}); break;
      case 7: send({id, kPart}); break;
      case 8: {  // ob1 is called for another reason, and tries its lists
        const lfc_visit visit = lfc_visit_begin(peer.shares.module);
        go_through(peer.shares.module);
        lfc_visit_end(visit);
        break;
      }
      case 4: peer.credits += draw(4); break;
      case 5:
      case 6: pump(id); break;
      default: poll(draw(3)); break;
    }
  }

  // All receivers make progress. Each message that ob1 has begun must be sent.
  void finish() {
    for (int i = 0; i < 100000 && !done(); ++i) {
      for (Peer& peer : peers_) peer.credits += 1;
      for (std::size_t id = 0; id < peers_.size(); ++id) pump(static_cast<int>(id));
      poll(2);
    }
  }
  bool done() const {
    for (const Peer& peer : peers_)
      if (peer.sent != peer.next || !peer.posted.empty()) return false;
    return starts_.empty() && packets_.empty() && finished_.empty();
  }
  // Whether each peer has a free share; nothing waits.
  bool all_open() {
    for (Peer& peer : peers_) {
      if (lfc_share_take(&peer.shares, LFC_BEGIN) != LFC_SHARE) return false;
      lfc_share_give_back(&peer.shares);
    }
    return true;
  }
  bool in_order() const { return in_order_; }
  int kept() const { return kept_; }

 private:
  struct Peer {
    lfc_shares shares{};
    unsigned credits = 0;
    int next = 0, sent = 0;
    std::deque<Message> posted;
  };

  unsigned draw(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  void onto_wire(Message message) {
    if (message.number < 0) return;
    Peer& peer = peers_[static_cast<std::size_t>(message.peer)];
    in_order_ = in_order_ && message.number == peer.sent;
    peer.sent = std::max(peer.sent, message.number + 1);
  }

  // Models btl_sendi, btl_alloc and btl_send. False: ob1 has to keep the message.
  bool start(Message message) {
    Peer& peer = peers_[static_cast<std::size_t>(message.peer)];
    const bool straight = peer.posted.empty() && peer.credits > 0;
    if (lfc_shares_left(&peer.shares) && straight && draw(2) == 0) {
      --peer.credits;
      onto_wire(message);
      return true;
    }
    const lfc_purpose purpose = threads_                                     ? LFC_THREADED
                                : message.number == kPart                    ? LFC_GO_ON
                                : message.number == kControl && draw(2) == 0 ? LFC_CONTROL
                                                                             : LFC_BEGIN;
    if (lfc_share_take(&peer.shares, purpose) == LFC_NO_SHARE) return false;
    if (straight && !lfc_shares_hold(&peer.shares)) {
      --peer.credits;
      onto_wire(message);
      if (message.number == kPart) {
        call_back(peer.shares);
      } else {  // ob1 sees the return value and tries its list
        lfc_share_give_back(&peer.shares);
        go_through(peer.shares.module);
      }
    } else {
      peer.posted.push_back(message);
    }
    return true;
  }
  void send(Message message) {
    if (start(message)) return;
    ++kept_;
    (message.number == kControl ? packets_ : starts_).push_back(message);
  }

  // The NI's progress, by either thread.
  void pump(int id) {
    Peer& peer = peers_[static_cast<std::size_t>(id)];
    for (; !peer.posted.empty() && peer.credits > 0; --peer.credits) {
      onto_wire(peer.posted.front());
      finished_.push_back(peer.posted.front());
      peer.posted.pop_front();
    }
  }
  void poll(unsigned limit) {
    for (; limit > 0 && !finished_.empty(); --limit) {
      lfc_shares& shares = peers_[static_cast<std::size_t>(finished_.front().peer)].shares;
      finished_.pop_front();
      call_back(shares);
    }
  }
  void call_back(lfc_shares& shares) {
    const lfc_walk walk = lfc_walk_begin(&shares);
    go_through(shares.module);
    lfc_walk_end(&shares, &walk);
  }
  void go_through(lfc_module module) {
    go_through(packets_, module);
    go_through(starts_, module);
  }
  // As ob1 does for a peer of `module`: messages that belong to the other module go to the end of the list.
  void go_through(std::deque<Message>& list, lfc_module module) {
    for (std::size_t left = list.size(); left > 0 && !list.empty(); --left) {
      const Message first = list.front();
      list.pop_front();
      const bool part = first.number == kPart;
      if (!part && peers_[static_cast<std::size_t>(first.peer)].shares.module != module) {
        list.push_back(first);
      } else if (!start(first)) {
        part ? list.push_back(first) : list.push_front(first);
        return;
      }
    }
  }

  std::mt19937 random_;
  std::vector<Peer> peers_;
  std::deque<Message> finished_, starts_, packets_;
  bool in_order_ = true;
  int kept_ = 0;
  bool threads_;
};

// How many messages ob1 kept in hundreds of runs.
int run_hosts(bool mixed, bool threads) {
  int kept = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Host host(seed, 1 + seed % 4, 1 + seed % 3, mixed, threads);
    for (int i = 0; i < 1000 && host.in_order(); ++i) host.step();
    INFO("seed " << seed << (mixed ? ", peers of both modules" : ""));
    CHECK(host.in_order());
    host.finish();
    CHECK(host.in_order());
    CHECK(host.done());
    CHECK(host.all_open());
    kept += host.kept();
  }
  return kept;
}

}  // namespace

TEST_CASE("nothing overtakes what ob1 keeps", "[shares]") {
  for (const bool mixed : {false, true}) CHECK(run_hosts(mixed, false) > 10000);
}

TEST_CASE("where several threads call, ob1 keeps nothing", "[shares]") {
  for (const bool mixed : {false, true}) CHECK(run_hosts(mixed, true) == 0);
}

TEST_CASE("shares beyond the limit come back first", "[shares]") {
  constexpr unsigned kLimit = 2, kMore = 1000;
  lfc_shares shares;
  lfc_shares_init(&shares, kLimit, LFC_NEAR);
  const auto take = [&shares] {
    lfc_share share = LFC_NO_SHARE;
    std::thread([&] { share = lfc_share_take(&shares, LFC_THREADED); }).join();
    return share;
  };
  for (unsigned i = 0; i < kLimit; ++i) CHECK(take() == LFC_SHARE);
  for (unsigned i = 0; i < kMore; ++i) REQUIRE(take() == LFC_BEYOND_LIMIT);
  for (unsigned i = 0; i < kMore + kLimit; ++i) {
    CHECK(lfc_shares_left(&shares) == (i > kMore));  // sendi may not pass messages under way
    const lfc_walk walk = lfc_walk_begin(&shares);
    lfc_walk_end(&shares, &walk);
  }
  CHECK(shares.left == kLimit);
}

TEST_CASE("a control message is not refused, and takes no later share", "[shares]") {
  lfc_shares shares;
  lfc_shares_init(&shares, 1, LFC_NEAR);
  CHECK(lfc_share_take(&shares, LFC_CONTROL) == LFC_SHARE);
  CHECK(lfc_share_take(&shares, LFC_CONTROL) == LFC_BEYOND_LIMIT);
  CHECK(lfc_share_take(&shares, LFC_BEGIN) == LFC_NO_SHARE);
  CHECK(lfc_share_take(&shares, LFC_CONTROL) == LFC_BEYOND_LIMIT);
  for (int i = 0; i < 3; ++i) {
    CHECK(lfc_share_take(&shares, LFC_BEGIN) == LFC_NO_SHARE);
    const lfc_walk walk = lfc_walk_begin(&shares);
    lfc_walk_end(&shares, &walk);
  }
  CHECK(shares.left + shares.aside == 1);
  CHECK(shares.beyond == 0);
}
