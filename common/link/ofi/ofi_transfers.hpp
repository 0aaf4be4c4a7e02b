// OfiTransfers: puts and gets under way over libfabric, each one chunk at a time.
//
//   Link::Start started = transfers.start(request, operation);     // OfiTransfers::Request: what, whose, where
//   ...
//   transfers.completed(transfer);        // a completion with this context arrived
//
// A put has finished when the target's memory has changed (PutProof). When a connection breaks, its transfers call back
// at once. Their objects stay until the provider has released them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "link/link.hpp"
#include "link/ofi/ofi_buffers.hpp"
#include "link/ofi/ofi_fabric.hpp"

namespace lfc {

struct Transfer : OfiContext {
  Transfer() noexcept : OfiContext(Kind::transfer) {}

  enum class Stage : std::uint8_t { idle, waiting, in_flight };
  Stage stage = Stage::idle;
  bool put = false;
  bool proving = false;  // the bytes are out, and are being read back
  std::uint32_t slot = 0;
  fi_addr_t peer = FI_ADDR_UNSPEC;
  std::byte* local = nullptr;
  void* descriptor = nullptr;
  FidPtr<fid_mr> registration;  // for memory that the caller has not registered
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  std::size_t left = 0;
  std::size_t chunk = 0;
  Operation* operation = nullptr;  // null: called back already
};

class OfiTransfers {
 public:
  bool open(OfiFabric& fabric, PutProof proof, std::string& why_not);
  // True: puts can be proven.
  bool can_put() const noexcept { return proof_ != PutProof::none; }

  bool register_memory(void* data, std::size_t size, LinkRegion& out);
  void deregister_memory(LinkRegion& region) noexcept;

  struct Request {
    bool put;
    std::uint32_t slot;
    fi_addr_t peer;
    std::byte* local;
    const LinkRegion& local_region;
    std::uint64_t address;
    const LinkRegion& remote_region;
    std::size_t size;
  };
  Link::Start start(const Request& request, Operation* operation) noexcept;
  void completed(Transfer& transfer) noexcept;
  void failed(Transfer& transfer, Result result) noexcept;
  // Calls back all transfers over this connection with `unreachable`.
  void fail_connection(std::uint32_t slot) noexcept;
  // Tries again the chunks that the provider did not take. True: no such chunk is left.
  bool retry() noexcept;

 private:
  // Passes the next chunk to the provider.
  ssize_t issue(Transfer& transfer) noexcept;
  // Issues the next chunk, waits for room, or finishes with an error.
  void proceed(Transfer& transfer) noexcept;
  void finish(Transfer& transfer, Result result) noexcept;
  void recycle(Transfer& transfer) noexcept;

  OfiFabric* fabric_ = nullptr;
  PutProof proof_ = PutProof::none;
  std::size_t largest_chunk_ = 0;
  RegisteredMemory scratch_;  // destination of the bytes that are read back
  std::vector<Transfer> transfers_;
  std::vector<Transfer*> free_;
  std::size_t waiting_ = 0;
};

}  // namespace lfc
