// A running peer that does not reply on the link chosen for its frames: another link carries them.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "engine/ni.hpp"
#include "link/loop/loop_link.hpp"
#include "unit/link/fake_link.hpp"

namespace lfc::unanswered_test {
namespace {

// Reaches all peers, none of which replies.
class MuteLink final : public FakeLink {
 public:
  explicit MuteLink(FrameSink& sink)
      : FakeLink({.name = "mute", .remote_memory = true}), sink_(sink) {}
  bool connect(PeerId peer, const Address&, std::string&) override {
    asked_ = peer;
    return true;
  }
  void close(PeerId) noexcept override { asked_ = kNoPeer; }
  SendStatus send(PeerId peer, Meta, const Slice*, int) noexcept override {
    return peer == asked_ ? SendStatus::again : SendStatus::broken;
  }
  int poll() noexcept override {
    if (is_patient || asked_ == kNoPeer) return 0;
    if (sink_.on_unanswered(asked_, *this, "not a word")) asked_ = kNoPeer;
    return 1;
  }
  Start put(PeerId peer, const void*, const LinkRegion&, std::uint64_t, const LinkRegion&,
            std::size_t, Operation*) noexcept override {
    return peer == asked_ ? Start::again : Start::failed;
  }
  bool asks() const noexcept { return asked_ != kNoPeer; }

  bool is_patient = true;

 private:
  FrameSink& sink_;
  PeerId asked_ = kNoPeer;
};

int notices = 0;
std::string noticed;

struct Done : Operation {
  Result result = Result::not_supported;
};

}  // namespace

TEST_CASE(
    "messages that one link leaves unacknowledged go by the next link, all of them and in order",
    "[ni]") {
  Config config;
  config.name = {1, 0};
  notices = 0;
  config.notice = [](std::string_view line) {
    ++notices;
    noticed = line;
  };
  Ni ni(config);
  auto mute = std::make_unique<MuteLink>(ni.sink());
  MuteLink& first = *mute;
  ni.add_link(std::move(mute));
  const bool alone = GENERATE(false, true);
  std::string why_not;
  if (!alone) ni.add_link(make_loop_link({}, ni.identity(), ni.sink(), why_not));
  const PeerId self = ni.add_peer(*Address::parse(ni.open()), why_not);
  REQUIRE(self != kNoPeer);
  std::string received;
  ni.set_message_handler(
      {[](void*, std::uint8_t, const std::byte* bytes, std::size_t size, PeerId, void* context) {
         *static_cast<std::string*>(context) +=
             std::string(reinterpret_cast<const char*>(bytes), size);
       },
       &received});
  int lost = 0;
  ni.set_broken_handler([](void* count, PeerId, std::string_view) { ++*static_cast<int*>(count); },
                        &lost);

  std::vector<Message> messages(3);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].slices[0] = {&"abc"[i], 1};
    messages[i].slice_count = 1;
    messages[i].done = [](Message*, Result) {};
    ni.post(self, messages[i]);
  }
  // A put also waits. It uses a key of the memory that only the first link understands.
  std::uint64_t there = 0;
  const std::uint64_t here = 7;
  RegionHandle region;
  REQUIRE(ni.remote().register_memory(&there, sizeof there, kRemoteWrite, region));
  Done put;
  put.done = [](Operation* self_of, Result result) {
    static_cast<Done*>(self_of)->result = result;
  };
  {
    const ServicePort::Visit visit(ni.services());
    ni.remote().put(self, &here, nullptr, reinterpret_cast<std::uint64_t>(&there), region,
                    sizeof there, &put);
  }
  for (int i = 0; i < 100; ++i) ni.progress();
  CHECK(received.empty());
  CHECK(first.asks());

  first.is_patient = false;
  for (int i = 0; i < 1000; ++i) ni.progress();
  CHECK(lost == 0);
  CHECK(first.asks() == alone);
  CHECK(notices == (alone ? 0 : 1));
  if (!alone) {
    CHECK(received == "abc");
    CHECK(put.result == Result::ok);
    CHECK(there == here);
    CHECK(ni.counters().get(Counter::put_frames_bytes) == sizeof there);
    CHECK(noticed.find("is reached by loop: mute: not a word") != std::string::npos);
  }
  ni.remove_peer(self);
  ni.progress();
  ni.remote().deregister_memory(region);
}

}  // namespace lfc::unanswered_test
