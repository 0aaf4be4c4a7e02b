#include "conformance/kinds.hpp"

#include <cstdio>
#include <thread>

#include "deadline.hpp"
#include "link/bond/bond_link.hpp"
#include "link/loop/loop_link.hpp"
#include "link/ofi/ofi_link.hpp"
#include "link/shm/shm_link.hpp"
#include "link/sim/sim_fabric.hpp"
#include "link/tcp/pairs.hpp"
#include "link/tcp/tcp_link.hpp"
#ifdef LFC_VERBS
#include "link/verbs/verbs_link.hpp"
#endif
#include "published.hpp"

namespace lfc {
namespace {

// Links that find each other by their addresses alone.
class Free final : public Medium {
 public:
  using Make = std::unique_ptr<Link> (*)(const std::string& provider, End& end,
                                         std::string& why_not);
  explicit Free(Make make, std::string provider = {})
      : make_(make), provider_(std::move(provider)) {}
  std::unique_ptr<Link> make_link(End& end, std::string& why_not) override {
    return make_(provider_, end, why_not);
  }

 private:
  Make make_;
  std::string provider_;
};

class Simulated final : public Medium {
 public:
  explicit Simulated(const SimOptions& options) : fabric_(options) {}
  std::unique_ptr<Link> make_link(End& end, std::string&) override {
    return fabric_.make_link(end, end.counters);
  }
  void tick() override { fabric_.advance(); }

 private:
  SimFabric fabric_;
};

std::unique_ptr<Link> make_loop(const std::string&, End& end, std::string& why_not) {
  return make_loop_link({}, end.identity, end, why_not);
}

std::unique_ptr<Link> make_shm(const std::string&, End& end, std::string& why_not) {
  return make_shm_link({}, end, why_not);
}

std::unique_ptr<Link> make_shm_without_cma(const std::string&, End& end, std::string& why_not) {
  ShmOptions options;
  options.cma = false;
  return make_shm_link(options, end, why_not);
}

std::unique_ptr<Link> make_tcp(const std::string&, End& end, std::string& why_not) {
  std::vector<Interface> chosen;
  if (!select_interfaces("127.0.0.1", list_interfaces(), chosen, why_not)) return nullptr;
  TcpOptions options;
  options.interface = chosen.front();
  return make_tcp_link(options, end.identity, end, end.counters, why_not);
}

// Two rails of tcp: over two loopback addresses; or `strands` over the same one, where the second carries chunks only.
std::unique_ptr<Link> make_bond(const std::string& what, End& end, std::string& why_not) {
  std::vector<Interface> chosen;
  if (!select_interfaces("127.0.0.1", list_interfaces(), chosen, why_not)) return nullptr;
  const bool strands = what == "strands";
  BondOptions bond_options;
  if (strands) bond_options.pair = tcp::pair_addresses;
  auto bond = make_bond_link(bond_options, end, end.counters);
  for (const char* name : {"tcp", "tcp1"}) {
    TcpOptions options;
    options.name = name;
    options.strand = strands ? static_cast<unsigned>(bond->rails()) : 0;
    options.interface = chosen.front();
    auto rail = make_tcp_link(options, end.identity, bond->rail_sink(), end.counters, why_not);
    if (rail == nullptr) return nullptr;
    bond->add_rail(name, std::move(rail), options.strand == 0 ? RailUse::all : RailUse::chunks);
    if (!strands) chosen.front().address.bytes[3] = 2;  // 127.0.0.2
  }
  return bond;
}

std::unique_ptr<Link> make_ofi(const std::string& provider, End& end, std::string& why_not) {
  OfiOptions options;
  options.provider = provider;
  options.interfaces = list_interfaces();
  if (!provider.starts_with("verbs")) options.interface = "127.0.0.1";  // no device is there
  return make_ofi_link(options, end.identity, end, end.counters, why_not);
}

#ifdef LFC_VERBS
std::unique_ptr<Link> make_verbs(const std::string&, End& end, std::string& why_not) {
  VerbsOptions options;
  options.interfaces = list_interfaces();
  return make_verbs_link(options, end.identity, end, end.counters, why_not);
}
#endif

Kind free_kind(const char* name, Free::Make make) {
  return {name, [make] { return std::make_unique<Free>(make); }};
}

Kind sim_kind(const char* name, bool remote_memory, std::size_t notified_puts = 0) {
  SimOptions options;
  options.max_payload = 4096;
  options.remote_memory = remote_memory;
  options.notified_puts = notified_puts;
  return {name, [options] { return std::make_unique<Simulated>(options); }};
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> list{sim_kind("sim", false), sim_kind("sim+rma", true),
                           sim_kind("sim+notified", true, 1u << 20)};
    list.push_back(free_kind("loop", make_loop));
    list.back().to_itself = true;
    list.push_back(free_kind("shm", make_shm));
    list.push_back(free_kind("shm-cma", make_shm_without_cma));
    list.push_back(free_kind("tcp", make_tcp));
    list.push_back(free_kind("bond", make_bond));
    list.push_back({"bond:strands", [] { return std::make_unique<Free>(make_bond, "strands"); }});
#ifdef LFC_VERBS
    list.push_back(free_kind("verbs", make_verbs));
#endif
    for (const std::string& provider : ofi_providers()) {
      if (provider == kHangingOfiProvider) {
        std::printf(
            "conformance: ofi:%s is not judged: it waits for a whole header in a full "
            "connection\n",
            provider.c_str());
        continue;
      }
      Kind kind{"ofi:" + provider,
                [provider] { return std::make_unique<Free>(make_ofi, provider); }};
      if (provider == "shm")
        kind.exceptions = {
            {Clause::end_is_noticed, "libfabric reads the memory of an endpoint that is gone"},
            {Clause::many_may_flood, "libfabric ends a flood with FI_ENOMEM"}};
      if (provider == "verbs;ofi_rxm")
        kind.exceptions = {{Clause::end_is_noticed, "ofi_rxm connects again and again"}};
      if (provider == "udp;ofi_rxd")
        kind.exceptions = {{Clause::end_is_noticed, "datagrams to nobody just vanish"}};
      list.push_back(std::move(kind));
    }
    return list;
  }();
  return all;
}

// --- End ---

void End::on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) {
  ++frame_count;
  if (!payload.empty() && reinterpret_cast<std::uintptr_t>(payload.data()) % 8 != 0)
    offences.emplace_back("a payload is not aligned to 8 bytes");
  bool known = false;
  for (const auto& [rank, id] : ids) known = known || id == peer;
  if (!known) offences.push_back("a frame of the unknown peer " + std::to_string(peer));
  if (keep_frames) frames.push_back({peer, meta, {payload.begin(), payload.end()}});
  if (on_each) on_each(peer, meta, payload);
}

PeerId End::on_connect(Link& from, const Address& caller) {
  if (&from != link.get()) offences.emplace_back("on_connect names another link");
  if (refuse) return kNoPeer;
  const auto [entry, fresh] = ids.try_emplace(caller.identity().name.rank, next_id);
  if (fresh) ++next_id;
  ++connected[entry->second];
  return entry->second;
}

void End::on_broken(PeerId peer, Link& from, std::string_view why) {
  last_why = why;
  if (&from != link.get()) offences.emplace_back("on_broken names another link");
  ++broken[peer];
}

// --- Lan ---

Lan::Lan(const Kind& kind, int ends) : kind_(kind), medium_(kind.make_medium()) {
  if (kind.to_itself) ends = 1;
  for (int end = 0; end < ends; ++end) {
    End& made = *ends_.emplace_back(std::make_unique<End>());
    const auto rank = static_cast<std::uint32_t>(end);
    made.identity = {{1, rank}, 0x4711u + rank, 8};
    made.next_id = rank * 2;  // so that the two sides know each other by different numbers
  }
}

Lan::~Lan() {
  for (auto& end : ends_) end->link.reset();
}

bool Lan::keeps(Clause clause) const {
  const auto exception = kind_.exceptions.find(clause);
  if (exception == kind_.exceptions.end()) return true;
  std::printf("conformance: %s is excused: %s\n", kind_.name.c_str(), exception->second.c_str());
  return false;
}

bool Lan::open() {
  for (auto& end : ends_) {
    end->link = medium_->make_link(*end, why_not);
    if (end->link == nullptr) return false;
  }
  for (auto& end : ends_) {
    end->address = Address::parse(publish(*end->link, end->identity));
  }
  return true;
}

PeerId Lan::id(int end, int peer) {
  End& at = (*this)[end];
  const auto [entry, fresh] = at.ids.try_emplace(static_cast<std::uint32_t>(peer), at.next_id);
  if (fresh) ++at.next_id;
  return entry->second;
}

void Lan::forget(int end, int peer) { (*this)[end].ids.erase(static_cast<std::uint32_t>(peer)); }

bool Lan::connect(int end, int peer) {
  End& at = (*this)[end];
  return at.link->reach(*(*this)[peer].address, why_not) &&
         at.link->connect(id(end, peer), *(*this)[peer].address, why_not);
}

void Lan::poll() {
  medium_->tick();
  int events = 0;
  for (auto& end : ends_)
    if (end->link) events += end->link->poll();
  if (events == 0) std::this_thread::yield();
}

bool Lan::poll_until(const std::function<bool()>& condition, std::chrono::seconds limit) {
  Deadline deadline(limit);
  while (!condition()) {
    poll();
    if (deadline.is_over()) return false;
  }
  return true;
}

SendStatus Lan::try_send(int end, int peer, Meta meta, const void* data, std::size_t size) {
  const Slice slice{data, size};
  return (*this)[end].link->send(id(end, peer), meta, &slice, 1);
}

bool Lan::send(int end, int peer, Meta meta, const Slice* slices, int count) {
  SendStatus status = SendStatus::again;
  poll_until([&] {
    status = (*this)[end].link->send(id(end, peer), meta, slices, count);
    return status != SendStatus::again;
  });
  return status == SendStatus::sent;
}

bool Lan::send(int end, int peer, Meta meta, const void* data, std::size_t size) {
  const Slice slice{data, size};
  return send(end, peer, meta, &slice, 1);
}

std::string Lan::describe() {
  std::string out;
  for (auto& end : ends_) {
    out += "end " + std::to_string(end->identity.name.rank) +
           ": frames=" + std::to_string(end->frame_count) +
           " connects=" + std::to_string(end->connected.size()) +
           " broken=" + std::to_string(end->broken.size()) +
           " dropped=" + std::to_string(end->counters.get(Counter::frames_dropped)) +
           (end->last_why.empty() ? "" : " (" + end->last_why + ")") + "\n";
    for (const std::string& offence : end->offences) out += "  " + offence + "\n";
  }
  return out;
}

}  // namespace lfc
