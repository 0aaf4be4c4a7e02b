/* Recording: the messages that a program sends and expects, counted for perf/tailor
 * (common/services/channels/protocol/recording.hpp).
 *
 *   lfc_recording_open();
 *   lfc_recording_note(&operation, bytes, in_one_piece);             for each of the program's calls
 *   char* text = lfc_recording_text(rank, node);                     the rank's share of the file, to be freed
 *   lfc_recording_title(ranks, text, sizeof text);                   the first lines of the file
 *
 * Threads: one.
 */
#ifndef LFC_RECORDING_H
#define LFC_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* With their words in the file. */
#define LFC_RECORDED_KINDS(ROW)        \
  ROW(LFC_RECORDED_SEND, "send")       \
  ROW(LFC_RECORDED_RECEIVE, "receive") \
  ROW(LFC_RECORDED_PROBE, "probe")
enum lfc_recorded_kind { LFC_RECORDED_KINDS(LFC_VALUE) };
#define LFC_RECORDED_MODES(ROW)                \
  ROW(LFC_RECORDED_STANDARD, "standard")       \
  ROW(LFC_RECORDED_READY, "ready")             \
  ROW(LFC_RECORDED_SYNCHRONOUS, "synchronous") \
  ROW(LFC_RECORDED_BUFFERED, "buffered")
enum lfc_recorded_mode { LFC_RECORDED_MODES(LFC_VALUE) };

/* One kind of call; equal calls are counted together. */
struct lfc_recorded {
  enum lfc_recorded_kind kind;
  enum lfc_recorded_mode mode; /* of a send */
  bool persistent;
  uint64_t comm; /* the same number at all its ranks, and in another run of the program */
  int32_t comm_size;
  int32_t peer, tag; /* peer: a rank of MPI_COMM_WORLD; -1 is any */
};

/* Opens the recording of the process. Returns false if memory is short. */
bool lfc_recording_open(void);
/* Frees the recording. */
void lfc_recording_close(void);
/* Counts one call; `bytes` is the size of the message or of the receive buffer. Skips it if memory is short. */
void lfc_recording_note(const struct lfc_recorded* operation, size_t bytes, bool in_one_piece);
/* Returns this rank's share of the file, which the caller frees, or NULL if memory is short. */
char* lfc_recording_text(int rank, int node);
/* Writes the first lines of the file. */
void lfc_recording_title(int ranks, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
