// Kinds of link under test, and a few ends of one kind in one process.
//
//   for (const Kind& kind : kinds()) ...               // each with a name and a way to make links
//   Lan lan(kind, 2);
//   REQUIRE(lan.open());                               // lan.why_not otherwise
//   lan.connect(0, 1);
//   REQUIRE(lan.send(0, 1, meta, slices, n));          // polls while the answer is `again`
//   REQUIRE(lan.poll_until([&] { return lan[1].frames.size() == 1; }));
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "link/link.hpp"
#include "stats/counters.hpp"

namespace lfc {

// One end of a link: a sink that records all its calls.
struct End : FrameSink {
  struct Frame {
    PeerId peer;
    Meta meta;
    std::vector<std::byte> payload;
  };

  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override;
  PeerId on_connect(Link& from, const Address& address) override;
  void on_notified(PeerId peer, std::uint32_t value) override {
    notified.emplace_back(peer, value);
    if (on_each_notified) on_each_notified();
  }
  bool on_unanswered(PeerId peer, Link&, std::string_view) override {
    ++unanswered[peer];
    return turns;
  }
  void on_broken(PeerId peer, Link& from, std::string_view why) override;

  Identity identity;
  Counters counters;
  std::unique_ptr<Link> link;
  std::optional<Address> address;
  std::map<std::uint32_t, PeerId> ids;  // by rank
  PeerId next_id = 0;
  bool refuse = false;
  bool turns = false;  // the result of on_unanswered(): the peer moves to another link
  bool keep_frames = true;

  std::vector<std::pair<PeerId, std::uint32_t>> notified;
  std::function<void()> on_each_notified;
  std::vector<Frame> frames;
  std::size_t frame_count = 0;
  std::map<PeerId, int> connected;  // on_connect() calls
  std::map<PeerId, int> broken;     // on_broken() calls
  std::map<PeerId, int> unanswered;
  std::string last_why;  // of on_broken()
  std::vector<std::string> offences;
  std::function<void(PeerId, Meta, std::span<const std::byte>)> on_each;
};

// State that the ends of one test share: a simulated network, or nothing.
struct Medium {
  virtual ~Medium() = default;
  virtual std::unique_ptr<Link> make_link(End& end, std::string& why_not) = 0;
  virtual void tick() {}
};

// Clauses that a library below some links violates.
enum class Clause { end_is_noticed, many_may_flood };

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Medium>()> make_medium;
  bool to_itself = false;                         // connects a process with itself only
  std::map<Clause, std::string> exceptions = {};  // and why
};
// All kinds that this build knows, also those that this machine cannot run.
const std::vector<Kind>& kinds();

class Lan {
 public:
  Lan(const Kind& kind, int ends);
  ~Lan();
  bool open();
  End& operator[](int end) { return *ends_[static_cast<std::size_t>(end)]; }
  // The peer of end 0: end 1, or end 0 itself.
  int other() const { return kind_.to_itself ? 0 : 1; }
  // False, after a message with the reason: this kind is exempt from the clause.
  bool keeps(Clause clause) const;

  // The index under which `end` knows `peer`.
  PeerId id(int end, int peer);
  bool connect(int end, int peer);
  // After both have closed: the next id() is a new one.
  void forget(int end, int peer);
  void poll();
  bool poll_until(const std::function<bool()>& condition,
                  std::chrono::seconds limit = std::chrono::seconds(30));
  SendStatus try_send(int end, int peer, Meta meta, const void* data, std::size_t size);
  // Retries until it is sent; false when the link is broken or time is up.
  bool send(int end, int peer, Meta meta, const Slice* slices, int count);
  bool send(int end, int peer, Meta meta, const void* data, std::size_t size);
  void destroy(int end) { ends_[static_cast<std::size_t>(end)]->link.reset(); }
  std::string describe();

  std::string why_not;

 private:
  const Kind& kind_;
  std::unique_ptr<Medium> medium_;
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace lfc
