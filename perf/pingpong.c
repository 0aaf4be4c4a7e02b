/* pingpong: latency and bandwidth between two ranks, with checked contents. It is a plain MPI
 * program and knows nothing of LFC.
 *
 *   mpirun -n 2 pingpong [SECONDS-PER-MEASUREMENT]        (default 0.3)
 *
 * Prints  latency bytes=B half_rtt_us=T      best of several batches, for 8 B and 1 MiB
 *         bandwidth bytes=1048576 MBps=R     messages streamed one way, 16 in flight
 *         payload rank=R bytes=N             all bytes that each rank has sent, for comparison with
 *                                            a transport's counters
 *         ok                                 all messages had the right length and contents
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSmall = 8, kLarge = 1 << 20, kInFlight = 16, kBatches = 7 };

static int rank;
static uint64_t sent_bytes;
static uint64_t sequence; /* of messages in either direction: both ranks count alike */

/* Each 8-byte word of a message depends on the message and on its place. */
static uint64_t word(uint64_t message, size_t place) {
  return (message + 1) * 0x9E3779B97F4A7C15ull + place * 0xC2B2AE3D27D4EB4Full;
}

static void fill(char* buffer, size_t bytes, uint64_t message) {
  for (size_t i = 0; i < bytes / 8; ++i) {
    const uint64_t value = word(message, i);
    memcpy(buffer + 8 * i, &value, 8);
  }
}

static void check_word(const char* buffer, uint64_t message, size_t place) {
  uint64_t value;
  memcpy(&value, buffer + 8 * place, 8);
  if (value != word(message, place)) {
    fprintf(stderr, "pingpong: rank %d: message %llu is wrong at byte %zu\n", rank,
            (unsigned long long)message, 8 * place);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void check(const char* buffer, size_t bytes, uint64_t message) {
  for (size_t i = 0; i < bytes / 8; ++i) check_word(buffer, message, i);
}

static void send(const char* buffer, size_t bytes) {
  MPI_Send(buffer, (int)bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD);
  sent_bytes += bytes;
}

static void receive(char* buffer, size_t bytes) {
  MPI_Status status;
  int count = -1;
  MPI_Recv(buffer, (int)bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (count != (int)bytes) {
    fprintf(stderr, "pingpong: rank %d: %d bytes came instead of %zu\n", rank, count, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* Makes one round trip. A timed one stamps and checks only the first and the last word, so that the
 * time is the transport's. A `thorough` one stamps and checks every word. */
static void round_trip(char* out, char* in, size_t bytes, int thorough) {
  const uint64_t ping = sequence++, pong = sequence++;
  const size_t last = bytes / 8 - 1;
  const uint64_t mine = rank == 0 ? ping : pong, other = rank == 0 ? pong : ping;
  if (thorough) {
    fill(out, bytes, mine);
  } else {
    const uint64_t first_word = word(mine, 0), last_word = word(mine, last);
    memcpy(out, &first_word, 8);
    memcpy(out + 8 * last, &last_word, 8);
  }
  if (rank == 0) send(out, bytes);
  receive(in, bytes);
  if (thorough) {
    check(in, bytes, other);
  } else {
    check_word(in, other, 0);
    check_word(in, other, last);
  }
  if (rank == 1) send(out, bytes);
}

/* Both ranks must run the same number of iterations: rank 0 decides. */
static int agreed_iterations(double seconds_each, double seconds_wanted) {
  int iterations = (int)(seconds_wanted / seconds_each);
  if (iterations < 3) iterations = 3;
  if (iterations > 1000000) iterations = 1000000;
  MPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return iterations;
}

static void latency(char* out, char* in, size_t bytes, double seconds) {
  for (int i = 0; i < 4; ++i) round_trip(out, in, bytes, 1);
  const int trial = bytes > 4096 ? 3 : 500;
  double start = MPI_Wtime();
  for (int i = 0; i < trial; ++i) round_trip(out, in, bytes, 0);
  const int batch = agreed_iterations((MPI_Wtime() - start) / trial, seconds / kBatches);
  double best = 1e30;
  for (int b = 0; b < kBatches; ++b) {
    start = MPI_Wtime();
    for (int i = 0; i < batch; ++i) round_trip(out, in, bytes, 0);
    const double each = (MPI_Wtime() - start) / batch / 2;
    if (each < best) best = each;
  }
  for (int i = 0; i < 4; ++i) round_trip(out, in, bytes, 1);
  if (rank == 0) printf("latency bytes=%zu half_rtt_us=%.3f\n", bytes, best * 1e6);
}

/* Rank 0 streams `rounds` windows of kInFlight messages; rank 1 replies after the last one. */
static double stream(char** buffers, int rounds) {
  MPI_Request requests[kInFlight];
  char answer[8] = {0};
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < kInFlight; ++i) {
      if (rank == 0) {
        MPI_Isend(buffers[i], kLarge, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[i]);
        sent_bytes += kLarge;
      } else {
        MPI_Irecv(buffers[i], kLarge, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[i]);
      }
    }
    MPI_Waitall(kInFlight, requests, MPI_STATUSES_IGNORE);
  }
  if (rank == 0) {
    receive(answer, sizeof answer);
  } else {
    send(answer, sizeof answer);
  }
  return MPI_Wtime() - start;
}

static void bandwidth(char** buffers, double seconds) {
  for (int i = 0; i < kInFlight; ++i) {
    if (rank == 0) fill(buffers[i], kLarge, (uint64_t)i);
    if (rank == 1) memset(buffers[i], 0, kLarge);
  }
  double each = stream(buffers, 2) / 2;
  const int rounds = agreed_iterations(each, seconds / 3);
  double best = 1e30;
  for (int b = 0; b < 3; ++b) {
    each = stream(buffers, rounds) / rounds;
    if (each < best) best = each;
  }
  if (rank == 1) {
    for (int i = 0; i < kInFlight; ++i) check(buffers[i], kLarge, (uint64_t)i);
  }
  if (rank == 0) printf("bandwidth bytes=%d MBps=%.1f\n", kLarge, kLarge / 1e6 * kInFlight / best);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double seconds = argc > 1 ? atof(argv[1]) : 0.3;
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (ranks != 2 || !(seconds > 0)) {
    if (rank == 0) fprintf(stderr, "usage: mpirun -n 2 pingpong [SECONDS-PER-MEASUREMENT]\n");
    MPI_Finalize();
    return 2;
  }
  char* buffers[kInFlight];
  for (int i = 0; i < kInFlight; ++i) {
    buffers[i] = malloc(kLarge);
    if (!buffers[i]) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(buffers[i], 1, kLarge);
  }
  latency(buffers[0], buffers[1], kSmall, seconds);
  latency(buffers[0], buffers[1], kLarge, seconds);
  bandwidth(buffers, seconds);

  uint64_t payload[2];
  MPI_Gather(&sent_bytes, 1, MPI_UINT64_T, payload, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int r = 0; r < 2; ++r)
      printf("payload rank=%d bytes=%llu\n", r, (unsigned long long)payload[r]);
    puts("ok");
  }
  for (int i = 0; i < kInFlight; ++i) free(buffers[i]);
  MPI_Finalize();
  return 0;
}
