/* Settings for the examples in common/lfc (scripts/checks/examples): the types of their variables.
 * Nothing here is ever run. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lfc/channels.h"
#include "lfc/collective_call.h"
#include "lfc/collectives.h"
#include "lfc/elements.h"
#include "lfc/exchange.h"
#include "lfc/messages.h"
#include "lfc/notices.h"
#include "lfc/numbers.h"
#include "lfc/parameters.h"
#include "lfc/partitioned.h"
#include "lfc/peers.h"
#include "lfc/plan.h"
#include "lfc/recording.h"
#include "lfc/windows.h"
#include "lfc/words.h"

void allgather(const void* part, size_t size, void* all);
void complain(const char* why);
void note_that_it_waits(void* request);
void send_otherwise(void);

void channels(const struct lfc_channel_host host, uint32_t index, size_t capacity,
              struct lfc_channel_request* request, void* frame, size_t size, uint32_t peer,
              const void* data) {
#include "common/lfc/channels.h.example"
}

void plan(const char* file, int ranks, uint64_t comm, char why[80], void (*tell)(const char*)) {
#include "common/lfc/plan.h.example"
}

void collective_call(void* buffer) {
#include "common/lfc/collective_call.h.example"
}

void collectives(const struct lfc_coll_options options, size_t size, bool threads,
                 const struct lfc_coll_process* processes, int count, int self, const void* facts,
                 const void* address, struct lfc_coll_key key, char why[80],
                 const struct lfc_coll_call call) {
#include "common/lfc/collectives.h.example"
}

void words(void) {
#include "common/lfc/words.h.example"
}

void elements(void) {
#include "common/lfc/elements.h.example"
}

struct fragment {
  lfc_message message;
};
void messages(const struct lfc_options options, const struct lfc_host host, char text[80],
              const void* address, size_t size, char why[80], void* endpoint, uint8_t tag,
              const struct lfc_slice* slices, struct fragment* fragment) {
#include "common/lfc/messages.h.example"
}

void notices(uint32_t job, const char* text) {
#include "common/lfc/notices.h.example"
}

void numbers(enum lfc_result result) {
#include "common/lfc/numbers.h.example"
}

void parameters(char text[80]) {
#include "common/lfc/parameters.h.example"
}

void partitioned(const struct lfc_part_host host, uint32_t job, uint32_t rank, uint32_t key,
                 int tag, uint64_t n, uint64_t each, const void* data, void* owner) {
#include "common/lfc/partitioned.h.example"
}

void exchange(uint32_t job, uint32_t rank, const void* bytes, size_t count) {
#include "common/lfc/exchange.h.example"
}

void peers(uint32_t job, uint32_t rank, const void* address, size_t size, char why[80]) {
#include "common/lfc/peers.h.example"
}

void recording(const struct lfc_recorded operation, size_t bytes, bool in_one_piece, int rank,
               int node, int ranks) {
  char title[80];
#include "common/lfc/recording.h.example"
}

void windows(const struct lfc_rma_host host, size_t bytes, uint32_t me, uint32_t n, void* all,
             const uint32_t* peers, const bool* local_peers, uint32_t target,
             const struct lfc_rma_view origin, const struct lfc_rma_view there) {
  bool mapped = false;
  char why[80];
#include "common/lfc/windows.h.example"
}
