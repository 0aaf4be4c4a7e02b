#include "emulation.hpp"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <span>

#include "base/limits.hpp"
#include "drain.hpp"
#include "mpix_neon.h"
#include "ompi_glue.h"

namespace lfc::neon {
namespace {

const Limits kLimits{
    .frame = limits::kNeonFrame, .eager = limits::kNeonEager, .budget = limits::kNeonBudget};
const std::size_t kBufferSize = sizeof(Header) + kLimits.frame;

std::uint32_t size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return static_cast<std::uint32_t>(size);
}

}  // namespace

Emulation::Emulation(MPI_Comm comm, const Exposure& memory)
    : comm_(comm),
      memory_(memory),
      neon_(size_of(comm), kLimits, *this),
      sent_(size_of(comm)),
      paced_(std::make_unique<bool[]>(size_of(comm))) {
  for (Buffer& each : receives_) receive(each);
  for (Buffer& each : sends_) idle_.push_back(&each);
}

Emulation::~Emulation() {
  for (Buffer& each : receives_) {
    if (each.request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&each.request);
    MPI_Wait(&each.request, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&comm_);
}

int Emulation::level() const { return MPIX_NEON_EMULATED; }

void Emulation::receive(Buffer& buffer) {
  if (buffer.bytes == nullptr) buffer.bytes = std::make_unique<std::byte[]>(kBufferSize);
  MPI_Irecv(buffer.bytes.get(), static_cast<int>(kBufferSize), MPI_BYTE, MPI_ANY_SOURCE, 0, comm_,
            &buffer.request);
}

bool Emulation::has_room(Rank to) {
  const auto has_none = [&] { return idle_.empty() || (is_next_synchronous(to) && paced_[to]); };
  if (closing_) return true;
  if (has_none()) reap();
  return !has_none();
}

bool Emulation::send(Rank to, const Header& header, std::span<const std::byte> list,
                     std::span<const std::byte> data) {
  if (closing_) return true;
  if (!has_room(to)) return false;
  const bool synchronous = is_next_synchronous(to);
  Buffer& buffer = *idle_.back();
  if (buffer.bytes == nullptr) buffer.bytes = std::make_unique<std::byte[]>(kBufferSize);
  join_frame(buffer.bytes.get(), header, list, data);
  const std::size_t size = sizeof header + list.size() + data.size();
  if ((synchronous ? MPI_Issend : MPI_Isend)(buffer.bytes.get(), static_cast<int>(size), MPI_BYTE,
                                             static_cast<int>(to), 0, comm_,
                                             &buffer.request) != MPI_SUCCESS)
    return false;
  ++sent_[to];
  buffer.paces = synchronous ? &paced_[to] : nullptr;
  paced_[to] = paced_[to] || synchronous;
  if (take_sent(buffer)) return true;
  idle_.pop_back();
  under_way_.push_back(&buffer);
  return true;
}

// False: it is still under way.
bool Emulation::take_sent(Buffer& buffer) {
  if (!lfc_request_is_complete(buffer.request)) return false;
  MPI_Wait(&buffer.request, MPI_STATUS_IGNORE);
  if (buffer.paces != nullptr) *buffer.paces = false;
  return true;
}

// Takes back the buffers of frames that have been sent.
void Emulation::reap() {
  for (std::size_t i = 0; i < under_way_.size();) {
    Buffer& buffer = *under_way_[i];
    if (!take_sent(buffer)) {
      ++i;
      continue;
    }
    idle_.push_back(&buffer);
    under_way_[i] = under_way_.back();
    under_way_.pop_back();
  }
}

int Emulation::poll() {
  constexpr int kBatch = 64;
  int events = 0;
  for (; events < kBatch; ++events) {
    Buffer& buffer = receives_[next_receive_];
    if (buffer.request == MPI_REQUEST_NULL || !lfc_request_is_complete(buffer.request)) break;
    MPI_Status status;
    int count = 0;
    MPI_Wait(&buffer.request, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    const auto from = static_cast<Rank>(status.MPI_SOURCE);
    const auto size = static_cast<std::size_t>(count);
    Header header;
    ++received_;
    if (size >= sizeof header) std::memcpy(&header, buffer.bytes.get(), sizeof header);
    if (size < sizeof header ||
        !neon_.on_frame(from, header, buffer.bytes.get() + sizeof header, size - sizeof header)) {
      std::fprintf(stderr, "mpix_neon: rank %u breaks the protocol; nothing more of it is taken\n",
                   from);
      neon_.on_lost(from);
    }
    receive(buffer);
    next_receive_ = (next_receive_ + 1) % limits::kNeonReceives;
  }
  if (!under_way_.empty()) reap();
  if (neon_.stalled()) neon_.pump();
  return events;
}

void Emulation::close() {
  if (closing_) return;
  drain(
      comm_, sent_,
      [&] {
        const std::lock_guard guard(lock_);
        poll();
        closing_ = under_way_.empty() && !neon_.stalled();
        return closing_;
      },
      [&] {
        const std::lock_guard guard(lock_);
        poll();
        return received_;
      },
      lfc_progress);
}

}  // namespace lfc::neon
