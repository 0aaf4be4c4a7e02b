// Send modes and matching calls: synchronous, buffered and ready sends; probe, iprobe, mprobe and
// improbe; cancelled receives.
#include "check.h"

enum { kLargest = 200000, kGo = 90 };

static unsigned char out[kLargest], in[kLargest];
static const int sizes[] = {0, 1, 900, 4050, 5000, 60000, kLargest};
enum { kSizes = sizeof sizes / sizeof *sizes };

// A synchronous send must not complete before its receive has been posted.
static void synchronous(int to, int from) {
  for (int i = 0; i < kSizes; ++i) {
    MPI_Request send, receive;
    int flag = 0, go = 0;
    fill(out, (size_t)sizes[i], key_of(me, to, (uint64_t)i));
    MPI_Issend(out, sizes[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &send);
    for (int poll = 0; poll < 50; ++poll) {
      MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
      require(!flag, "peer %d: a synchronous send of %d bytes completed without a receive", to,
              sizes[i]);
    }
    // Notifies `from` that this rank has probed, and waits for the same notification, so that no rank receives too
    // early.
    doing("ssend %d bytes: go from %d", sizes[i], to);
    MPI_Sendrecv(&go, 1, MPI_INT, from, kGo, &go, 1, MPI_INT, to, kGo, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    doing("ssend %d bytes: to %d, from %d", sizes[i], to, from);
    // The peer's probe is over only when its notification has come as well.
    MPI_Sendrecv(&go, 1, MPI_INT, to, kGo, &go, 1, MPI_INT, from, kGo, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Irecv(in, sizes[i], MPI_BYTE, from, i, MPI_COMM_WORLD, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    verify(in, (size_t)sizes[i], key_of(from, me, (uint64_t)i), from);
  }
}

static void buffered(int to, int from) {
  int room = 0;
  for (int i = 0; i < kSizes; ++i) room += sizes[i] + MPI_BSEND_OVERHEAD;
  void* buffer = allocate((size_t)room);
  for (int round = 0; round < 5; ++round) {
    doing("bsend round %d: to %d, from %d", round, to, from);
    MPI_Buffer_attach(buffer, room);
    for (int i = 0; i < kSizes; ++i) {
      fill(out, (size_t)sizes[i], key_of(me, to, (uint64_t)(round * kSizes + i)));
      MPI_Bsend(out, sizes[i], MPI_BYTE, to, i, MPI_COMM_WORLD);  // `out` is ours again at once
    }
    for (int i = kSizes - 1; i >= 0; --i) {
      MPI_Recv(in, sizes[i], MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      verify(in, (size_t)sizes[i], key_of(from, me, (uint64_t)(round * kSizes + i)), from);
    }
    doing("bsend round %d: detach", round);
    MPI_Buffer_detach(&buffer, &room);
  }
  free(buffer);
}

static void ready(int to, int from) {
  for (int i = 0; i < kSizes; ++i) {
    MPI_Request receive;
    doing("rsend %d bytes: barrier", sizes[i]);
    MPI_Irecv(in, sizes[i], MPI_BYTE, from, i, MPI_COMM_WORLD, &receive);
    fill(out, (size_t)sizes[i], key_of(me, to, (uint64_t)i + 50));
    MPI_Barrier(MPI_COMM_WORLD);
    doing("rsend %d bytes: to %d, from %d", sizes[i], to, from);
    MPI_Rsend(out, sizes[i], MPI_BYTE, to, i, MPI_COMM_WORLD);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    verify(in, (size_t)sizes[i], key_of(from, me, (uint64_t)i + 50), from);
  }
}

static void probes(int to, int from) {
  for (int i = 0; i < kSizes; ++i)
    for (int way = 0; way < 4; ++way) {
      MPI_Request send;
      MPI_Status status;
      MPI_Message message = MPI_MESSAGE_NULL;
      // Each round has its own tag, because a neighbour may be some rounds ahead.
      const int tag = 20 + i * 4 + way;
      int flag = 0, count = -1;
      doing("probe way %d: %d bytes from %d", way, sizes[i], from);
      fill(out, (size_t)sizes[i], key_of(me, to, (uint64_t)(i * 4 + way)));
      MPI_Isend(out, sizes[i], MPI_BYTE, to, tag, MPI_COMM_WORLD, &send);
      MPI_Iprobe(from, 777, MPI_COMM_WORLD, &flag, &status);
      require(!flag, "peer %d: iprobe found a message of a tag nobody used", from);
      switch (way) {
        case 0: MPI_Probe(from, tag, MPI_COMM_WORLD, &status); break;
        case 1:
          while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
          break;
        case 2: MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status); break;
        default:
          while (!flag) MPI_Improbe(from, tag, MPI_COMM_WORLD, &flag, &message, &status);
      }
      MPI_Get_count(&status, MPI_BYTE, &count);
      require(count == sizes[i] && status.MPI_SOURCE == from && status.MPI_TAG == tag,
              "peer %d: probe way %d says %d bytes, source %d, tag %d", from, way, count,
              status.MPI_SOURCE, status.MPI_TAG);
      if (message != MPI_MESSAGE_NULL) {
        // A matched message is out of reach for any other receive.
        MPI_Iprobe(from, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        require(!flag, "peer %d: a matched message was seen again", from);
        MPI_Mrecv(in, count, MPI_BYTE, &message, &status);
      } else {
        MPI_Recv(in, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
      }
      MPI_Wait(&send, MPI_STATUS_IGNORE);
      verify(in, (size_t)count, key_of(from, me, (uint64_t)(i * 4 + way)), from);
    }
}

// A cancelled receive takes no message; the next receive of the same tag does.
static void cancelled(int to, int from) {
  for (int round = 0; round < 20; ++round) {
    MPI_Request receive;
    MPI_Status status;
    int flag = 0, value = -1;
    doing("cancel round %d", round);
    MPI_Irecv(&value, 1, MPI_INT, from, 30, MPI_COMM_WORLD, &receive);
    MPI_Cancel(&receive);
    MPI_Wait(&receive, &status);
    MPI_Test_cancelled(&status, &flag);
    require(flag, "a receive that nothing matched was not cancelled");
    MPI_Barrier(MPI_COMM_WORLD);  // no rank sends before all have cancelled
    MPI_Sendrecv(&round, 1, MPI_INT, to, 30, &value, 1, MPI_INT, from, 30, MPI_COMM_WORLD, &status);
    require(value == round, "peer %d: got %d, not %d, after a cancelled receive", from, value,
            round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  for (int distance = 1; distance < ranks; distance = 2 * distance + 1) {
    const int to = (me + distance) % ranks, from = (me - distance + ranks) % ranks;
    synchronous(to, from);
    buffered(to, from);
    ready(to, from);
    probes(to, from);
    cancelled(to, from);
  }
  return check_end();
}
