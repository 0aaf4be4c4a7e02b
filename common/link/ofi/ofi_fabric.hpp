// OfiFabric: a chosen provider and the libfabric objects of one endpoint, opened and enabled.
//
//   std::unique_ptr<OfiFabric> fabric = OfiFabric::open(options, why_not);
//   fi_cq_read(fabric->cq(), entries, 8);
//
// It opens the named provider, or else the first that opens among those with hardware below (verbs, psm3, efa, cxi,
// opx), then those over TCP (net, tcp, tcp;ofi_rxm). Others serve only when named: shm and sm2 stay on the node,
// udp;ofi_rxd and sockets are for tests.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "link/interfaces.hpp"
#include "link/ofi/ofi_link.hpp"

namespace lfc {

template <class Fid>
struct FidCloser {
  void operator()(Fid* fid) const noexcept { fi_close(&fid->fid); }
};
template <class Fid>
using FidPtr = std::unique_ptr<Fid, FidCloser<Fid>>;

struct InfoFreer {
  void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using InfoPtr = std::unique_ptr<fi_info, InfoFreer>;

// ProviderTraits: properties of a provider that libfabric does not report.
struct ProviderTraits {
  bool listens_tcp;         // its address is one that a TCP socket listens on
  bool node_only;           // it never leaves the node
  bool frees_early;         // flags a multi-receive buffer free while frames still arrive in it
  bool in_order;            // frames of one peer always complete in order
  std::size_t eager_limit;  // larger frames overtake one another; 0: its inject size
  PutProof put_proof;
};
ProviderTraits traits_of(std::string_view provider) noexcept;

class OfiFabric {
 public:
  ~OfiFabric();
  OfiFabric(const OfiFabric&) = delete;
  OfiFabric& operator=(const OfiFabric&) = delete;
  static std::unique_ptr<OfiFabric> open(const OfiOptions& options, std::string& why_not);

  std::string_view provider() const noexcept { return info_->fabric_attr->prov_name; }
  const ProviderTraits& traits() const noexcept { return traits_; }
  const fi_info& info() const noexcept { return *info_; }
  fid_domain* domain() const noexcept { return domain_.get(); }
  fid_ep* ep() const noexcept { return ep_.get(); }
  fid_av* av() const noexcept { return av_.get(); }
  fid_cq* cq() const noexcept { return cq_.get(); }
  // Set for providers over IP.
  const std::optional<Interface>& local() const noexcept { return local_; }
  // Returns the endpoint's name, to be inserted in a peer's address vector.
  std::span<const std::byte> name() const noexcept { return name_; }
  std::size_t frame_size() const noexcept { return frame_size_; }
  bool has(std::uint64_t capability) const noexcept { return (info_->caps & capability) != 0; }
  bool needs(int mr_mode) const noexcept { return (info_->domain_attr->mr_mode & mr_mode) != 0; }

  // Registers memory; null on failure, with libfabric's error in `error`.
  FidPtr<fid_mr> register_memory(const void* data, std::size_t size, std::uint64_t access,
                                 int& error) noexcept;
  // To be called before the memory that the provider uses is freed.
  void close_endpoint() noexcept { ep_.reset(); }

 private:
  OfiFabric(InfoPtr info, std::optional<Interface> local);
  bool choose_frame_size(const OfiOptions& options, std::string& why_not);
  bool open_objects(std::string& why_not);

  InfoPtr info_;
  std::optional<Interface> local_;
  ProviderTraits traits_;
  std::size_t frame_size_ = 0;
  std::uint64_t next_key_ = 1;
  FidPtr<fid_fabric> fabric_;
  FidPtr<fid_domain> domain_;
  FidPtr<fid_av> av_;
  FidPtr<fid_cq> cq_;
  FidPtr<fid_ep> ep_;
  std::vector<std::byte> name_;
};

}  // namespace lfc
