// Calls of partitioned communication that random programs do not make: MPI_Startall of many, MPI_PROC_NULL,
// requests without partitions or bytes, requests that are freed early, and wrong arguments. With --large: counts
// beyond 2^31.
#include "check.h"

enum { kMany = 64 };

static int peer;  // the other one of two; the last of an odd number has itself

static void many_at_once(void) {
  static int out[kMany][4], in[kMany][4];
  MPI_Request requests[2 * kMany];
  for (int i = 0; i < kMany; ++i) {
    MPI_Precv_init(in[i], 2, 2, MPI_INT, peer, i % 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    MPI_Psend_init(out[i], 4, 1, MPI_INT, peer, i % 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[kMany + i]);
  }
  for (int round = 0; round < 20; ++round) {
    doing("Startall of %d, round %d", 2 * kMany, round);
    for (int i = 0; i < kMany; ++i)
      fill(out[i], sizeof out[i], key_of(me, peer, (uint64_t)(round * kMany + i)));
    MPI_Startall(2 * kMany, requests);
    for (int i = 0; i < kMany; ++i)
      for (int part = 0; part < 4; ++part) MPI_Pready(part, requests[kMany + (i + round) % kMany]);
    MPI_Waitall(2 * kMany, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kMany; ++i)
      verify(in[i], sizeof in[i], key_of(peer, me, (uint64_t)(round * kMany + i)), peer);
  }
  for (int i = 0; i < 2 * kMany; ++i) MPI_Request_free(&requests[i]);
}

static void with_nobody(void) {
  int memory[4] = {1, 2, 3, 4};
  MPI_Request requests[2];
  MPI_Status statuses[2];
  doing("MPI_PROC_NULL");
  MPI_Psend_init(memory, 2, 2, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Precv_init(memory, 2, 2, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[1]);
  for (int round = 0; round < 3; ++round) {
    int flag = 0, count = -1;
    MPI_Startall(2, requests);
    MPI_Parrived(requests[1], 1, &flag);
    require(flag == 1, "nothing is awaited from MPI_PROC_NULL");
    MPI_Pready_range(0, 1, requests[0]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    require(
        count == 0 && statuses[1].MPI_SOURCE == MPI_PROC_NULL && statuses[1].MPI_TAG == MPI_ANY_TAG,
        "MPI_PROC_NULL: %d of %d", count, statuses[1].MPI_SOURCE);
  }
  require(memory[3] == 4, "MPI_PROC_NULL has written something");
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
}

static void with_nothing(void) {
  MPI_Request requests[2];
  for (int partitions = 0; partitions <= 3; ++partitions) {
    doing("%d partitions without bytes", partitions);
    MPI_Precv_init(NULL, 3 - partitions, 0, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Psend_init(NULL, partitions, 0, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int round = 0; round < 20; ++round) {
      MPI_Startall(2, requests);
      for (int part = 0; part < partitions; ++part) MPI_Pready(part, requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  }
}

// A send is freed when its partitions are ready, a receive before they have come; both still complete.
static void freed_early(void) {
  enum { kBytes = 300000 };
  static unsigned char out[kBytes], in[kBytes];
  for (int round = 0; round < 4; ++round) {
    MPI_Request send, receive;
    doing("freed early, round %d", round);
    fill(out, kBytes, key_of(me, peer, 900 + (uint64_t)round));
    memset(in, 0, kBytes);
    MPI_Psend_init(out, 3, kBytes / 3, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Start(&send);
    if (round % 2 == 0) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Precv_init(in, 1, kBytes, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Start(&receive);
    MPI_Pready_range(0, 2, send);
    MPI_Request_free(&send);
    if (round < 2) {
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
      MPI_Request_free(&receive);
    } else {
      MPI_Request_free(&receive);
      const uint64_t key = key_of(peer, me, 900 + (uint64_t)round);
      while (first_wrong(in, kBytes, key) < kBytes) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); /* progress */
      }
    }
    verify(in, kBytes, key_of(peer, me, 900 + (uint64_t)round), peer);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void expect(int status, int wanted, const char* what) {
  int class = MPI_SUCCESS;
  MPI_Error_class(status, &class);
  require(class == wanted, "%s: error class %d, not %d", what, class, wanted);
}

static void wrong_arguments(void) {
  int memory[4] = {0};
  MPI_Request send = MPI_REQUEST_NULL, receive, other;
  doing("wrong arguments");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect(MPI_Psend_init(memory, -1, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &other),
         MPI_ERR_ARG, "partitions");
  expect(MPI_Psend_init(memory, 1, -1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &other),
         MPI_ERR_COUNT, "count");
  expect(MPI_Psend_init(memory, 1, 1, MPI_INT, ranks, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &other),
         MPI_ERR_RANK, "rank");
  expect(MPI_Precv_init(memory, 1, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &other),
         MPI_ERR_RANK, "source");
  expect(MPI_Precv_init(memory, 1, 1, MPI_INT, peer, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &other),
         MPI_ERR_TAG, "tag");
  expect(MPI_Psend_init(memory, 1, 1, MPI_DATATYPE_NULL, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &other),
         MPI_ERR_TYPE, "type");
  MPI_Psend_init(memory, 2, 2, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(memory, 2, 2, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  expect(MPI_Pready(0, send), MPI_ERR_REQUEST, "ready before it is started");
  MPI_Start(&receive);
  MPI_Start(&send);
  expect(MPI_Pready(2, send), MPI_ERR_ARG, "a partition that is not there");
  expect(MPI_Pready(0, receive), MPI_ERR_REQUEST, "a receive is ready");
  int flag = 0;
  expect(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST, "a send has arrived");
  expect(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG, "a partition that is not there");
  expect(MPI_Pready(1, send), MPI_SUCCESS, "ready");
  expect(MPI_Pready(1, send), MPI_ERR_ARG, "ready twice");
  expect(MPI_Pready(0, send), MPI_SUCCESS, "ready");
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  expect(MPI_Parrived(receive, 0, &flag), MPI_SUCCESS, "arrived, of an inactive one");
  require(flag == 1, "an inactive receive has not arrived");
  MPI_Request_free(&send);
  MPI_Request_free(&receive);

  // A receive that is too short.
  MPI_Psend_init(memory, 2, 2, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  int small[2] = {0};
  MPI_Precv_init(small, 1, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&receive);
  MPI_Start(&send);
  MPI_Pready_range(0, 1, send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  expect(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "a short receive");
  require(small[1] == 0, "beyond its end");
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// More elements than an int counts, and more bytes.
static void large(void) {
  const MPI_Count count = ((MPI_Count)1 << 31) + 5;
  unsigned char* memory = allocate((size_t)count * 2);
  MPI_Request request;
  MPI_Status status;
  doing("%lld bytes", (long long)count * 2);
  if (me > 1) return;
  if (me == 0) fill(memory, (size_t)count * 2, 11);
  if (me == 0)
    MPI_Psend_init(memory, 2, count, MPI_BYTE, 1, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(memory, 1, count * 2, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  if (me == 0) MPI_Pready(1, request);
  if (me == 0) MPI_Pready(0, request);
  MPI_Wait(&request, &status);
  if (me == 1) {
    MPI_Count bytes = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    require(bytes == count * 2, "%lld bytes have come", (long long)bytes);
    verify(memory, (size_t)count * 2, 11, 0);
  }
  MPI_Request_free(&request);
  free(memory);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  peer = (me ^ 1) < ranks ? me ^ 1 : me;
  if (has_option(argc, argv, "--large")) {
    large();
    return check_end();
  }
  many_at_once();
  with_nobody();
  with_nothing();
  freed_early();
  wrong_arguments();
  return check_end();
}
