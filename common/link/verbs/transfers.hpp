// Transfers: puts and gets under way over verbs, each one chunk at a time.
//
// A put is a write and, behind its last chunk, a read of its last byte. The end of the write proves that the other
// device has the bytes, but not that its memory has them. A read of the same queue pair is served after the write, from
// the memory. A get is a read. A put with a notification is a write with immediate data alone, of one chunk: the
// target's device reports it after the bytes are in memory. The device limits the reads under way (max_rd_atomic).
//
//   Link::Start started = transfers.start(request, operation);   // Transfers::Request
//   transfers.ended(*work.transfer, ok);                  // its completion
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "link/link.hpp"
#include "link/verbs/buffers.hpp"
#include "link/verbs/connection.hpp"

namespace lfc::verbs {

struct Transfer {
  enum class Stage : std::uint8_t { idle, waiting, in_flight };
  Stage stage = Stage::idle;
  bool put = false;
  Connection* connection = nullptr;
  std::byte* local = nullptr;
  std::uint32_t local_key = 0;
  Handle<ibv_mr> registration;  // of memory that the caller has not registered
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::optional<std::uint32_t> notification;  // immediate data
  std::size_t left = 0;
  std::size_t chunk = 0;
  Operation* operation = nullptr;
};

class Transfers {
 public:
  // `outstanding` counts the work requests of all connections.
  Transfers(Device& device, std::uint32_t& outstanding) noexcept
      : device_(device), outstanding_(outstanding) {}
  bool open(std::size_t inline_size, std::string& why_not);

  void register_memory(void* data, std::size_t size, LinkRegion& out);
  void deregister_memory(LinkRegion& region) noexcept;

  struct Request {
    bool put;
    Connection& connection;
    std::byte* local;
    const LinkRegion& local_region;
    std::uint64_t address;
    const LinkRegion& remote_region;
    std::size_t size;
    std::optional<std::uint32_t> notification = {};  // of a put
  };
  Link::Start start(const Request& request, Operation* operation);
  // Ends or continues the transfer whose chunk's last work request has completed.
  void ended(Transfer& transfer, Result result);
  // Ends the transfers that wait for room on this connection.
  void cancel_waiting(const Connection& connection);
  // Tries the waiting transfers again.
  void retry();
  // From now on no transfer calls back.
  void forget_callers() noexcept;

 private:
  enum class Issue : std::uint8_t { done, no_room, failed };
  Issue issue(Transfer& transfer);
  Issue post(Connection& connection, ibv_send_wr& request, const Work& work, bool more) noexcept;
  void proceed(Transfer& transfer);
  void finish(Transfer& transfer, Result result);

  Device& device_;
  std::uint32_t& outstanding_;
  std::size_t inline_ = 0;
  std::size_t largest_chunk_ = 0;
  Slab scratch_;  // destination of the reads that prove puts
  std::vector<Transfer> transfers_;
  std::vector<Transfer*> free_;
  std::size_t waiting_ = 0;
};

}  // namespace lfc::verbs
