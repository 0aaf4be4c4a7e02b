/* Numbers: the operations and results that C and C++ share.
 *
 *   if (result != LFC_OK) complain("the peer is gone, or its memory");
 *
 * The enumerations of C++ with the same meaning (lfc::Result, lfc::Access, lfc::AtomicOp, lfc::WindowStatus,
 * lfc::Flavor, lfc::partitioned::Status) take their values from these, so a conversion changes nothing. The numbers of
 * atomics travel on the wire.
 */
#ifndef LFC_NUMBERS_H
#define LFC_NUMBERS_H

#include <stdint.h>

/* The value of a peer's number that means no peer. */
#define LFC_NO_PEER UINT32_MAX

/* The room of a component for its counters: how many they may be, and the bytes of a line that shows them all. */
enum { LFC_MOST_COUNTERS = 64, LFC_COUNTERS_LINE = 3072 };

/* The result of a message or of an operation on remote memory. */
enum lfc_result {
  LFC_OK,
  LFC_UNREACHABLE, /* the peer failed or the link broke */
  LFC_BAD_ADDRESS, /* outside the registered region, or the region is gone */
  LFC_NOT_SUPPORTED
};

/* The operations of peers on registered memory that are permitted. */
enum lfc_access { LFC_READ = 1, LFC_WRITE = 2, LFC_ATOMIC = 4 };

enum lfc_atomic {
  LFC_ADD,
  LFC_AND,
  LFC_OR,
  LFC_XOR,
  LFC_SWAP,
  LFC_MIN,
  LFC_MAX,
  LFC_CSWAP /* compare and swap */
};

/* The result of a call on a window. */
enum lfc_rma_status {
  LFC_RMA_OK,
  LFC_RMA_SYNC,      /* no epoch, or the wrong one */
  LFC_RMA_RANGE,     /* outside the target's memory */
  LFC_RMA_TRUNCATED, /* more bytes than the other side has room for */
  LFC_RMA_LOST,      /* a member of the window has failed */
  LFC_RMA_INVALID,   /* operation and type do not fit, or not attached */
  LFC_RMA_NO_MEMORY
};
enum lfc_rma_flavor { LFC_RMA_CREATE, LFC_RMA_ALLOCATE, LFC_RMA_SHARED, LFC_RMA_DYNAMIC };

/* The result of an epoch of a partitioned request. */
enum lfc_part_status { LFC_PART_OK, LFC_PART_TRUNCATED, LFC_PART_LOST };

/* The state of a persistent receive that was posted to the matching below. */
enum lfc_channel_outcome { LFC_CHANNEL_PENDING, LFC_CHANNEL_MATCHED, LFC_CHANNEL_CANCELLED };

#endif
