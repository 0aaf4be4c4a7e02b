#include "lfc/partitioned.h"

#include <array>
#include <exception>

#include "c_api/process_state.hpp"
#include "engine/ni.hpp"
#include "services/partitioned/partitioned.hpp"
#include "stats/counter_room.hpp"

// Only a name: the pointer is one to an lfc::partitioned::Request.
struct lfc_part_request;

namespace {

using lfc::Partitioned;
using Totals = lfc::partitioned::Totals;

lfc::ProcessState::PartitionedState& state() noexcept { return lfc::process_state().partitioned; }

// Null: it is not open.
Partitioned* partitioned() noexcept { return state().service; }

struct CounterRow {
  const char *name, *help;
  std::uint64_t Totals::*which;
};
constexpr std::array kCounters{
    CounterRow{"sends", "partitioned sends made", &Totals::sends},
    CounterRow{"receives", "partitioned receives made", &Totals::receives},
    CounterRow{"sent_epochs", "starts of partitioned sends that have ended well",
               &Totals::sent_epochs},
    CounterRow{"received_epochs", "starts of partitioned receives that have ended well",
               &Totals::received_epochs},
    CounterRow{"frames", "frames that carried partitions, sent", &Totals::frames},
    CounterRow{"bytes", "bytes of partitions, sent", &Totals::bytes},
    CounterRow{"direct_bytes",
               "bytes of partitions written to the receiver's memory, beside frames",
               &Totals::direct_bytes},
    CounterRow{"early", "frames that came before their receive was started", &Totals::early},
};
static_assert(sizeof(Totals) == kCounters.size() * sizeof(std::uint64_t));
static_assert(lfc::has_room_for(kCounters));

lfc::partitioned::Request& of(lfc_part_request* request) noexcept {
  return *reinterpret_cast<lfc::partitioned::Request*>(request);
}

lfc_part_request* to_c(lfc::partitioned::Request& request) noexcept {
  return reinterpret_cast<lfc_part_request*>(&request);
}

lfc::partitioned::Sending& sending(lfc_part_request* request) noexcept {
  return static_cast<lfc::partitioned::Sending&>(of(request));
}
lfc::partitioned::Receiving& receiving(lfc_part_request* request) noexcept {
  return static_cast<lfc::partitioned::Receiving&>(of(request));
}

lfc::partitioned::Key key_of(const lfc_part_shape& shape) noexcept {
  return {shape.peer, shape.comm, shape.tag};
}

}  // namespace

extern "C" {

bool lfc_part_open(const lfc_part_host* from) try {
  state().host = *from;
  const lfc::partitioned::Host callbacks{
      [](void* owner, lfc::partitioned::Status status, std::uint64_t bytes) {
        state().host.done(owner, static_cast<lfc_part_status>(status), bytes);
      },
      from->dropped};
  return state().open(
      [&](lfc::Ni& ni) { return new Partitioned(ni.services(), ni.remote(), callbacks); });
} catch (const std::exception&) {
  return false;
}

void lfc_part_close(void) { state().close(); }

lfc_part_request* lfc_part_send(const lfc_part_shape* shape, const void* data, void* owner) try {
  return to_c(partitioned()->offer(key_of(*shape), owner, static_cast<const std::byte*>(data),
                                   shape->partitions, shape->bytes));
} catch (const std::exception&) {
  return nullptr;
}

lfc_part_request* lfc_part_receive(const lfc_part_shape* shape, void* place, void* owner) try {
  return to_c(partitioned()->expect(key_of(*shape), owner, static_cast<std::byte*>(place),
                                    shape->partitions, shape->bytes));
} catch (const std::exception&) {
  return nullptr;
}

bool lfc_part_start(lfc_part_request* request) try {
  if (of(request).sends)
    partitioned()->start(sending(request));
  else
    partitioned()->start(receiving(request));
  return true;
} catch (const std::exception&) {
  return false;
}

bool lfc_part_ready(lfc_part_request* request, uint64_t first, uint64_t last) try {
  return partitioned()->ready(sending(request), first, last);
} catch (const std::exception&) {
  return false;
}

bool lfc_part_arrived(lfc_part_request* request, uint64_t first, uint64_t last) {
  return partitioned()->arrived(receiving(request), first, last);
}

int lfc_part_progress(void) {
  if (partitioned() != nullptr) partitioned()->progress();
  return 0;
}

bool lfc_part_release(lfc_part_request* request) { return partitioned()->release(of(request)); }

size_t lfc_part_counter_count(void) { return kCounters.size(); }
const char* lfc_part_counter_name(size_t which) { return kCounters[which].name; }
const char* lfc_part_counter_help(size_t which) { return kCounters[which].help; }
uint64_t lfc_part_counter(size_t which) {
  return partitioned() == nullptr ? 0 : partitioned()->totals().*kCounters[which].which;
}

}  // extern "C"
