#include "link/ofi/ofi_fabric.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "wire/frame.hpp"

namespace lfc {
namespace {

constexpr std::uint32_t kApi = FI_VERSION(1, 15);
// A hello carries a whole process address.
constexpr std::size_t kSmallestFrame = sizeof(Header) + 16 + kMaxAddress;
constexpr std::size_t kEagerEverywhere = 4096;

constexpr std::array<std::string_view, 6> kHardware = {"cxi",  "efa",  "opx",
                                                       "psm3", "psm2", "verbs"};
constexpr std::array<std::string_view, 3> kOverTcp = {"net", "tcp", "tcp;ofi_rxm"};

std::string_view core_of(std::string_view provider) noexcept {
  return provider.substr(0, provider.find(';'));
}

bool is_ip(std::uint32_t format) noexcept {
  return format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

InfoPtr make_hints(std::string_view provider, std::uint64_t caps) {
  InfoPtr hints(fi_allocinfo());
  if (!hints) return hints;
  hints->caps = caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  // The NI lets one thread at a time into its links, and drives progress itself.
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  if (!provider.empty()) hints->fabric_attr->prov_name = ::strdup(std::string(provider).c_str());
  return hints;
}

// Sets variables that libfabric reads at its first call. Values that the user has set prevail.
void prepare_libfabric() noexcept {
  // ofi_rxm posts a receive anew while it closes the connection of that receive, and over verbs
  // crashes, unless connections share their receives (libfabric 1.17 to 2.4).
  [[maybe_unused]] static const int share = ::setenv("FI_OFI_RXM_USE_SRX", "1", 0);
  // Open MPI caches registrations and must be notified of memory that is given back. libfabric's own cache would
  // replace that hook, and cached registrations would lead to pages of other allocations.
  [[maybe_unused]] static const int one_cache = ::setenv("FI_MR_CACHE_MONITOR", "disabled", 0);
}

// Returns the whole list, because libfabric frees a list as one.
InfoPtr query(const fi_info* hints) {
  prepare_libfabric();
  fi_info* list = nullptr;
  if (hints == nullptr || fi_getinfo(kApi, nullptr, nullptr, 0, hints, &list) != 0) return nullptr;
  return InfoPtr(list);
}

std::vector<std::string> names_in(const fi_info* list) {
  std::vector<std::string> names;
  for (; list != nullptr; list = list->next)
    if (std::find(names.begin(), names.end(), list->fabric_attr->prov_name) == names.end())
      names.emplace_back(list->fabric_attr->prov_name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

// Returns the names in `present` that serve by default, the best first.
std::vector<std::string> defaults(const std::vector<std::string>& present) {
  std::vector<std::string> order;
  for (const std::string_view core : kHardware)
    for (const std::string& name : present)
      if (core_of(name) == core) order.push_back(name);
  for (const std::string_view wanted : kOverTcp)
    if (std::find(present.begin(), present.end(), wanted) != present.end())
      order.emplace_back(wanted);
  return order;
}

// Returns the entry of a list that leaves through `local` (over IP) or belongs to `domain`.
const fi_info* find_entry(const fi_info* list, const std::optional<Interface>& local,
                          const std::string& domain) noexcept {
  for (; list != nullptr; list = list->next) {
    if (is_ip(list->addr_format)) {
      const auto ip = IpAddress::from(static_cast<const sockaddr*>(list->src_addr));
      if (local && ip && *ip == local->address) return list;
    } else if (domain.empty() || domain == list->domain_attr->name) {
      return list;
    }
  }
  return nullptr;
}

}  // namespace

ProviderTraits traits_of(std::string_view provider) noexcept {
  const std::string_view core = core_of(provider);
  const bool over_rxm = provider.ends_with(";ofi_rxm");
  const bool over_rxd = provider.ends_with(";ofi_rxd");
  const bool tcp = core == "net" || core == "tcp" || core == "sockets";
  ProviderTraits traits{};
  traits.listens_tcp = tcp;
  traits.node_only = core == "shm" || core == "sm2";
  // Each connection is given a slice of the buffer when the first bytes of a frame arrive. The buffer counts as free
  // when its last slice is full, and slices of other connections may not be. ofi_rxm hands its buffers to tcp
  // (FI_OFI_RXM_ENABLE_DYN_RBUF).
  traits.frees_early = tcp || over_rxd;
  traits.in_order = tcp && !over_rxm;  // one byte stream per peer
  traits.eager_limit = over_rxm ? 16384 : over_rxd ? 0 : tcp ? SIZE_MAX : kEagerEverywhere;
  // verbs takes FI_DELIVERY_COMPLETE from ofi_rxm and ignores it: its completion means that the other adapter has the
  // bytes. A read on the same connection is served after them.
  traits.put_proof = core == "verbs" ? PutProof::read_back : PutProof::delivery_complete;
  return traits;
}

std::vector<std::string> ofi_providers() {
  return names_in(query(make_hints("", FI_MSG).get()).get());
}

OfiFabric::OfiFabric(InfoPtr info, std::optional<Interface> local)
    : info_(std::move(info)), local_(std::move(local)), traits_(traits_of(provider())) {}

OfiFabric::~OfiFabric() = default;

std::unique_ptr<OfiFabric> OfiFabric::open(const OfiOptions& options, std::string& why_not) {
  std::vector<std::string> wanted{options.provider};
  if (options.provider.empty()) {
    const std::vector<std::string> present = ofi_providers();
    wanted = defaults(present);
    if (wanted.empty()) {
      why_not =
          "no libfabric provider that serves by default is present (there are: " + joined(present) +
          ")";
      return nullptr;
    }
  }

  std::optional<Interface> local;
  std::string no_interface;
  std::vector<Interface> chosen;
  if (select_interfaces(options.interface, options.interfaces, chosen, no_interface))
    local = chosen.front();

  std::string reasons;
  for (const std::string& name : wanted) {
    const auto refuse = [&](const std::string& why) {
      reasons += (reasons.empty() ? "" : "; ") + name + ": " + why;
    };
    // Leaves out capabilities that it lacks, the least important first.
    const fi_info* entry = nullptr;
    InfoPtr list;
    for (const std::uint64_t extra : {FI_RMA | FI_MULTI_RECV, FI_RMA, FI_MULTI_RECV, 0ull}) {
      list = query(make_hints(name, FI_MSG | extra).get());
      entry = find_entry(list.get(), local, options.domain);
      if (entry != nullptr) break;
    }
    if (!list && !options.provider.empty()) {
      why_not = "libfabric has no provider \"" + options.provider +
                "\" with reliable datagrams (there are: " + joined(ofi_providers()) + ")";
      return nullptr;
    }
    if (entry == nullptr) {
      const bool ip = list && is_ip(list->addr_format);
      refuse(!list    ? "not usable"
             : !ip    ? "has no domain \"" + options.domain + "\""
             : !local ? no_interface
                      : "does not serve " + local->address.text());
      continue;
    }
    const bool over_ip = is_ip(entry->addr_format);
    std::unique_ptr<OfiFabric> fabric(
        new OfiFabric(InfoPtr(fi_dupinfo(entry)), over_ip ? local : std::nullopt));
    std::string why;
    if (fabric->choose_frame_size(options, why) && fabric->open_objects(why)) return fabric;
    refuse(why);
  }
  why_not = reasons;
  return nullptr;
}

bool OfiFabric::choose_frame_size(const OfiOptions& options, std::string& why_not) {
  const std::size_t limit =
      traits_.eager_limit != 0 ? traits_.eager_limit : info_->tx_attr->inject_size;
  frame_size_ =
      std::min({options.frame_size, limit, info_->ep_attr->max_msg_size}) & ~std::size_t{7};
  if (frame_size_ >= kSmallestFrame) return true;
  why_not = "frames of " + std::to_string(frame_size_) + " bytes are too small, at least " +
            std::to_string(kSmallestFrame) + " are needed";
  return false;
}

bool OfiFabric::open_objects(std::string& why_not) {
  const auto failed = [&](const char* what, ssize_t error) {
    why_not = std::string(what) + ": " + fi_strerror(static_cast<int>(-error));
    return false;
  };
  fid_fabric* fabric = nullptr;
  if (const int error = fi_fabric(info_->fabric_attr, &fabric, nullptr))
    return failed("fi_fabric", error);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int error = fi_domain(fabric, info_.get(), &domain, nullptr))
    return failed("fi_domain", error);
  domain_.reset(domain);

  fi_av_attr av_attr{};
  av_attr.type = FI_AV_TABLE;
  fid_av* av = nullptr;
  if (const int error = fi_av_open(domain, &av_attr, &av, nullptr))
    return failed("fi_av_open", error);
  av_.reset(av);
  fi_cq_attr cq_attr{};
  cq_attr.size = 1024;
  cq_attr.format = FI_CQ_FORMAT_DATA;
  cq_attr.wait_obj = FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  if (const int error = fi_cq_open(domain, &cq_attr, &cq, nullptr))
    return failed("fi_cq_open", error);
  cq_.reset(cq);

  fid_ep* ep = nullptr;
  if (const int error = fi_endpoint(domain, info_.get(), &ep, nullptr))
    return failed("fi_endpoint", error);
  ep_.reset(ep);
  if (const int error = fi_ep_bind(ep, &av->fid, 0)) return failed("fi_ep_bind", error);
  if (const int error = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV))
    return failed("fi_ep_bind", error);
  if (const int error = fi_enable(ep)) return failed("fi_enable", error);
  // After fi_enable(): the shm provider of libfabric 1.17 crashes before.
  if (has(FI_MULTI_RECV)) {
    const std::size_t smallest = frame_size_;
    const int error =
        fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &smallest, sizeof smallest);
    if (error != 0) return failed("fi_setopt", error);
  }

  std::size_t size = 0;
  fi_getname(&ep->fid, nullptr, &size);
  name_.resize(size);
  if (const int error = fi_getname(&ep->fid, name_.data(), &size))
    return failed("fi_getname", error);
  name_.resize(size);
  return true;
}

FidPtr<fid_mr> OfiFabric::register_memory(const void* data, std::size_t size, std::uint64_t access,
                                          int& error) noexcept {
  fid_mr* mr = nullptr;
  // Without FI_MR_PROV_KEY the key is ours to choose.
  error = fi_mr_reg(domain(), data, size, access, 0, next_key_++, 0, &mr, nullptr);
  if (error != 0) return nullptr;
  FidPtr<fid_mr> owner(mr);
  if (needs(FI_MR_ENDPOINT)) {
    error = fi_mr_bind(mr, &ep_->fid, 0);
    if (error == 0) error = fi_mr_enable(mr);
    if (error != 0) return nullptr;
  }
  return owner;
}

}  // namespace lfc
