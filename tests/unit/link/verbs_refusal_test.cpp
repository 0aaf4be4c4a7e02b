// A peer for which the link verbs has no receive buffers is rejected and notified. The devices are simulated in
// memory. They carry datagrams, and drop data sent over connections.
#include "catch.hpp"

#if __has_include(<infiniband/verbs.h>)
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "link/verbs/verbs_link_impl.hpp"

namespace lfc::verbs {
namespace {

struct MemoryDevice {
  ibv_context context{};  // first, because the library's calls pass it
  ibv_device device{};
  ibv_pd domain{};
  ibv_cq completions{};
  ibv_srq receives{};
  ibv_comp_channel channel{};
  std::deque<ibv_wc> ended;
  std::uint16_t lid = 0;
  int receive_buffers = 0;
};
struct MemoryPair {
  ibv_qp pair{};  // first
  std::deque<std::pair<std::uint64_t, ibv_sge>> receives;
};
struct MemoryWay {
  ibv_ah way{};  // first
  std::uint16_t lid = 0;
};

std::map<std::uint16_t, MemoryDevice*> devices;              // by LID
std::map<std::uint32_t, std::unique_ptr<MemoryPair>> pairs;  // by number

MemoryDevice& of(ibv_context* context) { return *reinterpret_cast<MemoryDevice*>(context); }
MemoryPair& of(ibv_qp* pair) { return *reinterpret_cast<MemoryPair*>(pair); }

void end(MemoryDevice& device, std::uint64_t work, std::uint32_t pair, std::size_t bytes) {
  ibv_wc ended{};
  ended.wr_id = work;
  ended.status = IBV_WC_SUCCESS;
  ended.qp_num = pair;
  ended.byte_len = static_cast<std::uint32_t>(bytes);
  device.ended.push_back(ended);
}

void carry(const ibv_send_wr& work) {
  constexpr std::size_t kRoute = 40;
  const auto* way = reinterpret_cast<const MemoryWay*>(work.wr.ud.ah);
  const auto to = pairs.find(work.wr.ud.remote_qpn);
  if (to == pairs.end() || to->second->receives.empty()) return;
  const auto [id, place] = to->second->receives.front();
  to->second->receives.pop_front();
  const ibv_sge& piece = work.sg_list[0];
  std::memcpy(reinterpret_cast<std::byte*>(place.addr) + kRoute,
              reinterpret_cast<const std::byte*>(piece.addr), piece.length);
  end(*devices.at(way->lid), id, to->first, kRoute + piece.length);
}

int post_send(ibv_qp* pair, ibv_send_wr* work, ibv_send_wr**) {
  for (; work != nullptr; work = work->next) {
    if (pair->qp_type == IBV_QPT_UD) carry(*work);
    if ((work->send_flags & IBV_SEND_SIGNALED) != 0)
      end(of(pair->context), work->wr_id, pair->qp_num, 0);
  }
  return 0;
}
int post_receive(ibv_qp* pair, ibv_recv_wr* work, ibv_recv_wr**) {
  for (; work != nullptr; work = work->next)
    of(pair).receives.emplace_back(work->wr_id, work->sg_list[0]);
  return 0;
}
int take_completions(ibv_cq* queue, int most, ibv_wc* out) {
  auto& ended = of(queue->context).ended;
  int count = 0;
  for (; count < most && !ended.empty(); ended.pop_front()) out[count++] = ended.front();
  return count;
}
int query_device(ibv_context* context, ibv_device_attr* out) {
  *out = {};
  out->max_cqe = kCompletions;
  out->max_srq_wr = of(context).receive_buffers;
  out->max_sge = out->max_qp_rd_atom = out->max_qp_init_rd_atom = 4;
  return 0;
}
int query_port(ibv_context* context, std::uint8_t, _compat_ibv_port_attr* out) {
  auto* port = reinterpret_cast<ibv_port_attr*>(out);
  port->state = IBV_PORT_ACTIVE;
  port->active_mtu = IBV_MTU_2048;
  port->lid = of(context).lid;
  return 0;
}
ibv_qp* create_pair(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  static std::uint32_t number = 0;
  auto made = std::make_unique<MemoryPair>();
  made->pair.context = domain->context;
  made->pair.qp_num = ++number;
  made->pair.qp_type = attributes->qp_type;
  return &pairs.emplace(number, std::move(made)).first->second->pair;
}

const Api& memory_api() {
  static Api api{};
  api.get_device_list = [](int*) {
    static std::vector<ibv_device*> list;
    list.clear();
    for (const auto& [lid, device] : devices) list.push_back(&device->device);
    list.push_back(nullptr);
    return list.data();
  };
  api.free_device_list = [](ibv_device**) {};
  api.get_device_name = [](ibv_device* device) -> const char* { return device->name; };
  api.open_device = [](ibv_device* device) -> ibv_context* {
    for (const auto& [lid, each] : devices)
      if (&each->device == device) return &each->context;
    return nullptr;
  };
  api.close_device = [](ibv_context*) { return 0; };
  api.query_device = query_device;
  api.query_port = query_port;
  api.alloc_pd = [](ibv_context* context) { return &of(context).domain; };
  api.dealloc_pd = [](ibv_pd*) { return 0; };
  api.reg_mr = [](ibv_pd*, void*, std::size_t, int) { return new ibv_mr{}; };
  api.dereg_mr = [](ibv_mr* region) { return delete region, 0; };
  api.create_comp_channel = [](ibv_context* context) { return &of(context).channel; };
  api.destroy_comp_channel = [](ibv_comp_channel*) { return 0; };
  api.create_cq = [](ibv_context* context, int, void*, ibv_comp_channel*, int) {
    return &of(context).completions;
  };
  api.destroy_cq = [](ibv_cq*) { return 0; };
  api.get_cq_event = [](ibv_comp_channel*, ibv_cq**, void**) { return -1; };
  api.create_srq = [](ibv_pd* domain, ibv_srq_init_attr*) { return &of(domain->context).receives; };
  api.destroy_srq = [](ibv_srq*) { return 0; };
  api.create_qp = create_pair;
  api.modify_qp = [](ibv_qp*, ibv_qp_attr*, int) { return 0; };
  api.destroy_qp = [](ibv_qp* pair) { return pairs.erase(pair->qp_num), 0; };
  api.create_ah = [](ibv_pd*, ibv_ah_attr* to) -> ibv_ah* {
    auto* way = new MemoryWay{};
    way->lid = to->dlid;
    return &way->way;
  };
  api.destroy_ah = [](ibv_ah* way) { return delete reinterpret_cast<MemoryWay*>(way), 0; };
  api.get_async_event = [](ibv_context*, ibv_async_event*) { return -1; };
  return api;
}

struct Sink final : FrameSink {
  void on_frame(PeerId, Meta, std::span<const std::byte>) override {}
  PeerId on_connect(Link&, const Address&) override { return 0; }
  bool on_unanswered(PeerId, Link&, std::string_view why) override {
    unanswered.emplace_back(why);
    return has_other_link;
  }
  void on_broken(PeerId, Link&, std::string_view why) override { broken.emplace_back(why); }

  bool has_other_link = true;
  std::vector<std::string> unanswered;
  std::vector<std::string> broken;
};

// A process with a link over its own device.
class Process {
 public:
  Process(std::uint16_t lid, int receive_buffers) : identity_{{1, lid}, Key{lid, 7}, 8} {
    device_.lid = lid;
    device_.receive_buffers = receive_buffers;
    std::strcpy(device_.device.name, ("memory" + std::to_string(lid)).c_str());
    device_.domain.context = device_.completions.context = device_.receives.context =
        &device_.context;
    device_.context.async_fd = ::eventfd(0, EFD_NONBLOCK);
    device_.channel.fd = ::eventfd(0, EFD_NONBLOCK);
    device_.context.ops.poll_cq = take_completions;
    device_.context.ops.post_send = post_send;
    device_.context.ops.post_recv = post_receive;
    device_.context.ops.post_srq_recv = [](ibv_srq*, ibv_recv_wr*, ibv_recv_wr**) { return 0; };
    devices[lid] = &device_;
    Choice choice;
    choice.port.device = device_.device.name;
    choice.port.active = true;
    std::string why_not;
    auto device = Device::open(memory_api(), choice, kCompletions, why_not);
    INFO(why_not);
    REQUIRE(device != nullptr);
    link =
        std::make_unique<VerbsLink>(VerbsOptions{}, identity_, sink, counters, std::move(device));
    REQUIRE(link->open(why_not));
    AddressWriter writer(identity_);
    link->publish(writer);
    bytes_ = std::move(writer).finish();
    link->set_own_address(without_key(bytes_));
  }
  ~Process() {
    link.reset();
    devices.erase(device_.lid);
    ::close(device_.context.async_fd);
    ::close(device_.channel.fd);
  }
  Address address() const { return Address::parse(bytes_).value(); }
  bool sends() {
    return link->send(0, Meta{FrameType::message, 0, 0}, nullptr, 0) == SendStatus::sent;
  }

  Sink sink;
  Counters counters;
  std::unique_ptr<VerbsLink> link;

 private:
  const Identity identity_;
  MemoryDevice device_;
  std::vector<std::byte> bytes_;
};

constexpr int kBuffersForOne = 60;
constexpr int kPolls = 100;  // without a pause: far below the timeout for replies

}  // namespace

TEST_CASE("verbs: a request for a connection that cannot be made is refused", "[verbs]") {
  const bool has_room = GENERATE(true, false);
  const bool has_other_link = GENERATE(true, false);
  Process responder(1, has_room ? kBuffersForOne : kBuffersForOne / 2);
  Process requester(2, kBuffersForOne);
  requester.sink.has_other_link = has_other_link;
  std::string why_not;
  REQUIRE(requester.link->connect(0, responder.address(), why_not));
  bool is_open = false;
  for (int i = 0; i < kPolls; ++i) {
    requester.link->poll();
    responder.link->poll();
    is_open = is_open || requester.sends();
  }
  CHECK(is_open == has_room);
  REQUIRE(requester.sink.unanswered.size() == (has_room ? 0 : 1));
  CHECK(requester.sink.broken.size() == (has_room || has_other_link ? 0 : 1));
  CHECK(responder.sink.broken.empty());
  if (has_room) return;
  CHECK(requester.sink.unanswered.front().find("the peer has no room for a connection") !=
        std::string::npos);
  CHECK(responder.counters.get(Counter::frames_dropped) != 0);
}

}  // namespace lfc::verbs
#endif
