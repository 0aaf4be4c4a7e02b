/* Numbers: what operations are called and how they end, in C and in C++.
 *
 *   if (result != LFC_OK) complain("the peer is gone, or its memory");
 *
 * The enumerations of C++ that say the same (lfc::Result, lfc::Access, lfc::AtomicOp, lfc::WindowStatus, lfc::Flavor,
 * lfc::partitioned::Status) are made of these, so that a conversion changes nothing. Those of atomics travel on the
 * wire.
 */
#ifndef LFC_NUMBERS_H
#define LFC_NUMBERS_H

#include <stdint.h>

/* Where a peer is named: none. */
#define LFC_NO_PEER UINT32_MAX

/* How an operation on remote memory, or a message, ended. */
enum lfc_result {
  LFC_OK,
  LFC_UNREACHABLE, /* the peer died or the link broke */
  LFC_BAD_ADDRESS, /* outside the registered region, or the region is gone */
  LFC_NOT_SUPPORTED
};

/* What peers may do to registered memory. */
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

/* How a call on a window ended. */
enum lfc_rma_status {
  LFC_RMA_OK,
  LFC_RMA_SYNC,      /* no epoch, or the wrong one */
  LFC_RMA_RANGE,     /* outside the target's memory */
  LFC_RMA_TRUNCATED, /* more bytes than the other side has room for */
  LFC_RMA_LOST,      /* a member of the window is gone */
  LFC_RMA_INVALID,   /* operation and type do not fit, or not attached */
  LFC_RMA_NO_MEMORY
};
enum lfc_rma_flavor { LFC_RMA_CREATE, LFC_RMA_ALLOCATE, LFC_RMA_SHARED, LFC_RMA_DYNAMIC };

/* How an epoch of a partitioned request ended. */
enum lfc_part_status { LFC_PART_OK, LFC_PART_TRUNCATED, LFC_PART_LOST };

/* What became of a persistent receive that was posted to the matching below. */
enum lfc_channel_outcome { LFC_CHANNEL_PENDING, LFC_CHANNEL_MATCHED, LFC_CHANNEL_CANCELLED };

#endif
