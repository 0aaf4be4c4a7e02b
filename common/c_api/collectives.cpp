#include "lfc/collectives.h"

#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "c_api/process_state.hpp"
#include "engine/process_ni.hpp"
#include "services/collective/collectives.hpp"

namespace {

// Null: they are not open.
lfc::Collectives* collectives() noexcept { return lfc::process_state().collectives.service; }

// Whether the call ends at once, with `status`, because it has no bytes.
bool is_nothing(const lfc_coll_call& call, lfc_coll_status& status) noexcept {
  status = call.mismatch ? LFC_COLL_MISMATCH : LFC_COLL_OK;
  return call.bytes == 0 && lfc::traits_of(call).skipped_if_empty;
}

// A CollOperation in the caller's room, with the caller's `done`.
struct Started : lfc::CollOperation {
  using CollOperation::CollOperation;
  lfc_coll_done callback = nullptr;
  lfc_coll_communicator* communicator = nullptr;
};
static_assert(sizeof(Started) <= sizeof(lfc_coll_operation));

void call_back(lfc::CollOperation* operation) {
  auto* const started = static_cast<Started*>(operation);
  const lfc_coll_done callback = started->callback;
  const lfc_coll_status status = started->status;
  collectives()->finished(*started->communicator, status);
  std::destroy_at(started);
  callback(reinterpret_cast<lfc_coll_operation*>(operation), status);
}

}  // namespace

const void* lfc_coll_open(const lfc_coll_options* options, size_t* size) {
  try {
    lfc::process_state().collectives.service = new lfc::Collectives(*options);
  } catch (const std::exception&) {
    *size = 0;
    return nullptr;
  }
  *size = sizeof(lfc::Facts);
  return &collectives()->processes().facts();
}

void lfc_coll_close(void) { lfc::process_state().collectives.close(); }

bool lfc_coll_start_service(bool threads) {
  if (collectives() == nullptr) return false;
  const std::shared_ptr<lfc::Ni> ni = lfc::process_ni();
  lfc::process_state().collectives.ni = ni;
  if (ni != nullptr) collectives()->start_service(ni->services(), ni->host(), threads);
  return ni != nullptr;
}

bool lfc_coll_knows(lfc_coll_process process) {
  return collectives()->processes().knows({process.job, process.rank});
}

void lfc_coll_introduce(lfc_coll_process process, const void* facts, size_t facts_size,
                        const void* address, size_t address_size) {
  if (collectives() == nullptr || lfc_coll_knows(process)) return;
  collectives()->processes().introduce({process.job, process.rank},
                                       {static_cast<const std::byte*>(facts), facts_size},
                                       {static_cast<const std::byte*>(address), address_size});
}

void* lfc_coll_copy_address(lfc_coll_process process, size_t* size) {
  return collectives() == nullptr
             ? nullptr
             : collectives()->processes().copy_address({process.job, process.rank}, *size);
}

lfc_coll_communicator* lfc_coll_join(lfc_coll_key key, const lfc_coll_process* processes, int count,
                                     int self, lfc_coll_use use, char* why, size_t why_size) {
  std::string why_not;
  lfc_coll_communicator* made = nullptr;
  try {
    made = collectives()->join(key, processes, count, self, use, why_not);
  } catch (const std::exception& failure) {
    why_not = failure.what();
  }
  if (made == nullptr) std::snprintf(why, why_size, "%s", why_not.c_str());
  return made;
}

uint32_t lfc_coll_most_communicators(void) {
  return static_cast<uint32_t>(lfc::limits::kCollBoards);
}

void lfc_coll_watch(lfc_coll_communicator* communicator, lfc_coll_fault fault, const void* host) {
  communicator->watch.set_fault_query(fault, host);
}

void lfc_coll_leave(lfc_coll_communicator* communicator) {
  communicator->watch.set_fault_query(nullptr, nullptr);
  collectives()->leave(communicator);
}
void lfc_coll_leave_rest(void) { collectives()->leave_rest(); }

unsigned lfc_coll_reach(const lfc_coll_communicator* communicator) { return communicator->found; }

bool lfc_coll_combine_on_node(const lfc_coll_communicator* communicator, uint32_t* word) {
  try {
    const std::optional<std::uint32_t> combined =
        collectives()->combine_on_node(*communicator, *word);
    if (combined) *word = *combined;
    return combined.has_value();
  } catch (const std::exception&) {
    return false;  // there is no memory, and this rank has not been counted: the others give up as well
  }
}

bool lfc_coll_agree(lfc_coll_communicator* communicator, unsigned found) {
  communicator->agreed = found;
  return communicator->is_served();
}
void lfc_coll_agree_for_job(unsigned found) { collectives()->agree_for_job(found); }
bool lfc_coll_agree_as_job(lfc_coll_communicator* communicator) {
  return collectives()->agree_as_job(*communicator);
}
bool lfc_coll_serves(const lfc_coll_communicator* communicator) {
  return communicator->is_served();
}

bool lfc_coll_combines(lfc_op op, lfc_element type) {
  return lfc::number_combiner(
             {static_cast<lfc::Accumulate>(op), static_cast<lfc::Element>(type)}) != nullptr;
}

lfc_coll_status lfc_coll_run(lfc_coll_communicator* communicator, const lfc_coll_call* call) {
  lfc_coll_status status;
  return is_nothing(*call, status) ? status : collectives()->run(*communicator, *call);
}

bool lfc_coll_try(lfc_coll_communicator* communicator, const lfc_coll_call* call,
                  lfc_coll_status* status) {
  if (is_nothing(*call, *status)) return true;
  *status = LFC_COLL_OK;
  return collectives()->try_run(*communicator, *call);
}

void lfc_coll_start(lfc_coll_communicator* communicator, const lfc_coll_call* call,
                    lfc_coll_operation* room, lfc_coll_done done) {
  lfc_coll_status status;
  if (is_nothing(*call, status)) {
    done(room, status);
    return;
  }
  auto* const operation = new (room) Started(*call);
  operation->callback = done;
  operation->communicator = communicator;
  operation->done = call_back;
  collectives()->start(*communicator, *operation);
}

int lfc_coll_progress(void) { return collectives() == nullptr ? 0 : collectives()->progress(); }

unsigned lfc_coll_nodes(const lfc_coll_communicator* communicator) {
  return communicator->communicator.members().nodes();
}

bool lfc_coll_reads_memory(const lfc_coll_communicator* communicator) {
  return collectives()->reads_memory(*communicator);
}

bool lfc_coll_meets_neighbours(const lfc_coll_communicator* communicator) {
  return collectives()->reads_memory(*communicator) &&
         (communicator->agreed & LFC_COLL_UNLIMITED) != 0;
}

lfc_coll_neighbours* lfc_coll_meet(lfc_coll_communicator* communicator,
                                   const lfc_coll_topology* topology) {
  try {
    return communicator->communicator.meet(*topology).release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void lfc_coll_part_from(lfc_coll_neighbours* neighbours) { delete neighbours; }

bool lfc_coll_exchanges(const lfc_coll_communicator* communicator, lfc_coll_kind kind,
                        size_t bytes) {
  return communicator->communicator.exchanges(kind, bytes);
}

void lfc_coll_describe(char* text, size_t size) {
  *text = '\0';
  if (collectives() != nullptr) collectives()->describe(text, size);
}
