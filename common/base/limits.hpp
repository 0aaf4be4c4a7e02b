// Limits: all limits in one place: frames, windows of credits, slots, pools, names, and the
// defaults of parameters.
//
//   if (packet.size() > limits::kCollPacket) ...
//   std::uint32_t initial_window = limits::kInitialWindow;   // a parameter's default
//
// Each is declared with its name, the smallest value with which everything must work, and the one in use. In the
// normal build only the latter exists, as a constant to the compiler. The small-world build
// (`-DLFC_SMALL_WORLD=ON`) draws all of them by a seed (base/small_world.hpp), so that numbers wrap, pools are full and
// frames lack one run in every test. Limits on which several processes must agree are the same in all of them.
// Sizes are bytes. A limit that is part of a layout in memory or on the wire stays a constant where it is used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef LFC_SMALL_WORLD
#include "base/small_world.hpp"
#endif

namespace lfc::limits {

#ifdef LFC_SMALL_WORLD
using small_world::limit;
using small_world::power;
#else
consteval std::uint64_t limit(std::string_view, std::uint64_t, std::uint64_t normal) {
  return normal;
}
// For values that must be a power of two.
consteval std::uint64_t power(std::string_view, std::uint64_t, std::uint64_t normal) {
  return normal;
}
#endif

// --- Credits and the host's queue ---

inline const std::uint32_t kInitialWindow = limit("initial_window", 1, 8);  // of a new peer
inline const std::uint32_t kMaximumWindow =
    std::max<std::uint64_t>(kInitialWindow, limit("max_window", 1, 64));  // of a peer
inline const std::uint64_t kWindowCap = limit("window_cap", 1, 4096);     // of all peers together
inline const std::uint32_t kPiggyback = limit("piggyback", 1, 255);  // credits in a frame: 8 bits
// Bytes of messages kept for a host that is away, and buffers kept for the next ones.
inline const std::size_t kQueueMemory = limit("queue_memory", 1, 16 << 20);
inline const std::size_t kQueueSpares = limit("queue_spares", 1, 64);
// Bytes of free memory for packets that services send or keep.
inline const std::size_t kPacketSpares = limit("packet_spares", 1, 4 << 20);

// --- Links shm and loop ---

inline const std::uint32_t kRingSlots = power("ring_slots", 16, 64);
inline const std::uint32_t kRingBulk = power("ring_bulk", 4096, 256 * 1024);
inline const std::uint32_t kRingPayload =
    std::min<std::uint64_t>(limit("ring_payload", 632, 64 * 1024), kRingBulk / 4);
inline const int kShmFramesPerPoll = limit("shm_frames_per_poll", 1, 64);
// Frames before the next place has its turn.
inline const int kShmFramesPerPlace = limit("shm_frames_per_place", 1, 16);
// For a get with replies in frames: the smallest piece that is worth a frame.
inline const std::size_t kGetPiece = limit("get_piece", 64, 8 * 1024);
inline const int kLoopFramesPerPoll = limit("loop_frames_per_poll", 1, 64);

// --- Link tcp ---

// Largest frame. With its prefix it is one unit of segmentation offload, as the kernel passes it to the interface. That
// is 64 KiB less headers, rounded down to whole segments at MTU 1500 and 9000. A larger frame costs half again as much
// for each byte.
inline const std::size_t kTcpPayload = limit("tcp_payload", 632, 61 * 1024);
// A message of 64 KiB, which many programs send, with its headers. The few bytes beyond a unit cost less than the
// round trip that they save.
inline const std::size_t kTcpMessage =
    std::max<std::uint64_t>(limit("tcp_message", 632, 64 * 1024 + 256), kTcpPayload);
// Largest frame of a service whose bytes are read straight into their final place. Such a frame may exceed a unit at no
// loss, and fewer frames mean fewer system calls.
inline const std::size_t kTcpPlaced =
    std::max<std::uint64_t>(limit("tcp_placed", 632, 128 * 1024 + 24), kTcpMessage);
// Bytes that are read before the place of the bytes behind them is known.
inline const std::size_t kTcpAhead = limit("tcp_ahead", 64, 8 * 1024);
// Bytes of the smallest frame that may be kept in the buffer of its connection, and buffers of a connection that may be
// kept so. Other frames are copied.
inline const std::size_t kTcpLent = limit("tcp_lent", 1, 16 * 1024);
inline const std::size_t kTcpLentBuffers = limit("tcp_lent_buffers", 1, 4);
inline constexpr std::size_t kLargestTcpSegment = 256 * 1024;
// Bytes in one put or get_data.
inline const std::size_t kTcpSegment = limit("tcp_segment", 64, kLargestTcpSegment);
// Puts and gets that one side may have under way on a connection, and gets among them.
inline const std::uint32_t kTcpOperations = limit("tcp_operations", 1, 1024);
inline const std::uint32_t kTcpGets = limit("tcp_gets", 1, 64);
// Small frames may join a backlog until it has this many bytes.
inline const std::size_t kTcpBacklog = limit("tcp_backlog", 1, 16 * 1024);
// Bytes of frames that a connection batches, so that they leave together.
inline const std::size_t kTcpBatch = limit("tcp_batch", 1, 48 * 1024);
// For each connection and poll: frames delivered, bytes read and written.
inline const int kTcpFramesPerPoll = limit("tcp_frames_per_poll", 1, 64);
inline const std::size_t kTcpBulkPerPoll = limit("tcp_bulk_per_poll", 1, 1024 * 1024);
inline const std::ptrdiff_t kTcpFlush = limit("tcp_flush", 1, 1024 * 1024);
inline const std::size_t kTcpActive = limit("tcp_active", 1, 4);  // connections read directly
// Unauthenticated connections at a time; more wait in the kernel.
inline const std::size_t kTcpUnauthenticated = limit("tcp_unauthenticated", 1, 256);

// --- Link verbs ---

// Bytes of a receive buffer; a larger frame takes several buffers and is put together.
inline const std::size_t kVerbsPiece = limit("verbs_piece", 160, 8 * 1024);
inline const std::uint32_t kVerbsWindow =
    limit("verbs_window", 24, 32);  // pieces that a peer may send
inline const std::size_t kVerbsPayload = limit("verbs_payload", 632, 61 * 1024);

// --- Bonds of several links ---

// Unacknowledged frames and bytes of one stream; those of control frames come on top.
inline const std::size_t kBondFrames = limit("bond_frames", 2, 1024);
inline const std::size_t kBondBytes = limit("bond_bytes", 128 * 1024, 896 * 1024);
inline const std::size_t kBondControlFrames = limit("bond_control_frames", 1, 1024);
// Received before the peer gets an acknowledgement: well before it has to wait.
inline const std::int32_t kBondAckFrames =
    std::min<std::uint64_t>(limit("bond_tell_frames", 1, 128), kBondFrames);
inline const std::size_t kBondAckBytes =
    std::min<std::uint64_t>(limit("bond_tell_bytes", 1, 128 * 1024), kBondBytes / 2);
inline const std::size_t kBondSpread = limit("bond_spread", 1, 16 * 1024);
inline const std::size_t kBondLargestChunk = limit("bond_largest_chunk", 8192, 256 * 1024);
inline const std::size_t kBondSmallestChunk =
    std::min<std::uint64_t>(limit("bond_smallest_chunk", 4096, 64 * 1024), kBondLargestChunk);
inline const std::uint32_t kBondDepth = limit("bond_depth", 1, 3);  // chunks under way on a rail
inline const std::size_t kBondTransfers = limit("bond_transfers", 1, 1024);

// --- Multicast and ordered broadcast ---

// Bytes of packets for groups that have not been joined; the first packets of each come early, from each child.
inline const std::size_t kMulticastEarly =
    limit("multicast_early", 1 << 20, std::uint64_t{64} << 20);
inline const std::uint32_t kOrderedWindow = limit("ordered_window", 4, 256);  // packets
inline const std::size_t kOrderedPacket = limit("ordered_packet", 64, 4096);

// --- Collectives ---

inline const std::size_t kCollPacket = limit("coll_packet", 256, 60 * 1024);
inline const std::size_t kCollWindow = limit("coll_window", 64 * 1024, 8 * 1024 * 1024);
inline const std::uint64_t kCollSlots = limit("coll_slots", 2, 32);  // steps of a board at a time
inline const std::uint64_t kCollRooms =
    std::min<std::uint64_t>(limit("coll_rooms", 2, 8), kCollSlots);  // likewise, with more bytes
// For steps over a board only: small enough to be copied in while others copy out.
inline const std::size_t kCollLocalChunk = limit("coll_local_chunk", 64, 32 * 1024);
// Blocks that a rank gives to its local peers go over the board if each has at most these bytes. Larger ones are read
// from the rank's own memory.
inline const std::size_t kCollRow = limit("coll_row", 16, 4 * 1024);
// Up to this many bytes in all lanes, all ranks combine everything.
inline const std::size_t kCollDirect = limit("coll_direct", 1, 16 * 1024);
// Packets of one operation that may wait in the NI.
inline const std::uint32_t kCollUnsent = limit("coll_unsent", 1, 16);
// Operations of a communicator that run at a time.
inline const std::uint64_t kCollBeside = limit("coll_beside", 1, 32);
// Chunks that a leader may have contributed and not got back.
inline const std::uint64_t kCollAhead = limit("coll_ahead", 1, 16);
inline constexpr std::size_t kMostCollBoards = 16384;
inline const std::size_t kCollBoards = limit("coll_boards", 256, kMostCollBoards);

// --- Windows ---

// Bytes of a frame; larger ones gain nothing more. The smallest holds a head, a run and two elements.
inline const std::size_t kWindowFrame = limit("window_frame", 136, 64 * 1024);
inline const std::uint32_t kWindowBits = limit("window_bits", 8, 20);  // of a window's name
// From this size on, the link's put and get are used.
inline const std::uint64_t kWindowNative = limit("window_native", 64, 32 * 1024);
// Bytes of the largest put or accumulate that joins others in one frame, of such a frame, and of all that are open.
inline const std::uint64_t kWindowSmall = limit("window_small", 8, 512);
inline const std::size_t kWindowSmallBundle = 1024;
inline const std::size_t kWindowBundle = limit("window_bundle", 72, 64 * 1024);
inline const std::size_t kWindowBundles = limit("window_bundles", 1, 4 * 1024 * 1024);
// Bytes of the largest bundle that a link copies by itself. It takes less than 0.1 ms.
inline const std::size_t kWindowCopies = limit("window_copies", 72, 16 * 1024);
// Operations towards one target that are described here; a call that makes another one waits.
inline const std::uint32_t kWindowWaiting = limit("window_waiting", 1, 1024);

// --- NEON ---

// A multiple of 64, so that frames do not cut aligned words (services/neon/protocol/runs.hpp).
inline const std::uint32_t kNeonFrame = limit("neon_frame", 64, 16384) / 64 * 64;
inline const std::uint32_t kNeonEager = limit("neon_eager", 1, 16384);
inline const std::uint32_t kNeonBudget = std::max<std::uint64_t>(
    limit("neon_budget", 128, 1 << 16), std::uint64_t{kNeonFrame} + 64);  // kOverhead
// Buffers of a rank that local peers find in mapped memory, and bytes of the largest put that is copied under the lock.
inline const std::size_t kNeonEntries = power("neon_entries", 1, 1024);
inline const std::uint64_t kNeonCopy = limit("neon_copy", 1, 64 * 1024);
inline const std::uint32_t kNeonWindowBits = limit("neon_window_bits", 8, 20);
// Bytes of the smallest notified put that the link may write with its notification. A smaller one is one frame, which
// is one request as well, and its bytes are the program's again when it has been sent.
inline const std::size_t kNeonWritten = limit("neon_written", 16, 4096);
inline const std::size_t kNeonReceives = limit("neon_receives", 1, 16);  // buffers, emulated
inline const std::size_t kNeonSends = limit("neon_sends", 1, 64);
// Frames to a rank, of which the last requests an acknowledgement; twice as many may be under way. Emulated.
inline const int kNeonPace = static_cast<int>(limit("neon_pace", 1, 32));

// --- Push ---

// The largest message; a larger one gains nothing. Fragments are as large as frames, because each costs a system call
// at both ends. The share limits a peer's bytes that were not fetched, and so the bytes under way that the receiver has
// not acknowledged.
inline const std::size_t kPushMessage = limit("push_message", 512, 256 * 1024);
inline const std::size_t kPushFragment = limit("push_fragment", 64, 60 * 1024);
inline const std::size_t kPushShare =
    std::max<std::uint64_t>(limit("push_share", 512, 1024 * 1024), kPushMessage);

// --- btl lfc ---

// Bytes of a message that is sent at once; of a fragment of a larger one; of one piece of a put or get.
inline const std::size_t kEagerMessage = limit("eager_message", 256, 48 * 1024);
inline const std::size_t kLargestMessage =
    std::max<std::uint64_t>(kEagerMessage, limit("largest_message", 512, 64 * 1024 + 256));
inline const std::size_t kPipelineFragment = limit("pipeline_fragment", 4096, 1024 * 1024);
inline const std::uint32_t kPeerFragments = limit("peer_fragments", 1, 128);

}  // namespace lfc::limits
